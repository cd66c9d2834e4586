#include "train/resolved.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "precision/resolved.h"
#include "train/adapt.h"

static hu_status put(hu_keys *map, const char *name, const char *text) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, "plan", &node);
    return st == HU_OK ? hu_keys_put(map, name, node) : st;
}

/* All digits of a float32. YAML 1.1 takes a number with an exponent for one only if it has a point
 * too. */
static hu_status put_number(hu_keys *map, const char *name, double value) {
    char digits[32], text[40];
    snprintf(digits, sizeof digits, "%.9g", value);
    char *exponent = strchr(digits, 'e');
    bool needs_point = exponent && !strchr(digits, '.');
    size_t length = exponent ? (size_t)(exponent - digits) : strlen(digits);
    snprintf(text, sizeof text, "%.*s%s%s", (int)length, digits, needs_point ? ".0" : "",
             digits + length);
    return put(map, name, text);
}

static hu_status put_count(hu_keys *map, const char *name, int32_t count) {
    char text[40];
    snprintf(text, sizeof text, "%d", (int)count);
    return put(map, name, text);
}

/* The keys scaler.*: those that the kind reads; 0 stands for no bound. */
static hu_status scaler_map(const hu_loss_scale_options *scaler, hu_keys **map) {
    hu_status st = HU_OK;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "plan", map));
    HU_TRY(put(*map, "name", hu_loss_scale_kinds[scaler->kind].name));
    if (scaler->kind == HU_LOSS_SCALE_NONE) return HU_OK;
    HU_TRY(put_number(*map, "init", (double)scaler->init));
    HU_TRY(put_count(*map, "stop_after", scaler->max_consecutive_skips));
    if (scaler->kind != HU_LOSS_SCALE_DYNAMIC) return HU_OK;
    HU_TRY(put_number(*map, "growth", (double)scaler->growth));
    HU_TRY(put_number(*map, "backoff", (double)scaler->backoff));
    HU_TRY(put_count(*map, "interval", scaler->interval));
    HU_TRY(put_number(*map, "min", (double)scaler->min));
    if (scaler->max > 0.0f) HU_TRY(put_number(*map, "max", (double)scaler->max));
done:
    return st;
}

hu_status hu_trainer_resolved_plan(hu_trainer *trainer, char **yaml) {
    hu_status st = HU_OK;
    const hu_train_options *options = &trainer->options;
    hu_keys *scaler = NULL, *tree = NULL;
    *yaml = NULL;
    HU_TRY(hu_adapt_between(trainer));
    HU_TRY(scaler_map(&options->scaler, &scaler));
    hu_plan_facts facts = {.model = options->model,
                           .width = options->width,
                           .precision = hu_adapt_precision(trainer),
                           .keep_masters = options->keep_masters,
                           .eval_masters = options->eval_masters,
                           .scaler = scaler,
                           .step = trainer->progress.step};
    HU_TRY(hu_resolved_tree(&facts, trainer->graph, &trainer->edges, &tree));
    HU_TRY(hu_keys_print(tree, yaml));
done:
    hu_keys_free(tree);
    hu_keys_free(scaler);
    return st;
}
