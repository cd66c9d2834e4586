/* A comparison read from the configuration, and its rows trained. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "journal/folder.h"
#include "precision/edge_writer.h"
#include "precision/precision_epochs.h"
#include "session/precision_options.h"
#include "sweep/compare.h"
#include "sweep/jobs_setup.h"

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

hu_status hu_compare_read(const hu_config *config, hu_compare *compare) {
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

/* compare.json, written behind every row: a comparison that is stopped leaves what it has. */
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
hu_status hu_compare_run(const hu_config *config, const volatile sig_atomic_t *interrupted,
                         hu_compare *compare) {
    hu_status st = HU_OK;
    hu_jobs jobs;
    hu_pace pace = {0};
    int lock = -1, done = 0;
    HU_TRY(hu_jobs_options(config, compare->directory, compare->common, &jobs));
    jobs.interrupted = interrupted;
    jobs.pace = &pace;
    jobs.after = keep;
    jobs.context = compare;
    HU_TRY(hu_directory_create(compare->directory));
    /* Two commands in one folder would train the same rows twice. */
    HU_TRY(hu_folder_lock(compare->directory, "comparing", &lock));
    HU_TRY(hu_jobs_read_states(&jobs, compare->job, compare->count));
    for (int i = 0; i < compare->count; i++) done += compare->job[i].state == HU_JOB_DONE;
    if (!jobs.is_quiet)
        fprintf(stderr, "%s: %d rows, %d of them finished before\n", compare->directory,
                compare->count, done);
    pace = (hu_pace){.is_quiet = jobs.is_quiet, .parallel = jobs.parallel};
    HU_TRY(hu_pace_open(compare->directory, "compare", compare->count, done, &pace));
    HU_TRY(hu_jobs_run(&jobs, compare->job, compare->count));
    HU_TRY(keep(compare));
done:
    st = hu_pace_end(&pace, st);
    hu_pace_close(&pace);
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
