#include "runlog/result.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

hu_result_metric hu_result_metric_of(const json_t *result) {
    char key[HU_METRIC_KEY_BYTES];
    const json_t *metric = json_object_get(result, "metric");
    const char *name = json_string_value(json_object_get(metric, "name"));
    const hu_metric *known = name ? hu_metric_find(name) : NULL;
    hu_result_metric made = {.metric = known ? known : &hu_metric_accuracy};
    made.last = hu_json_real(result, hu_metric_key("test", made.metric, key));
    made.best = hu_json_real(result, hu_metric_key("best", made.metric, key));
    return made;
}

hu_result_metric hu_result_validation_of(const json_t *result) {
    char key[HU_METRIC_KEY_BYTES];
    hu_result_metric made = hu_result_metric_of(result);
    made.last = hu_json_real(result, hu_metric_key("validation", made.metric, key));
    made.best = hu_json_real(result, hu_metric_key("best_validation", made.metric, key));
    return made;
}

void hu_result_validation_put(json_t *result, const hu_result_metric *made, int64_t samples) {
    char key[HU_METRIC_KEY_BYTES];
    if (!result) return;
    json_object_set_new(result, "validation_samples", json_integer(samples));
    json_object_set_new(result, hu_metric_key("validation", made->metric, key),
                        hu_json_number(made->last));
    json_object_set_new(result, hu_metric_key("best_validation", made->metric, key),
                        hu_json_number(made->best));
}

hu_noise hu_result_noise(const json_t *result, double share) {
    const json_t *chance = json_object_get(result, "chance");
    hu_chance of = {0.0, (int64_t)json_integer_value(json_object_get(chance, "samples"))};
    double deviation = hu_chance_deviation(&of, share);
    if (of.samples <= 0) return (hu_noise){(double)NAN, 0.0};
    return (hu_noise){deviation * deviation, (double)INFINITY};
}

void hu_result_metric_put(json_t *result, const char *task, const hu_result_metric *made) {
    char key[HU_METRIC_KEY_BYTES];
    const hu_metric *metric = made->metric;
    if (!result) return;
    json_object_set_new(result, "task", json_string(task));
    json_object_set_new(result, "metric",
                        json_pack("{s:s, s:o, s:o, s:s}", "name", metric->name, "value",
                                  hu_json_number(made->last), "best", hu_json_number(made->best),
                                  "better", metric->higher_is_better ? "higher" : "lower"));
    json_object_set_new(result, hu_metric_key("test", metric, key), hu_json_number(made->last));
    json_object_set_new(result, hu_metric_key("best", metric, key), hu_json_number(made->best));
}

const char *hu_metric_key(const char *prefix, const hu_metric *metric,
                          char key[HU_METRIC_KEY_BYTES]) {
    snprintf(key, HU_METRIC_KEY_BYTES, "%s_%s", prefix, metric->name);
    return key;
}

json_t *hu_metric_json(const hu_metric *metric) {
    return json_pack("{s:s, s:s}", "name", metric->name, "better",
                     metric->higher_is_better ? "higher" : "lower");
}

const char *hu_metric_number(const hu_metric *metric, double value,
                             char text[HU_METRIC_TEXT_BYTES]) {
    if (isnan(value))
        snprintf(text, HU_METRIC_TEXT_BYTES, "-");
    else
        snprintf(text, HU_METRIC_TEXT_BYTES, "%.*f", metric->decimals, metric->factor * value);
    return text;
}

const char *hu_metric_text(const hu_metric *metric, double value, char text[HU_METRIC_TEXT_BYTES]) {
    hu_metric_number(metric, value, text);
    if (!isnan(value)) strncat(text, metric->unit, HU_METRIC_TEXT_BYTES - strlen(text) - 1);
    return text;
}

const char *hu_metric_words(const hu_metric *metric, char text[HU_METRIC_TEXT_BYTES]) {
    int i = 0;
    for (; metric->name[i] && i < HU_METRIC_TEXT_BYTES - 1; i++)
        text[i] = metric->name[i] == '_' ? ' ' : metric->name[i];
    text[i] = '\0';
    return text;
}

const char *hu_metric_heading(const hu_metric *metric, char text[HU_METRIC_TEXT_BYTES]) {
    if (metric->heading) {
        snprintf(text, HU_METRIC_TEXT_BYTES, "%s", metric->heading);
        return text;
    }
    hu_metric_words(metric, text);
    text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

const char *hu_metric_axis(const hu_metric *metric, char text[HU_METRIC_TEXT_BYTES]) {
    hu_metric_words(metric, text);
    if (metric->unit[0]) strncat(text, ",", HU_METRIC_TEXT_BYTES - strlen(text) - 1);
    strncat(text, metric->unit, HU_METRIC_TEXT_BYTES - strlen(text) - 1);
    return text;
}
