/* The command `score`: which trainings, which of them the cache has, and the others. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "sweep/score.h"

#include <ctype.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <halfulp/gemm.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "diagnose/answer.h"
#include "diagnose/closest.h"
#include "diagnose/sentences.h"
#include "precision/precision.h"
#include "runlog/folder.h"
#include "sweep/compare.h"
#include "task/guess.h"

enum { REFERENCE = 0, NAME_BYTES = 160, KEY_BYTES = 4096, USUAL_SEEDS = 3 };

static const char reference_name[] = "fp32";

/* ---- What the words of the command mean ---- */

/* Keys that a format may need beside its name; everything else is the suite's own. */
static bool is_of_format(const char *key) {
    static const char *const groups[] = {"precision.", "accumulator.",    "operand.",    "scaler.",
                                         "bits.",      "optimizer.state", "run.products"};
    if (strcmp(key, "precision.name") == 0) return false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strncmp(key, groups[i], strlen(groups[i])) == 0) return true;
    return false;
}

static hu_status read_extra(const hu_config *config, hu_keys **extra) {
    hu_status st = HU_OK;
    char text[HU_JOB_WORD_BYTES];
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "score", extra));
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        if (!is_of_format(key) || !hu_config_given(config, key)) continue;
        const hu_keys *node = hu_keys_find(hu_config_tree(config), key);
        const char *value = hu_keys_kind_of(node) == HU_KEYS_LIST
                                ? hu_keys_join(node, ",", text, sizeof text)
                                : hu_keys_value(node);
        hu_keys *copy = NULL;
        HU_TRY(hu_keys_create(HU_KEYS_TEXT, value, "score", &copy));
        HU_TRY(hu_keys_put(*extra, key, copy));
    }
done:
    return st;
}

static hu_status add_text(hu_keys *list, const char *text) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, "score", &node);
    return st == HU_OK ? hu_keys_append(list, node) : st;
}

/* The subjects, and what precision= adds to them. */
static hu_status read_precisions(const hu_config *config, hu_keys **list) {
    hu_status st = HU_OK;
    hu_keys *more = NULL;
    const char *text;
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, "score", list));
    for (int i = 0; i < hu_config_subjects(config); i++)
        HU_TRY(add_text(*list, hu_config_subject(config, i)));
    if (hu_config_given(config, "precision.name")) {
        HU_TRY(hu_config_text(config, "precision.name", &text));
        HU_TRY(hu_compare_split(text, "precision", &more));
        for (size_t i = 0; i < hu_keys_count(more); i++)
            HU_TRY(add_text(*list, hu_keys_value(hu_keys_at(more, i))));
    }
    if (hu_keys_count(*list) == 0)
        st = hu_fail(HU_ERR_ARGUMENT, "score: found no format, expected one or more: `halfulp "
                                      "score e4m3fn`; `halfulp help formats` lists them");
done:
    hu_keys_free(more);
    return st;
}

/* A phase of a list by epoch. */
static hu_status read_phase(void *context, const char *text, hu_precision *precision) {
    (void)context;
    return hu_precision_parse(text, precision);
}

static hu_status check_precision(const char *name) {
    hu_precision parsed = {0};
    hu_keys *plan = NULL;
    hu_status st = hu_is_plan_path(name) ? hu_plan_read(name, &plan)
                   : hu_precision_is_list(name)
                       ? hu_precision_parse_list(name, read_phase, NULL, &parsed)
                       : hu_precision_parse(name, &parsed);
    hu_keys_free(plan);
    hu_precision_free(&parsed);
    return st;
}

static hu_status check_other(const char *name, const char *before) {
    if (!hu_score_is_same(name, before)) return HU_OK;
    if (strcmp(name, before) == 0)
        return hu_fail(HU_ERR_ARGUMENT, "score: found '%.100s' twice", name);
    return hu_fail(HU_ERR_ARGUMENT,
                   "score: found '%.100s' and '%.100s', which are one format, expected it once",
                   before, name);
}

/* All are known before the first is trained, and none stands there twice. */
static hu_status check_precisions(const hu_keys *list) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < hu_keys_count(list) && st == HU_OK; i++) {
        const char *name = hu_keys_value(hu_keys_at(list, i));
        st = check_precision(name);
        for (size_t k = 0; k < i && st == HU_OK; k++)
            st = check_other(name, hu_keys_value(hu_keys_at(list, k)));
    }
    return st;
}

/* The same of what sums are taken in. */
static hu_status check_accumulator(const hu_config *config) {
    const char *name;
    hu_accumulator parsed;
    hu_status st = hu_config_text(config, "accumulator.name", &name);
    if (st != HU_OK || strcmp(name, reference_name) == 0) return st;
    return hu_accumulator_parse(name, &parsed);
}

/* 1, or 1,2,3, or those of the command. */
static hu_status read_seeds(const hu_config *config, bool is_quick, hu_keys **seeds) {
    hu_status st = HU_OK;
    char text[32];
    if (hu_config_given(config, "compare.seeds")) return hu_jobs_seeds(config, "score", seeds);
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, "score", seeds));
    for (int s = 1; s <= (is_quick ? 1 : USUAL_SEEDS); s++) {
        snprintf(text, sizeof text, "%d", s);
        HU_TRY(add_text(*seeds, text));
    }
done:
    return st;
}

static const hu_score_network *find_network(const char *name) {
    for (int n = 0; n < HU_SCORE_NETWORKS; n++)
        if (strcmp(hu_score_suite[n].name, name) == 0) return &hu_score_suite[n];
    return NULL;
}

static hu_status unknown_network(const char *name) {
    const char *names[HU_SCORE_NETWORKS];
    char nearest[256];
    for (int n = 0; n < HU_SCORE_NETWORKS; n++) names[n] = hu_score_suite[n].name;
    hu_nearest(name, names, HU_SCORE_NETWORKS, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "score.networks: found '%.100s', expected one like %s", name,
                   nearest);
}

/* In the order of the suite, each once. */
static hu_status read_networks(const hu_config *config, hu_scores *scores) {
    hu_status st = HU_OK;
    const hu_keys *wanted;
    bool is_wanted[HU_SCORE_NETWORKS] = {false};
    HU_TRY(hu_config_list(config, "score.networks", &wanted));
    for (size_t i = 0; i < hu_keys_count(wanted); i++) {
        const char *name = hu_keys_value(hu_keys_at(wanted, i));
        const hu_score_network *found = find_network(name);
        if (!found) return unknown_network(name);
        is_wanted[found - hu_score_suite] = true;
    }
    for (int n = 0; n < HU_SCORE_NETWORKS; n++) {
        bool is_usual =
            hu_keys_count(wanted) == 0 && (!scores->is_quick || hu_score_suite[n].is_quick);
        if (is_usual || is_wanted[n]) scores->network[scores->networks++] = &hu_score_suite[n];
    }
done:
    return st;
}

/* Another length than the suite's own; -1: nobody asks. */
static hu_status read_length(const hu_config *config, const char *key, int64_t *value) {
    *value = -1;
    if (!hu_config_given(config, key) || hu_config_is_auto(config, key)) return HU_OK;
    return hu_config_i64(config, key, value);
}

static hu_status read_lengths(const hu_config *config, hu_scores *scores) {
    hu_status st;
    HU_TRY(read_length(config, "run.steps", &scores->steps));
    HU_TRY(read_length(config, "data.limit", &scores->train));
    HU_TRY(read_length(config, "data.test_limit", &scores->test));
    scores->is_whole = !scores->is_quick && !hu_config_given(config, "compare.seeds") &&
                       scores->networks == HU_SCORE_NETWORKS && scores->steps < 0 &&
                       scores->train < 0 && scores->test < 0;
done:
    return st;
}

static hu_status read_folder(const hu_config *config, char *folder, size_t capacity) {
    const char *given;
    hu_status st = hu_config_text(config, "run.dir", &given);
    if (st != HU_OK) return st;
    if (strlen(given) + 8 >= capacity || !*given)
        return hu_fail(HU_ERR_ARGUMENT, "run.dir: found %zu characters, expected 1 to %zu",
                       strlen(given), capacity - 9);
    snprintf(folder, capacity, "%s/v%d", strcmp(given, "auto") == 0 ? "runs/score" : given,
             HU_SCORE_VERSION);
    return HU_OK;
}

/* "fp32 accumulator=fmac8:1/6/9": keys by the form that people type. */
static hu_status name_score(const hu_scores *scores, const char *precision, char **name) {
    hu_status st;
    size_t bytes = strlen(precision) + 1, used = bytes - 1;
    HU_TRY(hu_strdup(precision, name));
    for (size_t i = 0; i < hu_keys_count(scores->extra); i++) {
        const hu_keys *node = hu_keys_at(scores->extra, i);
        char path[256];
        hu_keys_path(node, path, sizeof path);
        const hu_config_key *key = hu_config_key_find(path);
        const char *shown = key && key->short_form[0] ? key->short_form : path;
        bytes += strlen(shown) + strlen(hu_keys_value(node)) + 2;
        HU_TRY(hu_realloc((void **)name, bytes));
        used += (size_t)snprintf(*name + used, bytes - used, " %s=%s", shown, hu_keys_value(node));
    }
done:
    return st;
}

static hu_status make_room(hu_scores *scores) {
    hu_status st;
    size_t precisions = hu_keys_count(scores->precisions), seeds = hu_keys_count(scores->seeds);
    size_t jobs = (size_t)scores->networks * seeds;
    HU_TRY(HU_NEW_ARRAY(&scores->run, (1 + precisions) * jobs));
    HU_TRY(HU_NEW_ARRAY(&scores->score, precisions));
    HU_TRY(HU_NEW_ARRAY(&scores->job, jobs));
    HU_TRY(HU_NEW_ARRAY(&scores->into, jobs));
    HU_TRY(HU_NEW_ARRAY(&scores->place, jobs));
    HU_TRY(HU_NEW_ARRAY(&scores->noted, jobs));
    for (int n = 0; n < HU_SCORE_NETWORKS; n++) scores->guess[n] = (double)NAN;
    for (size_t i = 0; i < precisions; i++) {
        char *name = NULL;
        st = name_score(scores, hu_keys_value(hu_keys_at(scores->precisions, i)), &name);
        scores->score[i].name = name;
        if (st != HU_OK) goto done;
    }
done:
    return st;
}

hu_status hu_scores_read(const hu_config *config, hu_scores *scores) {
    hu_status st;
    const char *suite;
    *scores = (hu_scores){0};
    HU_TRY(hu_config_text(config, "score.suite", &suite));
    HU_TRY(hu_config_bool(config, "score.keep", &scores->keeps));
    scores->is_quick = strcmp(suite, "quick") == 0;
    HU_TRY(read_precisions(config, &scores->precisions));
    HU_TRY(check_precisions(scores->precisions));
    HU_TRY(check_accumulator(config));
    HU_TRY(read_extra(config, &scores->extra));
    HU_TRY(read_seeds(config, scores->is_quick, &scores->seeds));
    HU_TRY(read_networks(config, scores));
    HU_TRY(read_lengths(config, scores));
    HU_TRY(read_folder(config, scores->folder, sizeof scores->folder));
    st = make_room(scores);
done:
    return st;
}

void hu_scores_free(hu_scores *scores) {
    for (size_t i = 0; scores->score && i < hu_keys_count(scores->precisions); i++) {
        char *name;
        memcpy(&name, &scores->score[i].name, sizeof name); /* made in make_room */
        hu_free(name);
    }
    hu_jobs_free(scores->job, scores->count);
    hu_free(scores->noted);
    hu_free(scores->place);
    hu_free(scores->into);
    hu_free(scores->job);
    hu_free(scores->score);
    hu_free(scores->run);
    hu_keys_free(scores->seeds);
    hu_keys_free(scores->extra);
    hu_keys_free(scores->precisions);
    *scores = (hu_scores){0};
}

/* ---- One training: its words, and its name in the cache ---- */

static int64_t or_own(int64_t asked, int64_t own) {
    return asked >= 0 ? asked : own;
}

static hu_status add_number(hu_job *job, const char *key, int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return hu_job_word(job, key, text);
}

/* "lr=0.1 model.layers=2": keys by their full names, as a run keeps them. */
static hu_status add_more(const char *more, hu_job *job) {
    hu_status st = HU_OK;
    char word[256];
    while (*more && st == HU_OK) {
        size_t length = strcspn(more, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, more);
        char *equals = strchr(word, '=');
        *equals = '\0';
        const hu_config_key *key = hu_config_key_find(word);
        st = hu_job_word(job, key ? key->name : word, equals + 1);
        more += length + strspn(more + length, " ");
    }
    return st;
}

/* The file of a network, or the name of a model. Paths are whole: what was interrupted goes on
 * however the folder is spelled the next time. */
static hu_status add_model(const hu_scores *scores, const hu_score_network *n, hu_job *job) {
    char path[PATH_MAX + 128];
    char *folder = n->file ? realpath(scores->folder, NULL) : NULL;
    if (n->file)
        snprintf(path, sizeof path, "%s/%s.yaml", folder ? folder : scores->folder, n->name);
    hu_status st = hu_job_word(job, "model.name", n->file ? path : n->model);
    free(folder);
    return st;
}

/* What is trained, without the precision and the seed. */
static hu_status add_network(const hu_scores *scores, const hu_score_network *n, hu_job *job) {
    hu_status st;
    HU_TRY(add_model(scores, n, job));
    HU_TRY(hu_job_word(job, "data.name", n->data));
    HU_TRY(add_number(job, "data.limit", or_own(scores->train, n->train)));
    HU_TRY(add_number(job, "data.test_limit", or_own(scores->test, n->test)));
    HU_TRY(add_number(job, "run.batch", n->batch));
    HU_TRY(add_number(job, "run.steps", or_own(scores->steps, n->steps)));
    if (n->length > 0) HU_TRY(add_number(job, "data.length", n->length));
    if (n->streams > 0) HU_TRY(hu_job_word(job, "data.streams", "on"));
    st = add_more(n->more, job);
done:
    return st;
}

/* The job of a network, a precision and a seed. extra: with the keys beside the precision. */
static hu_status make_job(const hu_scores *scores, int network, const char *precision,
                          const char *seed, bool extra, hu_job *job) {
    hu_status st;
    uint64_t hash;
    char name[NAME_BYTES];
    const hu_score_network *n = scores->network[network];
    *job = (hu_job){0};
    HU_TRY(add_network(scores, n, job));
    for (size_t i = 0; extra && i < hu_keys_count(scores->extra); i++) {
        char path[256];
        const hu_keys *node = hu_keys_at(scores->extra, i);
        hu_keys_path(node, path, sizeof path);
        HU_TRY(hu_job_word(job, path, hu_keys_value(node)));
    }
    HU_TRY(hu_score_hash(n, precision, job, &hash));
    HU_TRY(hu_job_word(job, "precision.name", precision));
    HU_TRY(hu_job_word(job, "run.seed", seed));
    snprintf(job->label, sizeof job->label, "%.150s %s seed %.20s", precision, n->name, seed);
    snprintf(name, sizeof name, "%.80s-%016llx-s%.20s", precision, (unsigned long long)hash, seed);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.=+", *c)) *c = '_';
    snprintf(job->directory, sizeof job->directory, "%s/%s/%s", scores->folder, n->name, name);
done:
    return st;
}

/* ---- What a training was worth ---- */

/* Of the data that the network is trained on, asked once. */
static hu_status guess_of(hu_scores *scores, int network, double *guess) {
    hu_status st = HU_OK;
    const hu_score_network *n = scores->network[network];
    const hu_task *task;
    hu_dataset *dataset = NULL;
    *guess = scores->guess[network];
    if (!isnan(*guess)) return HU_OK;
    const hu_data_limits limits = {or_own(scores->train, n->train), or_own(scores->test, n->test)};
    const hu_image_choice choice = {.text = {.length = n->length, .streams = n->streams}};
    HU_TRY(hu_task_find(n->task, &task));
    HU_TRY(hu_dataset_open_images(n->data, &limits, &choice, &dataset));
    HU_TRY(hu_task_guess(task, dataset, n->stride, guess));
    scores->guess[network] = *guess;
done:
    hu_dataset_close(dataset);
    return st;
}

/* " (12.3 % of logits by saturation)": what a tensor lost in its worst steps. Gives the length. */
static size_t tell_loss(const hu_closest_loss *loss, const char *how, char *text, size_t capacity) {
    int length = 0;
    text[0] = '\0';
    if (loss->tensor)
        length = snprintf(text, capacity, ", %.3g %% of %.100s (%.60s) by %s", 100.0 * loss->share,
                          loss->tensor, loss->format, how);
    return length > 0 && (size_t)length < capacity ? (size_t)length : 0;
}

/* Nothing died, so what came nearest to it is told. */
static void tell_closest(const hu_diagnosis *x, char text[HU_SCORE_WHY_BYTES]) {
    hu_closest c = hu_closest_find(x);
    size_t used = (size_t)snprintf(text, HU_SCORE_WHY_BYTES, "no tensor died; lost at most");
    size_t first = used;
    used += tell_loss(&c.saturation, "saturation", text + used, HU_SCORE_WHY_BYTES - used);
    used += tell_loss(&c.underflow, "underflow", text + used, HU_SCORE_WHY_BYTES - used);
    used += tell_loss(&c.updates, "updates that changed nothing", text + used,
                      HU_SCORE_WHY_BYTES - used);
    if (used == first)
        snprintf(text, HU_SCORE_WHY_BYTES, "no tensor died, and none lost numbers");
    else
        text[first] = ':'; /* in place of the first comma */
}

/* The first line of `why`: which tensor died, where and how; else what lost most. */
static hu_status explain(const hu_job *job, char text[HU_SCORE_WHY_BYTES]) {
    hu_answer answer;
    char name[HU_TENSOR_NAME_BYTES], words[HU_LOSS_WORDS_BYTES];
    const char *format;
    hu_status st = hu_answer_open(job->directory, NULL, &answer);
    if (st == HU_OK && answer.x.why.death.place != HU_NONE) {
        const hu_failure *death = &answer.x.why.death;
        hu_round_counts counts = hu_fact_counts(&answer.x, death, &format);
        snprintf(text, HU_SCORE_WHY_BYTES, "%s, step %lld: %s",
                 hu_fact_failure_name(&answer.x, death, name), (long long)death->step,
                 hu_loss_words(&answer.x, death, &counts, format, words));
    } else if (st == HU_OK) {
        tell_closest(&answer.x, text);
    }
    hu_answer_close(&answer);
    return st;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

/* The run's folder is as large as its weights: what is kept of it is the record. Links in it are
 * removed, not followed. */
static hu_status remove_run(const char *folder) {
    enum { DESCRIPTORS = 16 };
    if (nftw(folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0) return HU_OK;
    return hu_fail(HU_ERR_IO, "%s: cannot be removed", folder);
}

/* With the seed of a run. NULL: it is float32 itself. */
static const hu_score_run *reference_of(const hu_scores *scores, const hu_score_run *run) {
    size_t jobs = (size_t)scores->networks * hu_keys_count(scores->seeds);
    size_t at = (size_t)(run - scores->run);
    return at < jobs ? NULL : &scores->run[at % jobs];
}

/* A share below this has failed, and is explained. */
static bool has_failed(const hu_scores *scores, int network, const hu_score_run *run) {
    const double least = 10.0;
    const hu_score_run *reference = reference_of(scores, run);
    if (!isfinite(run->value)) return true;
    return reference && hu_score_share(scores->network[network], run, reference) < least;
}

/* Of a number of the plan, the mean over the steps of what adaptations made of it. */
static hu_status read_bits(const hu_job *job, double *bits) {
    char *path = NULL;
    json_t *plan = NULL;
    hu_status st;
    double all = hu_json_real(job->result, "model_aggregate_bits_mean");
    if (isnan(all)) all = hu_json_real(job->result, "model_aggregate_bits");
    HU_TRY(hu_path_join(job->directory, "plan.json", &path));
    HU_TRY(hu_json_load(path, &plan));
    *bits = all / hu_json_real(plan, "tensor_elements");
    if (!(*bits > 0.0))
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no tensor_elements, expected the plan of a run",
                     path);
done:
    json_decref(plan);
    hu_free(path);
    return st;
}

static hu_status read_result(hu_scores *scores, int network, const hu_job *job, hu_score_run *run) {
    hu_status st;
    const hu_score_network *n = scores->network[network];
    const char *diverged = json_string_value(json_object_get(job->result, "diverged"));
    double loss = hu_json_real(job->result, "test_loss");
    *run = (hu_score_run){.seconds = job->seconds};
    HU_TRY(guess_of(scores, network, &run->guess));
    run->value = n->by_metric ? hu_result_metric_of(job->result).last : loss;
    if (diverged || !isfinite(loss)) run->value = (double)NAN;
    HU_TRY(read_bits(job, &run->bits));
    if (has_failed(scores, network, run)) HU_TRY(explain(job, run->why));
    run->is_known = true;
done:
    return st;
}

/* After a training: those that have ended are kept. */
static hu_status keep(void *context) {
    hu_scores *scores = context;
    hu_status st = HU_OK;
    for (int i = 0; i < scores->count; i++) {
        const hu_job *job = &scores->job[i];
        if (job->state != HU_JOB_DONE || scores->noted[i]) continue;
        int network = scores->place[i];
        HU_TRY(read_result(scores, network, job, scores->into[i]));
        HU_TRY(hu_score_record_write(job, scores->network[network]->name, scores->into[i]));
        scores->noted[i] = 1;
        if (!scores->keeps) HU_TRY(remove_run(job->directory));
    }
done:
    return st;
}

/* ---- All of them ---- */

/* The files of networks, for the trainings to read, and the folders of their runs. */
static hu_status write_networks(const hu_scores *scores) {
    hu_status st = HU_OK;
    char path[512];
    for (int n = 0; n < scores->networks; n++) {
        const hu_score_network *network = scores->network[n];
        snprintf(path, sizeof path, "%s/%s", scores->folder, network->name);
        HU_TRY(hu_directory_create(path));
        if (!network->file) continue;
        snprintf(path, sizeof path, "%s/%s.yaml", scores->folder, network->name);
        HU_TRY(hu_file_replace(path, network->file, strlen(network->file)));
    }
done:
    return st;
}

/* What all trainings share: none is looked at while it runs, and weights are judged as they are
 * stored. */
static hu_status make_common(hu_keys **common) {
    static const char *const keys[][2] = {{"eval.every", "0"},      {"eval.weights", "rounded"},
                                          {"run.pictures", "0"},    {"run.histogram_every", "0"},
                                          {"run.keep_best", "off"}, {"run.checkpoint_every", "0"}};
    hu_status st;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "score", common));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        HU_TRY(hu_keys_set_text(*common, keys[i][0], keys[i][1], "score"));
done:
    return st;
}

/* As many trainings at once as there are processors, each with one thread: the least lost. */
static hu_status read_jobs(hu_config *config, hu_scores *scores, hu_keys *common) {
    hu_status st;
    int64_t number;
    scores->jobs = (hu_jobs){.directory = scores->folder,
                             .common = common,
                             .model = "score",
                             .threads = 1,
                             .parallel = omp_get_num_procs(),
                             .progress = &scores->progress,
                             .after = keep,
                             .context = scores};
    if (hu_config_given(config, "compare.parallel")) {
        HU_TRY(hu_config_i64(config, "compare.parallel", &number));
        scores->jobs.parallel = (int)number;
    }
    if (!hu_config_is_auto(config, "run.threads")) {
        HU_TRY(hu_config_i64(config, "run.threads", &number));
        scores->jobs.threads = (int)number;
    }
    st = hu_config_is_auto(config, "run.quiet")
             ? HU_OK
             : hu_config_bool(config, "run.quiet", &scores->jobs.is_quiet);
done:
    return st;
}

/* Takes from the cache what is there, and makes jobs of the rest; run [networks][seeds]. Networks
 * that take long come first, so that the last of all is a short one. */
static hu_status list_jobs(hu_scores *scores, const char *precision, bool extra,
                           hu_score_run *run) {
    hu_status st = HU_OK;
    size_t seeds = hu_keys_count(scores->seeds);
    hu_jobs_free(scores->job, scores->count);
    scores->count = 0;
    for (int n = scores->networks; n-- > 0;)
        for (size_t s = 0; s < seeds; s++) {
            hu_score_run *into = &run[(size_t)n * seeds + s];
            hu_job *job = &scores->job[scores->count];
            HU_TRY(make_job(scores, n, precision, hu_keys_value(hu_keys_at(scores->seeds, s)),
                            extra, job));
            HU_TRY(hu_score_record_read(job, into));
            if (into->is_known) continue;
            scores->into[scores->count] = into;
            scores->place[scores->count] = n;
            scores->noted[scores->count] = 0;
            scores->count++;
        }
done:
    return st;
}

/* Where a row could not be trained for a reason of its own, there is no score. */
static hu_status check_ended(const hu_scores *scores) {
    for (int i = 0; i < scores->count; i++) {
        const hu_job *job = &scores->job[i];
        if (job->state == HU_JOB_FAILED)
            return hu_fail(job->exit_code == 5 ? HU_ERR_IO : HU_ERR_INTERNAL,
                           "%s: %s (the same command goes on: %s)", job->label, job->failure,
                           job->directory);
    }
    return HU_OK;
}

static hu_status train(hu_scores *scores, const char *precision, bool extra, hu_score_run *run) {
    hu_status st;
    int all = scores->networks * (int)hu_keys_count(scores->seeds);
    HU_TRY(list_jobs(scores, precision, extra, run));
    scores->progress.first = (int)(run - scores->run) + all - scores->count;
    scores->progress.rows = all * (1 + (int)hu_keys_count(scores->precisions));
    if (scores->count == 0) return HU_OK;
    HU_TRY(hu_jobs_read_states(&scores->jobs, scores->job, scores->count));
    HU_TRY(keep(scores)); /* runs that ended while nobody looked */
    HU_TRY(hu_jobs_run(&scores->jobs, scores->job, scores->count));
    HU_TRY(keep(scores));
    st = check_ended(scores);
done:
    return st;
}

static hu_status train_all(hu_scores *scores) {
    hu_status st;
    size_t jobs = (size_t)scores->networks * hu_keys_count(scores->seeds);
    HU_TRY(train(scores, reference_name, false, scores->run));
    for (size_t i = 0; i < hu_keys_count(scores->precisions); i++) {
        hu_score_run *run = scores->run + (1 + i) * jobs;
        hu_score *score = &scores->score[i];
        HU_TRY(train(scores, hu_keys_value(hu_keys_at(scores->precisions, i)), true, run));
        hu_score_sum_up(scores->network, scores->networks, (int)hu_keys_count(scores->seeds), run,
                        scores->run, score);
        if (scores->is_whole && hu_league_count > 0 && isfinite(score->score))
            score->place = hu_league_place(score->name, score->score, &score->of);
    }
done:
    return st;
}

hu_status hu_scores_run(hu_config *config, const volatile sig_atomic_t *interrupted,
                        hu_scores *scores) {
    hu_status st;
    hu_keys *common = NULL;
    int lock = -1;
    size_t rows = (1 + hu_keys_count(scores->precisions)) * (size_t)scores->networks *
                  hu_keys_count(scores->seeds);
    HU_TRY(make_common(&common));
    HU_TRY(read_jobs(config, scores, common));
    scores->jobs.interrupted = interrupted;
    HU_TRY(hu_directory_create(scores->folder));
    HU_TRY(hu_run_folder_lock(scores->folder, "scoring", &lock));
    HU_TRY(write_networks(scores));
    scores->progress =
        (hu_job_progress){.is_quiet = scores->jobs.is_quiet, .parallel = scores->jobs.parallel};
    HU_TRY(hu_job_progress_open(scores->folder, "score", (int)rows, 0, &scores->progress));
    st = train_all(scores);
done:
    st = hu_job_progress_end(&scores->progress, st);
    hu_job_progress_close(&scores->progress);
    hu_keys_free(common);
    if (lock >= 0) close(lock);
    return st;
}
