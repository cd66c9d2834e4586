#include "sweep/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/model.h"
#include "precision/precision.h"
#include "render/json.h"
#include "runlog/folder.h"
#include "settings/options.h"
#include "sweep/jobs.h"

/* Length of NAME in "NAME=..."; 0 if the word is of another form. */
static size_t name_length(const char *word, size_t length) {
    size_t n = 0;
    while (n < length && (isalpha((unsigned char)word[n]) || word[n] == '_')) n++;
    return n > 0 && n < length && word[n] == '=' ? n : 0;
}

static bool is_role(const char *word, size_t length) {
    static const char *const roles[] = {"w", "act", "grad", "wgrad"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strlen(roles[i]) == length && memcmp(roles[i], word, length) == 0) return true;
    return false;
}

/* Whether the item so far names the role already: "w=e4m3,act=e5m2" has w and act. */
static bool has_role(const char *item, const char *word, size_t length) {
    for (const char *at = item; *at;) {
        if (strncmp(at, word, length) == 0 && at[length] == '=') return true;
        size_t span = hu_list_word_length(at);
        at += span + (at[span] == ',');
        at += strspn(at, " ");
    }
    return false;
}

/* The last precision of a list by epoch; an item of another form is one precision. */
static const char *last_phase(const char *item) {
    const char *phase = hu_precision_is_list(item) ? item : NULL;
    for (const char *at = item; phase && (at = strchr(at, ',')) != NULL; at++)
        if (hu_precision_is_list(at + 1)) phase = at + 1;
    if (!phase) return item;
    phase = strchr(phase, ':') + 1;
    return phase + strspn(phase, " ");
}

/* Whether a word goes on with the item before it. A list by epoch ends where another begins. */
static bool continues(const char *item, const char *word, size_t length) {
    if (hu_precision_is_list(word))
        return hu_precision_is_list(item) && strtoll(word, NULL, 10) > 0;
    item = last_phase(item);
    size_t name = name_length(word, length), first = name_length(item, strlen(item));
    if (!*item || name == 0) return false;
    if (!is_role(word, name)) return true;
    return first > 0 && is_role(item, first) && !has_role(item, word, name);
}

/* Adds a text to the list. */
static hu_status append(hu_keys *list, const char *origin, const char *item) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, item, origin, &node);
    return st == HU_OK ? hu_keys_append(list, node) : st;
}

/* Characters up to the next separator. */
static size_t part_length(const char *text, bool by_semicolon) {
    return by_semicolon ? strcspn(text, ";") : hu_list_word_length(text);
}

hu_status hu_compare_split(const char *text, const char *origin, hu_keys **list) {
    hu_status st;
    char item[512] = "";
    bool by_semicolon = strchr(text, ';') != NULL;
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, origin, list));
    while (*text) {
        size_t length = part_length(text += strspn(text, " "), by_semicolon), used = strlen(item);
        const char *end = text + length;
        while (length > 0 && text[length - 1] == ' ') length--;
        if (used + length + 2 > sizeof item)
            HU_TRY(hu_fail(HU_ERR_LIMIT, "%s: a precision has more than %zu characters", origin,
                           sizeof item));
        /* Parts of one precision are joined by commas again. */
        bool is_more = !by_semicolon && continues(item, text, length);
        if (*item && !is_more) HU_TRY(append(*list, origin, item));
        if (!is_more) used = 0;
        snprintf(item + used, sizeof item - used, "%s%.*s", used ? "," : "", (int)length, text);
        text = end + (*end != '\0');
    }
    if (*item) HU_TRY(append(*list, origin, item));
    return HU_OK;
done:
    hu_keys_free(*list);
    *list = NULL;
    return st;
}

/* A key that all rows share, or what it is if nobody gave it. */
static const char *common_text(const hu_keys *common, const char *key, const char *preset) {
    const hu_keys *node = hu_keys_find(common, key);
    return node ? hu_keys_value(node) : preset;
}

const char *hu_compare_weights(const hu_compare *compare) {
    return common_text(compare->common, "eval.weights", "auto");
}

const hu_metric *hu_compare_metric(const hu_compare *compare) {
    const hu_model *model;
    const hu_task *task;
    for (int i = 0; i < compare->count; i++)
        if (compare->job[i].result) return hu_result_metric_of(compare->job[i].result).metric;
    const char *name = common_text(compare->common, "task.name", "auto");
    bool is_auto = strcmp(name, "auto") == 0;
    if (is_auto &&
        hu_model_find(common_text(compare->common, "model.name", "cnn-s"), &model) == HU_OK)
        name = model->task;
    bool is_known = hu_task_find(name, &task) == HU_OK;
    return is_known ? task->metric[0] : hu_result_metric_of(NULL).metric;
}

/* One training: the numbers of its result that a comparison needs, null where there are none. */
static json_t *row_json(const hu_metric *metric, const char *precision, const char *seed,
                        const hu_job *job) {
    char room[2][HU_METRIC_KEY_BYTES];
    const char *test = hu_metric_key("test", metric, room[0]);
    const char *const keys[] = {test,
                                hu_metric_key("best", metric, room[1]),
                                "train_loss",
                                "low_precision_ratio",
                                "steps",
                                "skipped_steps",
                                "promoted",
                                "model_aggregate_bits",
                                "ledger_bytes",
                                "bits",
                                "parameters",
                                "images_per_second",
                                "peak_rss_bytes",
                                "weights_hash",
                                "model_aggregate_bits_start",
                                "model_aggregate_bits_mean",
                                "chance",
                                "gaps",
                                "diverged",
                                "collapsed"};
    const char *const always[] = {test, "low_precision_ratio", "memory_bytes", "peak_rss_bytes"};
    static const char *const states[] = {"not begun", "stopped", "running", "done", "failed"};
    json_int_t number = strtoll(seed, NULL, 10);
    json_t *row = json_pack("{s:s, s:I, s:s, s:s, s:o}", "precision", precision, "seed", number,
                            "run", job->directory, "state", states[job->state], "seconds",
                            hu_json_number(job->seconds));
    for (size_t i = 0; row && job->result && i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(job->result, keys[i]);
        if (value) json_object_set(row, keys[i], value);
    }
    json_t *total = json_object_get(json_object_get(job->result, "ledger_bytes"), "total");
    if (row && total) json_object_set(row, "memory_bytes", total);
    for (size_t i = 0; row && i < sizeof always / sizeof *always; i++)
        if (!json_object_get(row, always[i])) json_object_set_new(row, always[i], json_null());
    if (row && job->state == HU_JOB_FAILED)
        json_object_set_new(row, "failed", json_string(job->failure));
    return row;
}

/* Nothing of precisions without a schedule of bits. */
static void put_costs(const hu_compare_mean *mean, json_t *object) {
    if (!object || isnan(mean->relative_training)) return;
    json_object_set_new(object, "training_bitops", hu_json_number(mean->training_bitops));
    json_object_set_new(object, "relative_training_cost", hu_json_number(mean->relative_training));
    json_object_set_new(object, "inference_bitops", hu_json_number(mean->inference_bitops));
    json_object_set_new(object, "relative_inference_cost",
                        hu_json_number(mean->relative_inference));
}

/* The metric over the seeds: of the last evaluation, and of the best one. */
static void put_metric(const hu_metric *metric, const hu_compare_mean *mean, json_t *object) {
    char test[HU_METRIC_KEY_BYTES], best[HU_METRIC_KEY_BYTES];
    char key[HU_METRIC_KEY_BYTES + 16];
    hu_metric_key("test", metric, test);
    hu_metric_key("best", metric, best);
    const struct {
        const char *name, *suffix;
        double value;
    } parts[] = {{test, "", mean->value},
                 {test, "_least", mean->least},
                 {test, "_most", mean->most},
                 {test, "_deviation", mean->deviation},
                 {test, "_behind", mean->behind},
                 {best, "", mean->best},
                 {best, "_deviation", mean->best_deviation}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(key, sizeof key, "%s%s", parts[i].name, parts[i].suffix);
        json_object_set_new(object, key, hu_json_number(parts[i].value));
    }
}

static json_t *mean_json(const hu_metric *metric, const hu_compare_mean *mean) {
    json_t *object = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, "
        "s:b, s:b}",
        "precision", mean->precision, "rows", mean->rows, "done", mean->done, "diverged",
        mean->diverged, "collapsed", mean->collapsed, "failed", mean->failed, "low_precision_ratio",
        hu_json_number(mean->low_ratio), "model_aggregate_bits_start",
        hu_json_number(mean->aggregate_start), "model_aggregate_bits",
        hu_json_number(mean->aggregate_bits), "model_aggregate_bits_mean",
        hu_json_number(mean->aggregate_mean), "memory_bytes", hu_json_number(mean->memory_bytes),
        "peak_rss_bytes", hu_json_number(mean->peak_rss_bytes), "seconds",
        hu_json_number(mean->seconds), "promoted", hu_json_number(mean->promoted), "skipped_steps",
        hu_json_number(mean->skipped), "within_noise", mean->is_noise, "far_below", mean->is_far,
        "pareto", mean->is_front, "pareto_best", mean->is_best_front);
    if (object) put_metric(metric, mean, object);
    put_costs(mean, object);
    return object;
}

hu_status hu_compare_json(const hu_compare *compare, json_t **object) {
    hu_compare_mean *means;
    size_t seeds = hu_keys_count(compare->seeds);
    const hu_metric *metric = hu_compare_metric(compare);
    json_t *rows = json_array(), *list = json_array(), *front = json_array();
    hu_status st = hu_compare_means(compare, &means);
    for (size_t i = 0; st == HU_OK && i < hu_keys_count(compare->precisions); i++) {
        json_array_append_new(list, mean_json(metric, &means[i]));
        for (size_t k = 0; k < seeds; k++) {
            const char *seed = hu_keys_value(hu_keys_at(compare->seeds, k));
            json_array_append_new(
                rows, row_json(metric, means[i].precision, seed, &compare->job[i * seeds + k]));
            if (means[i].is_front)
                json_array_append_new(front, json_integer((json_int_t)(i * seeds + k)));
        }
    }
    hu_free(means);
    *object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "kind", "compare",
                        "halfulp", HALFULP_VERSION, "model",
                        common_text(compare->common, "model.name", "cnn-s"), "data",
                        common_text(compare->common, "data.name", "fashion-mnist"), "run",
                        compare->directory, "eval_weights", hu_compare_weights(compare), "metric",
                        hu_metric_json(metric), "rows", rows, "precisions", list, "pareto", front);
    if (st == HU_OK && !*object) st = hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
    return st;
}

/* ---- A comparison read from the configuration, and its rows trained ---- */

enum { MAX_ROWS = 100000 };

/* The list of precisions, from either of the two keys. */
static hu_status read_precisions(const hu_config *config, hu_keys **list) {
    const hu_keys *given;
    const char *text;
    hu_status st = HU_OK;
    /* One key for all rows would leave nothing to compare. */
    if (hu_config_given(config, "precision.epochs"))
        return hu_fail(
            HU_ERR_ARGUMENT,
            "compare: found precision.epochs, expected such a list among the precisions: "
            "precision='fp32;0: fp32, 30: hfp8'");
    HU_TRY(hu_config_list(config, "compare.precisions", &given));
    HU_TRY(hu_config_text(config, "precision.name", &text));
    bool is_list = hu_keys_count(given) > 0;
    bool is_text = hu_config_given(config, "precision.name");
    if (is_list == is_text)
        return hu_fail(HU_ERR_ARGUMENT,
                       "compare: found %s, expected precision=A,B,... or compare.precisions",
                       is_list ? "both precision and compare.precisions" : "no precision");
    if (is_list)
        st = hu_keys_copy(given, list);
    else
        st = hu_compare_split(text, "precision", list);
    if (st == HU_OK && hu_keys_count(*list) == 0)
        st = hu_fail(HU_ERR_ARGUMENT, "compare: found an empty list of precisions");
done:
    return st;
}

/* Whether a file is a plan; its contents are read by the training itself. */
static hu_status check_plan(const char *path) {
    hu_keys *plan;
    hu_status st = hu_plan_read(path, &plan);
    hu_keys_free(plan);
    return st;
}

/* A phase of a list by epoch; its keys are read by the training itself. */
static hu_status read_phase(void *context, const char *text, hu_precision *precision) {
    (void)context;
    if (hu_is_plan_path(text))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found the plan file '%s', expected a precision by its name", text);
    return hu_precision_parse(text, precision);
}

static hu_status check_precision(const char *name, hu_precision *parsed) {
    if (hu_precision_is_list(name)) return hu_precision_parse_list(name, read_phase, NULL, parsed);
    return hu_is_plan_path(name) ? check_plan(name) : hu_precision_parse(name, parsed);
}

/* Every precision is known, and none stands there twice. */
static hu_status check_precisions(const hu_keys *list) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < hu_keys_count(list) && st == HU_OK; i++) {
        hu_precision parsed = {0};
        const char *name = hu_keys_value(hu_keys_at(list, i));
        for (size_t k = 0; k < i; k++)
            if (strcmp(hu_keys_value(hu_keys_at(list, k)), name) == 0)
                return hu_fail(HU_ERR_ARGUMENT, "compare: found the precision '%.100s' twice",
                               name);
        st = check_precision(name, &parsed);
        hu_precision_free(&parsed);
    }
    return st;
}

/* The schedule of bits of a precision, NULL: it has none, or its text does not tell. */
static const hu_bits_schedule *schedule_of(const char *name) {
    hu_precision parsed = {0};
    const hu_bits_schedule *schedule = NULL;
    bool is_name = !hu_precision_is_list(name) && !hu_is_plan_path(name);
    if (is_name && hu_precision_parse(name, &parsed) == HU_OK) schedule = parsed.bits.schedule;
    hu_precision_free(&parsed);
    return schedule;
}

static bool any_reads(const hu_compare *compare, const char *key) {
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (hu_options_bits_read(schedule_of(hu_keys_value(hu_keys_at(compare->precisions, i))),
                                 key))
            return true;
    return false;
}

/* bits.target of static:8 beside ldp:3-8: a key that other rows read and this one does not has its
 * usual value here. One that no row reads is refused by the rows. */
static hu_status leave_out(const hu_compare *compare, const char *precision, hu_job *job) {
    hu_status st = HU_OK;
    const hu_bits_schedule *schedule = schedule_of(precision);
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        bool is_given =
            hu_options_is_of_bits(key->name) && hu_keys_find(compare->common, key->name);
        if (!is_given || hu_options_bits_read(schedule, key->name)) continue;
        if (any_reads(compare, key->name)) HU_TRY(hu_job_word(job, key->name, key->preset));
    }
done:
    return st;
}

/* A row: its folder is named by precision and seed, with other characters as '_'. */
static hu_status make_job(const hu_compare *compare, const char *precision, const char *seed,
                          hu_job *job) {
    char name[200];
    hu_status st;
    snprintf(job->label, sizeof job->label, "%.200s seed %.30s", precision, seed);
    snprintf(name, sizeof name, "%.150s-s%s", precision, seed);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.=+", *c)) *c = '_';
    snprintf(job->directory, sizeof job->directory, "%s/%s", compare->directory, name);
    HU_TRY(hu_job_word(job, "precision.name", precision));
    HU_TRY(hu_job_word(job, "run.seed", seed));
    HU_TRY(leave_out(compare, precision, job));
done:
    return st;
}

/* Rows are precision by precision, seed by seed. Two names that become one folder are refused. */
static hu_status make_jobs(hu_compare *compare) {
    hu_status st = HU_OK;
    void *block;
    size_t seeds = hu_keys_count(compare->seeds), rows = hu_keys_count(compare->precisions) * seeds;
    if (rows > MAX_ROWS)
        return hu_fail(HU_ERR_LIMIT, "compare: found %zu rows, expected at most %d", rows,
                       MAX_ROWS);
    HU_TRY(hu_alloc_array(rows, sizeof *compare->job, &block));
    compare->job = block;
    compare->count = (int)rows;
    for (size_t i = 0; i < rows; i++) {
        hu_job *job = &compare->job[i];
        HU_TRY(make_job(compare, hu_keys_value(hu_keys_at(compare->precisions, i / seeds)),
                        hu_keys_value(hu_keys_at(compare->seeds, i % seeds)), job));
        for (size_t k = 0; k < i; k++)
            if (strcmp(compare->job[k].directory, job->directory) == 0)
                HU_TRY(hu_fail(HU_ERR_ARGUMENT, "compare: '%s' and '%s' need the same folder %s",
                               compare->job[k].label, job->label, job->directory));
    }
done:
    return st;
}

/* One way for all rows, whatever their schemes prefer: each model is judged with the weights that
 * its formats can hold, unless the command asks for the masters. */
static hu_status choose_weights(const hu_config *config, hu_keys *common) {
    if (!hu_config_is_auto(config, "eval.weights")) return HU_OK;
    return hu_keys_set_text(common, "eval.weights", "rounded", "compare");
}

hu_status hu_compare_read(hu_config *config, hu_compare *compare) {
    hu_status st = HU_OK;
    HU_TRY(read_precisions(config, &compare->precisions));
    HU_TRY(check_precisions(compare->precisions));
    HU_TRY(hu_jobs_seeds(config, "compare", &compare->seeds));
    HU_TRY(hu_jobs_common(config, "compare", &compare->common));
    HU_TRY(choose_weights(config, compare->common));
    HU_TRY(hu_jobs_directory(config, compare->common, "compare", compare->directory,
                             sizeof compare->directory));
    HU_TRY(make_jobs(compare));
done:
    return st;
}

/* compare.json, written after every row: a comparison that is stopped leaves what it has. */
static hu_status keep(void *context) {
    const hu_compare *compare = context;
    json_t *object = NULL;
    char *text = NULL, *path = NULL;
    hu_status st;
    HU_TRY(hu_compare_json(compare, &object));
    HU_TRY(hu_json_pretty(object, &text));
    HU_TRY(hu_path_join(compare->directory, "compare.json", &path));
    HU_TRY(hu_file_replace(path, text, strlen(text)));
done:
    hu_free(text);
    hu_free(path);
    return st;
}

/* Finds out what is done, trains the rest. */
hu_status hu_compare_run(hu_config *config, const volatile sig_atomic_t *interrupted,
                         hu_compare *compare) {
    hu_status st = HU_OK;
    hu_jobs jobs;
    hu_job_progress progress = {0};
    int lock = -1, done = 0;
    HU_TRY(hu_jobs_options(config, compare->directory, compare->common, &jobs));
    jobs.interrupted = interrupted;
    jobs.progress = &progress;
    jobs.after = keep;
    jobs.context = compare;
    HU_TRY(hu_directory_create(compare->directory));
    /* Two commands in one folder would train the same rows twice. */
    HU_TRY(hu_run_folder_lock(compare->directory, "comparing", &lock));
    HU_TRY(hu_jobs_read_states(&jobs, compare->job, compare->count));
    for (int i = 0; i < compare->count; i++) done += compare->job[i].state == HU_JOB_DONE;
    if (!jobs.is_quiet)
        fprintf(stderr, "%s: %d rows, %d of them finished before\n", compare->directory,
                compare->count, done);
    progress = (hu_job_progress){.is_quiet = jobs.is_quiet, .parallel = jobs.parallel};
    HU_TRY(hu_job_progress_open(compare->directory, "compare", compare->count, done, &progress));
    HU_TRY(hu_jobs_run(&jobs, compare->job, compare->count));
    HU_TRY(keep(compare));
done:
    st = hu_job_progress_end(&progress, st);
    hu_job_progress_close(&progress);
    if (lock >= 0) close(lock);
    return st;
}

void hu_compare_free(hu_compare *compare) {
    hu_jobs_free(compare->job, compare->count);
    hu_free(compare->job);
    hu_keys_free(compare->precisions);
    hu_keys_free(compare->seeds);
    hu_keys_free(compare->common);
    *compare = (hu_compare){0};
}
