#include "session/comm_study.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/unused_keys.h"
#include "session/saved_run.h"
#include "settings/options.h"
#include "tensor/quantizer.h"
#include "train/trainer.h"

/* ---- The gradients of the workers in one step of a run that has a folder ---- */

enum { PATH_BYTES = 4096, USUAL_WORKERS = 8 };

/* An empty configuration with what the user may choose anew. */
static hu_status make_config(const hu_gradients_wanted *wanted, hu_config **config) {
    static const char *const no_flags[] = {NULL};
    static const char *const chosen[] = {"data.name", "run.threads"};
    hu_status st = HU_OK;
    hu_keys *given = NULL;
    const hu_config_request nothing = {.flags = no_flags};
    HU_TRY(hu_config_load(&nothing, config));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "command line", &given));
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        const char *value;
        if (!hu_config_given(wanted->given, chosen[i])) continue;
        HU_TRY(hu_config_text(wanted->given, chosen[i], &value));
        HU_TRY(hu_keys_set_text(given, chosen[i], value, "command line"));
    }
    if (hu_keys_count(given) > 0) HU_TRY(hu_config_merge(*config, given));
done:
    hu_keys_free(given);
    return st;
}

/* The run with workers as they are asked for, whatever it trained with; they only make gradients.
 */
static hu_status open_wanted(const hu_gradients_wanted *wanted, const hu_listener *listener,
                             hu_saved_gradients *g) {
    hu_status st = HU_OK;
    HU_TRY(make_config(wanted, &g->config));
    HU_TRY(hu_saved_run_read(g->config, wanted->directory, listener, &g->run));
    hu_train_comm *comm = &g->run.options.comm;
    int32_t usual = comm->options.workers > 1 ? comm->options.workers : USUAL_WORKERS;
    *comm = (hu_train_comm){.options = {.workers = wanted->workers ? wanted->workers : usual},
                            .formats = "fp32",
                            .exact = wanted->exact};
    HU_TRY(hu_comm_schedule_parse("seq", &comm->options.schedule, &comm->options.group));
    HU_TRY(hu_comm_scaling_parse("none", &comm->options.scaling, &comm->options.constant));
    HU_TRY(hu_trainer_create(&g->run.options, g->run.dataset, &g->run.trainer));
done:
    return st;
}

/* Where the run was at a step or before: a checkpoint, or its beginning (*checkpoint NULL). */
static hu_status find_checkpoint(const hu_gradients_wanted *wanted, const hu_listener *listener,
                                 hu_checkpoint **checkpoint) {
    char path[PATH_BYTES], warning[1024];
    int64_t last = wanted->step < 0 ? INT64_MAX : wanted->step;
    snprintf(path, sizeof path, "%s/checkpoint", wanted->directory);
    hu_status st = hu_checkpoint_open_before(path, last, checkpoint, warning, sizeof warning);
    if (st == HU_ERR_MISSING && wanted->step >= 0) return HU_OK;
    if (st == HU_OK && warning[0]) hu_listener_tell(listener, "%s", warning);
    return st;
}

/* A trainer of the run as it was present. */
static hu_status begin(const hu_saved_gradients *g, const hu_checkpoint *checkpoint,
                       hu_trainer *trainer) {
    if (!checkpoint) return hu_initial_weights(g->config, trainer, NULL);
    return hu_saved_run_restore(g->config, g->run.directory, trainer, checkpoint);
}

/* A checkpoint of its own carries a trainer's state to another one. */
static hu_status carry(const hu_saved_gradients *g, hu_trainer *from, hu_trainer *to) {
    hu_status st = HU_OK;
    hu_checkpoint_writer *writer = NULL;
    hu_checkpoint *checkpoint = NULL;
    char warning[1], folder[PATH_BYTES];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/halfulp-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return hu_fail(HU_ERR_IO, "%s: cannot be made: %s", folder, strerror(errno));
    HU_TRY(hu_checkpoint_begin(hu_trainer_progress(from)->step, &writer));
    HU_TRY(hu_trainer_save(from, writer));
    HU_TRY(hu_checkpoint_finish(writer, folder, HU_CHECKPOINT_KEEP));
    HU_TRY(hu_checkpoint_open_newest(folder, &checkpoint, warning, sizeof warning));
    (void)unlink(hu_checkpoint_path(checkpoint));
    HU_TRY(begin(g, checkpoint, to));
done:
    (void)rmdir(folder);
    hu_checkpoint_free(checkpoint);
    hu_checkpoint_writer_free(writer);
    return st;
}

static void saved_gradients_close(hu_saved_gradients *gradients) {
    hu_saved_run_close(&gradients->run);
    hu_config_free(gradients->config);
    *gradients = (hu_saved_gradients){0};
}

/* Trains as the run did, with its own workers, from a checkpoint to the step before the one that is
 * asked for. */
static hu_status train_on(const hu_gradients_wanted *wanted, const hu_listener *listener,
                          const hu_checkpoint *checkpoint, hu_saved_gradients *g) {
    hu_status st = HU_OK;
    hu_saved_gradients again = {0};
    HU_TRY(make_config(wanted, &again.config));
    HU_TRY(hu_saved_run_read(again.config, wanted->directory, NULL, &again.run));
    again.run.options.histogram_every = 0;
    HU_TRY(hu_trainer_create(&again.run.options, again.run.dataset, &again.run.trainer));
    HU_TRY(begin(&again, checkpoint, again.run.trainer));
    hu_listener_tell(listener, "%s: training again from step %lld to step %lld", wanted->directory,
                     (long long)hu_trainer_progress(again.run.trainer)->step,
                     (long long)wanted->step);
    while (hu_trainer_progress(again.run.trainer)->step < wanted->step) {
        hu_step_report report;
        if (wanted->stop && *wanted->stop) HU_TRY(hu_fail(HU_ERR_INTERRUPTED, "interrupted"));
        HU_TRY(hu_trainer_step(again.run.trainer, &report));
    }
    HU_TRY(carry(g, again.run.trainer, g->run.trainer));
done:
    saved_gradients_close(&again);
    return st;
}

static hu_status check_step(const hu_gradients_wanted *wanted, const hu_saved_gradients *g) {
    int64_t steps = g->run.options.steps;
    if (wanted->step <= steps) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "step: found %lld, expected at most %lld, where %s ends",
                   (long long)wanted->step, (long long)steps, wanted->directory);
}

/* Takes the newest checkpoint that is not after the step, or where there is none the first
 * weights; trains from there to the step as the run did, where that is not the same; then runs the
 * passes of the step with so many workers. The run's folder stays as it is. HU_ERR_ARGUMENT: a step
 * beyond the run's end, more workers than samples; HU_ERR_NONFINITE as hu_trainer_gradients. Owner
 * closes. */
static hu_status saved_gradients_open(const hu_gradients_wanted *wanted,
                                      const hu_listener *listener, hu_saved_gradients *gradients) {
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    *gradients = (hu_saved_gradients){0};
    HU_TRY(open_wanted(wanted, listener, gradients));
    HU_TRY(check_step(wanted, gradients));
    HU_TRY(find_checkpoint(wanted, listener, &checkpoint));
    int64_t step = checkpoint ? hu_checkpoint_step(checkpoint) : 0;
    if (wanted->step > step)
        HU_TRY(train_on(wanted, listener, checkpoint, gradients));
    else
        HU_TRY(begin(gradients, checkpoint, gradients->run.trainer));
    HU_TRY(hu_trainer_gradients(gradients->run.trainer, &gradients->made));
done:
    hu_checkpoint_free(checkpoint);
    if (st != HU_OK) saved_gradients_close(gradients);
    return st;
}

/* ---- What a configuration asks about the network between nodes ---- */

enum { CHOICES_MOST = 16, NAME_BYTES = 128 };

static hu_status list_layers(const hu_config *config, const hu_graph *graph,
                             hu_advice_request *request) {
    hu_status st = HU_OK;
    hu_value_id *param = NULL;
    const char *exact;
    size_t count = (size_t)hu_wire_layer_count(graph);
    HU_TRY(hu_config_text(config, "comm.exact", &exact));
    HU_TRY(HU_NEW_ARRAY(&param, count));
    HU_TRY(HU_NEW_ARRAY(&request->layer, count));
    HU_TRY(hu_wire_layers(graph, exact, param, request->layer, &request->question.layers));
    request->question.layer = request->layer;
    request->parameters = hu_graph_parameters(graph);
done:
    hu_free(param);
    return st;
}

/* What a format costs here: as another one of its width, which is measured already, or measured. */
static hu_status find_rates(const hu_advice_request *request, hu_comm_choice *choice) {
    hu_wire wire;
    for (const hu_comm_choice *other = request->choice; other < choice; other++)
        if (hu_format_bits(&other->format) == hu_format_bits(&choice->format)) {
            choice->rates = other->rates;
            return HU_OK;
        }
    hu_status st = hu_wire_init(&wire, &choice->format, HU_ROUND_NEAREST_EVEN);
    return st == HU_OK ? hu_comm_rates_measure(&wire, &choice->rates) : st;
}

/* Whether the format is among the choices before this one: users list fp16, too. */
static bool is_listed(const hu_advice_request *request, const hu_comm_choice *choice) {
    for (const hu_comm_choice *other = request->choice; other < choice; other++)
        if (hu_format_equal(&other->format, &choice->format)) return true;
    return false;
}

/* Adds a format that is new, with what it costs here. */
static hu_status add_choice(const char *name, hu_advice_request *request) {
    hu_status st = HU_OK;
    if (request->question.choices == CHOICES_MOST)
        return hu_fail(HU_ERR_LIMIT, "format: expected at most %d formats", CHOICES_MOST);
    hu_comm_choice *choice = &request->choice[request->question.choices];
    HU_TRY(hu_plain_format_parse(name, &choice->format));
    if (is_listed(request, choice)) return HU_OK;
    HU_TRY(find_rates(request, choice));
    request->question.choices++;
done:
    return st;
}

/* The formats that few bits must beat, and those of few bits. */
static hu_status list_choices(const hu_config *config, hu_advice_request *request) {
    hu_status st = HU_OK;
    const char *text = "e5m2,e4m3";
    HU_TRY(HU_NEW_ARRAY(&request->choice, CHOICES_MOST));
    request->question.choice = request->choice;
    HU_TRY(add_choice("fp32", request));
    HU_TRY(add_choice("fp16", request));
    const char *key = hu_config_given(config, "comm.format") ? "comm.format" : "bench.format";
    if (hu_config_given(config, key)) HU_TRY(hu_config_text(config, key, &text));
    while (*text) {
        const char *end;
        char name[NAME_BYTES] = "";
        size_t length = hu_list_word_at(&text, &end);
        if (length >= NAME_BYTES) return hu_fail(HU_ERR_PARSE, "format: found too long a name");
        memcpy(name, text, length);
        HU_TRY(add_choice(name, request));
        text = end + (*end == ',');
    }
done:
    return st;
}

/* Nodes are what a training calls workers. */
static hu_status check_workers(const hu_config *config, int64_t nodes) {
    int64_t workers;
    hu_status st = hu_config_i64(config, "comm.workers", &workers);
    if (st == HU_OK && hu_config_given(config, "comm.workers") && workers != nodes)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "key 'comm.workers': found %lld beside nodes=%lld, expected the same number",
                     (long long)workers, (long long)nodes);
    return st;
}

hu_status hu_advice_read(hu_config *config, const hu_graph *graph, hu_advice_request *request) {
    hu_status st = HU_OK;
    hu_comm_question *question = &request->question;
    const char *rate, *latency, *scaling;
    int64_t nodes;
    int32_t constant;
    *request = (hu_advice_request){0};
    HU_TRY(hu_config_i64(config, "cluster.nodes", &nodes));
    question->nodes = (int32_t)nodes; /* the table of keys bounds it */
    HU_TRY(check_workers(config, nodes));
    HU_TRY(hu_config_text(config, "cluster.link", &rate));
    HU_TRY(hu_config_text(config, "cluster.latency", &latency));
    HU_TRY(hu_comm_link_parse(rate, latency, &question->link));
    HU_TRY(hu_config_set(config, "comm.scaling", "aps", "plan"));
    HU_TRY(hu_config_text(config, "comm.scaling", &scaling));
    HU_TRY(hu_comm_scaling_parse(scaling, &question->scaling, &constant));
    if (question->scaling->code)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "key 'comm.scaling': found '%s', whose codes have no format to compare, "
                       "expected a scaling of formats, such as aps; halfulp comm compares both",
                       scaling));
    HU_TRY(hu_options_bucket(config, question->nodes, &question->bucket_bytes));
    HU_TRY(list_layers(config, graph, request));
    HU_TRY(list_choices(config, request));
done:
    if (st != HU_OK) hu_advice_request_free(request);
    return st;
}

void hu_advice_request_free(hu_advice_request *request) {
    hu_free(request->layer);
    hu_free(request->choice);
    *request = (hu_advice_request){0};
}

/* ---- study ---- */

/* The reductions that a configuration asks for: lists of schedules, formats and
 * scalings, each with each. */

enum { ITEM_BYTES = 128, ITEMS_MOST = 256 };

/* What both kinds of gradient are studied with. */
#define SHARED_KEYS                                                                                \
    "comm.workers", "comm.schedule", "comm.format", "comm.scaling", "comm.rounding", "comm.kahan", \
        "comm.error_feedback", "comm.transport", "comm.timeout", "comm.overlap", "cluster.link",   \
        "cluster.latency", "bench.format", "run.seed", "run.repeat", "run.steps", "run.threads",   \
        "out.file"

static const char *const without_run[] = {SHARED_KEYS,      "comm.rho",       "comm.sigma",
                                          "comm.magnitude", "bench.elements", NULL};
static const char *const with_run[] = {SHARED_KEYS,   "comm.run",  "comm.step", "comm.exact",
                                       "comm.bucket", "data.name", NULL};

/* Words between commas. */
typedef struct word_list {
    char item[ITEMS_MOST][ITEM_BYTES];
    int32_t count;
} word_list;

static hu_status split(const char *key, const char *text, word_list *list) {
    list->count = 0;
    while (*text) {
        const char *end;
        size_t length = hu_list_word_at(&text, &end);
        if (length == 0 || length >= ITEM_BYTES)
            return hu_fail(HU_ERR_PARSE,
                           "key '%s': found a name of %zu characters, expected 1 to %d", key,
                           length, ITEM_BYTES - 1);
        if (list->count == ITEMS_MOST)
            return hu_fail(HU_ERR_LIMIT, "key '%s': expected at most %d names", key, ITEMS_MOST);
        memcpy(list->item[list->count], text, length);
        list->item[list->count++][length] = '\0';
        text = end + (*end == ',');
    }
    if (list->count == 0) return hu_fail(HU_ERR_PARSE, "key '%s': found no name", key);
    return HU_OK;
}

/* The names that a key lists, or those of `usual` where the user left it open. */
static hu_status read_list(hu_config *config, const char *key, const char *usual, word_list *list) {
    const char *text;
    hu_status st = HU_OK;
    HU_TRY(hu_config_set(config, key, usual, "comm"));
    HU_TRY(hu_config_text(config, key, &text));
    HU_TRY(split(key, text, list));
done:
    return st;
}

/* The word format= is that of the benchmarks; comm.format, which trainings read, wins over it. */
static hu_status read_formats(hu_config *config, word_list *list) {
    bool is_word =
        hu_config_given(config, "bench.format") && !hu_config_given(config, "comm.format");
    return read_list(config, is_word ? "bench.format" : "comm.format", "e5m2", list);
}

typedef struct lists {
    word_list schedules, formats, scalings;
} lists;

/* One case, by number in the order of schedules, formats, scalings. */
static hu_status read_case(const lists *names, int32_t number, hu_comm_options *options) {
    hu_status st = HU_OK;
    int32_t scalings = names->scalings.count, formats = names->formats.count;
    const char *schedule = names->schedules.item[number / scalings / formats];
    const char *format = names->formats.item[number / scalings % formats];
    const char *scaling = names->scalings.item[number % scalings];
    HU_TRY(hu_comm_scaling_parse(scaling, &options->scaling, &options->constant));
    if (strcmp(schedule, "auto") == 0) schedule = hu_default_schedule(options->scaling);
    HU_TRY(hu_comm_schedule_parse(schedule, &options->schedule, &options->group));
    HU_TRY(hu_plain_format_parse(options->scaling->code ? "fp32" : format, &options->format));
done:
    return st;
}

static hu_status read_cases(hu_config *config, hu_gradient_study *study) {
    hu_status st = HU_OK;
    hu_comm_options shared = {0};
    lists *names = NULL;
    HU_TRY(HU_NEW(&names));
    HU_TRY(read_list(config, "comm.schedule", "auto", &names->schedules));
    HU_TRY(read_formats(config, &names->formats));
    HU_TRY(read_list(config, "comm.scaling", "aps", &names->scalings));
    HU_TRY(hu_options_rounding(config, &shared));
    int32_t scalings = names->scalings.count, formats = names->formats.count;
    int32_t count = names->schedules.count * formats * scalings;
    HU_TRY(HU_NEW_ARRAY(&study->cases, (size_t)count));
    for (int32_t i = 0; i < count; i++) {
        hu_comm_options *options = &study->cases[study->count].options;
        *options = shared;
        HU_TRY(read_case(names, i, options));
        /* Codes of a scaling's own: once, not once for each format. */
        if (options->scaling->code && i / scalings % formats > 0) continue;
        study->count++;
    }
done:
    hu_free(names);
    return st;
}

/* A count that the user may leave open. */
static hu_status read_count(hu_config *config, const char *key, const char *usual, int32_t *count) {
    hu_status st = HU_OK;
    int64_t value;
    HU_TRY(hu_config_set(config, key, usual, "comm"));
    HU_TRY(hu_config_i64(config, key, &value));
    if (value < 1 || value > INT32_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "key '%s': found %lld, expected 1 to %d", key,
                       (long long)value, INT32_MAX);
    *count = (int32_t)value;
done:
    return st;
}

/* "2^-14" or a number; 0 for what is neither. */
static double magnitude_of(const char *text) {
    bool is_power = strncmp(text, "2^", 2) == 0;
    const char *number = is_power ? text + 2 : text;
    char *end;
    double value = is_power ? (double)strtol(number, &end, 10) : strtod(number, &end);
    if (end == number || *end) return 0.0;
    return is_power ? exp2(value) : value; /* exact at whole numbers */
}

static hu_status read_magnitude(const hu_config *config, double *magnitude) {
    enum { POWER_MOST = 100 }; /* of 2^127: sizes are lognormal */
    hu_status st = HU_OK;
    const char *text;
    HU_TRY(hu_config_text(config, "comm.magnitude", &text));
    *magnitude = magnitude_of(text);
    /* Turned round, so that NaN is out of the range as well. */
    if (!(fabs(log2(*magnitude)) <= POWER_MOST))
        return hu_fail(HU_ERR_ARGUMENT,
                       "key 'comm.magnitude': found '%s', expected a power of two from 2^-%d to "
                       "2^%d, or a number between",
                       text, POWER_MOST, POWER_MOST);
done:
    return st;
}

/* Drawn from a model. */
static hu_status read_model(hu_config *config, hu_synthetic_gradient *gradient) {
    enum { FIRST_CONVOLUTION = 9408 }; /* of ResNet-50, which the paper measured */
    hu_status st = HU_OK;
    HU_TRY(hu_keys_used(config, "comm without run=", without_run));
    HU_TRY(read_count(config, "comm.workers", "8", &gradient->workers));
    HU_TRY(hu_config_i64(config, "bench.elements", &gradient->elements));
    if (gradient->elements == 0) gradient->elements = FIRST_CONVOLUTION;
    HU_TRY(hu_config_f64(config, "comm.rho", &gradient->rho));
    HU_TRY(hu_config_f64(config, "comm.sigma", &gradient->sigma));
    HU_TRY(read_magnitude(config, &gradient->magnitude));
done:
    return st;
}

/* Made by a run. */
static hu_status make_given(hu_config *config, const hu_listener *listener,
                            const volatile sig_atomic_t *stop, hu_comm_study *s) {
    hu_status st = HU_OK;
    int64_t bucket;
    hu_gradients_wanted wanted = {.step = -1, .given = config, .stop = stop};
    const hu_worker_gradients *made = &s->run.made;
    hu_gradient_study *study = &s->study;
    HU_TRY(hu_keys_used(config, "comm with run=", with_run));
    HU_TRY(hu_config_text(config, "comm.run", &wanted.directory));
    HU_TRY(hu_config_text(config, "comm.exact", &wanted.exact));
    if (!hu_config_is_auto(config, "comm.step"))
        HU_TRY(hu_config_i64(config, "comm.step", &wanted.step));
    if (hu_config_given(config, "comm.workers"))
        HU_TRY(read_count(config, "comm.workers", "8", &wanted.workers));
    HU_TRY(saved_gradients_open(&wanted, listener, &s->run));
    HU_TRY(hu_options_bucket(config, made->workers, &bucket));
    snprintf(s->origin, sizeof s->origin, "step %lld of %.200s", (long long)made->step,
             wanted.directory);
    study->given = (hu_gradient_study_given){.gradient = made->gradient,
                                             .layer = made->layer,
                                             .layers = made->layers,
                                             .bucket_bytes = bucket,
                                             .origin = s->origin};
    study->gradient.workers = made->workers;
    for (int32_t l = 0; l < made->layers; l++) study->gradient.elements += made->layer[l].elements;
done:
    return st;
}

static hu_status read_gradients(hu_config *config, const hu_listener *listener,
                                const volatile sig_atomic_t *stop, hu_comm_study *s) {
    hu_status st = HU_OK;
    HU_TRY(hu_config_u64(config, "run.seed", &s->study.gradient.seed));
    if (hu_config_given(config, "comm.run"))
        HU_TRY(make_given(config, listener, stop, s));
    else
        HU_TRY(read_model(config, &s->study.gradient));
done:
    return st;
}

hu_status hu_comm_study_open(hu_config *config, const hu_listener *listener,
                             const volatile sig_atomic_t *stop, hu_comm_study *s) {
    hu_status st = HU_OK;
    const char *rate, *latency;
    hu_gradient_study *study = &s->study;
    *s = (hu_comm_study){.study = {.threads = 1, .stop = stop}};
    HU_TRY(read_count(config, "run.repeat", "1", &study->seeds));
    HU_TRY(read_count(config, "run.steps", "1", &study->reductions));
    HU_TRY(hu_config_text(config, "cluster.link", &rate));
    HU_TRY(hu_config_text(config, "cluster.latency", &latency));
    HU_TRY(hu_comm_link_parse(rate, latency, &study->link));
    HU_TRY(read_cases(config, study));
    HU_TRY(read_gradients(config, listener, stop, s));
done:
    if (st != HU_OK) hu_comm_study_close(s);
    return st;
}

/* All pairs that share the reason of the first. */
static void tell_reason(const hu_gradient_study *study, int32_t first,
                        const hu_listener *listener) {
    char pairs[1024] = "";
    const hu_gradient_study_case *skipped = study->cases + study->count;
    for (int32_t i = first; i < study->skipped; i++) {
        char pair[HU_COMM_PAIR_BYTES];
        if (strcmp(skipped[i].misfit, skipped[first].misfit) != 0) continue;
        hu_comm_pair_print(&skipped[i].options, pair);
        hu_note_add(pairs, sizeof pairs, ", ", "%s", pair);
    }
    hu_listener_tell(listener, "skipped %s: %s", pairs, skipped[first].misfit);
}

void hu_comm_study_tell_skipped(const hu_gradient_study *study, const hu_listener *listener) {
    const hu_gradient_study_case *skipped = study->cases + study->count;
    for (int32_t i = 0; i < study->skipped; i++) {
        bool is_told = false;
        for (int32_t k = 0; k < i && !is_told; k++)
            is_told = strcmp(skipped[k].misfit, skipped[i].misfit) == 0;
        if (!is_told) tell_reason(study, i, listener);
    }
}

void hu_comm_study_close(hu_comm_study *s) {
    hu_gradient_study_free(&s->study);
    saved_gradients_close(&s->run);
}
