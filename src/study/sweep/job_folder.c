#include "sweep/job_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"
#include "config/unused_keys.h"
#include "runlog/folder.h"
#include "runlog/progress.h"

/* ---- One training in a process of its own ---- */

hu_status hu_job_word(hu_job *job, const char *key, const char *value) {
    if (job->words == HU_JOB_WORDS || strlen(key) + strlen(value) + 2 > HU_JOB_WORD_BYTES)
        return hu_fail(HU_ERR_LIMIT, "%s: found '%.100s' of %zu bytes, expected less", key, value,
                       strlen(value));
    snprintf(job->word[job->words++], HU_JOB_WORD_BYTES, "%s=%s", key, value);
    return HU_OK;
}

/* ---- job folder ---- */

enum { TAIL_BYTES = 4096 };

/* Numbers of plan.json that a result of an older version does not have. */
static hu_status add_planned(const char *directory, json_t *result) {
    char *path = NULL;
    json_t *plan = NULL;
    hu_status st = HU_OK;
    if (!result || json_object_get(result, "model_aggregate_bits")) return HU_OK;
    HU_TRY(hu_path_join(directory, "plan.json", &path));
    HU_TRY(hu_json_load(path, &plan));
    json_t *bits = json_object_get(plan, "model_aggregate_bits");
    if (json_is_number(bits)) json_object_set(result, "model_aggregate_bits", bits);
done:
    json_decref(plan);
    hu_free(path);
    return st;
}

/* A key as a word gives it: the items of a list with commas between them. */
static const char *text_of(const hu_keys *node, char *text, size_t capacity) {
    size_t used = 0;
    if (!node) return "nothing";
    if (hu_keys_kind_of(node) != HU_KEYS_LIST) return hu_keys_value(node);
    text[0] = '\0';
    for (size_t i = 0; i < hu_keys_count(node) && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? "," : "",
                                 hu_keys_value(hu_keys_at(node, i)));
    return text;
}

static hu_status check_text(const char *directory, const hu_keys *saved, const char *key,
                            const char *expected) {
    char room[HU_JOB_WORD_BYTES];
    const char *found = text_of(hu_keys_find(saved, key), room, sizeof room);
    if (strcmp(found, expected) == 0 || strcmp(expected, "auto") == 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: key '%s': found '%.100s', expected '%.100s'; run.dir=NEW begins anew",
                   directory, key, found, expected);
}

/* A key of the command against the run's own. Lists are the same if they print the same. */
static hu_status check_node(const char *directory, const hu_keys *saved, const char *key,
                            const hu_keys *given) {
    if (hu_keys_kind_of(given) == HU_KEYS_TEXT)
        return check_text(directory, saved, key, hu_keys_value(given));
    const hu_keys *node = hu_keys_find(saved, key);
    if (node && hu_keys_equal(node, given)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: key '%s': its list is not that of this command; run.dir=NEW begins anew",
                   directory, key);
}

/* The keys of a plan file that stands in place of a precision; the common ones win. */
static hu_status check_plan(const char *directory, const hu_keys *common, const hu_keys *saved,
                            const char *path) {
    hu_keys *plan = NULL;
    char key[128];
    hu_status st = hu_plan_read(path, &plan);
    const hu_keys *map = st == HU_OK ? hu_keys_find(plan, "precision") : NULL;
    for (size_t i = 0; map && i < hu_keys_count(map) && st == HU_OK; i++) {
        const hu_keys *node = hu_keys_at(map, i);
        snprintf(key, sizeof key, "precision.%s", hu_keys_name(node));
        if (!hu_keys_find(common, key)) st = check_node(directory, saved, key, node);
    }
    hu_keys_free(plan);
    return st;
}

/* The job's own words against the run's keys; a plan file stands for the keys in it. */
static hu_status check_words(const hu_job *job, const hu_keys *common, const hu_keys *saved) {
    hu_status st = HU_OK;
    char key[128];
    for (int i = 0; i < job->words && st == HU_OK; i++) {
        const char *equals = strchr(job->word[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - job->word[i]), job->word[i]);
        bool is_plan = strcmp(key, "precision.name") == 0 && hu_is_plan_path(equals + 1);
        st = is_plan ? check_plan(job->directory, common, saved, equals + 1)
                     : check_text(job->directory, saved, key, equals + 1);
    }
    return st;
}

/* Whether a word of the job sets the key; the word wins over the common keys. */
static bool is_in_words(const hu_job *job, const char *key) {
    size_t length = strlen(key);
    for (int i = 0; i < job->words; i++)
        if (strncmp(job->word[i], key, length) == 0 && job->word[i][length] == '=') return true;
    return false;
}

/* The run in the folder must be the job's: every key that changes a training is compared, so that a
 * result is never taken for another's. */
static hu_status check_config(const hu_job *job, const hu_keys *common, const char *path) {
    hu_keys *saved = NULL;
    hu_status st = hu_yaml_read(path, &saved);
    for (size_t i = 0; i < hu_config_key_count && st == HU_OK; i++) {
        const char *key = hu_config_keys[i].name;
        const hu_keys *node = hu_keys_find(common, key);
        if (node && !hu_config_key_is_free(key) && !is_in_words(job, key))
            st = check_node(job->directory, saved, key, node);
    }
    if (st == HU_OK) st = check_words(job, common, saved);
    hu_keys_free(saved);
    return st;
}

/* Seconds of earlier processes; 0 if they are not known. */
static double read_seconds(const hu_job *job) {
    char path[1100];
    double seconds = 0.0;
    snprintf(path, sizeof path, "%s/seconds", job->directory);
    FILE *file = fopen(path, "r");
    if (!file) return 0.0;
    if (fscanf(file, "%lf", &seconds) != 1 || !(seconds >= 0.0)) seconds = 0.0;
    fclose(file);
    return seconds;
}

hu_status hu_job_folder_write_seconds(const hu_job *job) {
    char path[1100], text[64];
    snprintf(path, sizeof path, "%s/seconds", job->directory);
    snprintf(text, sizeof text, "%.17g\n", job->seconds);
    return hu_file_replace(path, text, strlen(text));
}

hu_status hu_job_folder_read(const hu_keys *common, hu_job *job) {
    hu_status st = HU_OK;
    char *path = NULL;
    bool is_present;
    json_decref(job->result);
    job->result = NULL;
    job->seconds = 0.0;
    job->state = HU_JOB_NEW;
    HU_TRY(hu_run_folder_check_owned(job->directory));
    HU_TRY(hu_path_join(job->directory, "config.resolved.yaml", &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(check_config(job, common, path));
    HU_TRY(hu_result_read(job->directory, &job->result));
    HU_TRY(add_planned(job->directory, job->result));
    job->state = job->result ? HU_JOB_DONE : HU_JOB_STOPPED;
    job->seconds = read_seconds(job);
done:
    hu_free(path);
    return st;
}

/* The last bytes of a file of the folder; "" if there are none. */
static void read_tail(const hu_job *job, const char *name, char *tail) {
    char path[1100];
    tail[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", job->directory, name);
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (fseek(file, -(long)(TAIL_BYTES - 1), SEEK_END) != 0) rewind(file);
    tail[fread(tail, 1, TAIL_BYTES - 1, file)] = '\0';
    fclose(file);
}

void hu_job_folder_message(const hu_job *job, char *message, size_t capacity) {
    static const char prefix[] = "halfulp: ";
    char tail[TAIL_BYTES];
    read_tail(job, "log.txt", tail);
    const char *last = NULL;
    for (const char *at = tail; (at = strstr(at, prefix)) != NULL; at++)
        if (at == tail || at[-1] == '\n') last = at + sizeof prefix - 1;
    if (!last) last = "the process left no message";
    snprintf(message, capacity, "%.*s", (int)strcspn(last, "\n"), last);
}

bool hu_job_folder_step(const hu_job *job, long long *step, long long *steps) {
    char tail[TAIL_BYTES], *end;
    hu_run_standing standing;
    if (hu_run_standing_read(job->directory, &standing) != HU_OK) standing.steps = -1;
    *steps = (long long)standing.steps;
    hu_run_standing_free(&standing);
    read_tail(job, "metrics.csv", tail);
    char *stop = strrchr(tail, '\n');
    if (!stop) return false;
    *stop = '\0';
    const char *line = strrchr(tail, '\n');
    *step = strtoll(line ? line + 1 : tail, &end, 10);
    return *end == ',';
}
