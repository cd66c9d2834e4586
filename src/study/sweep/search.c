#include "sweep/search.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "runlog/folder.h"
#include "runlog/history.h"
#include "settings/dataset.h"
#include "settings/options.h"
#include "sweep/jobs.h"
#include "tensor/exponent_histogram.h"
#include "train/trainer.h"

/* ---- sensitivity ---- */

/* ---- assign noise ---- */

/* How far two results may differ by chance alone: seeds, and a finite number of samples. */

/* Diverged trainings tell nothing of the noise. */
static void add(const hu_assign_outcome *made, hu_noise *noise) {
    if (made->is_known && !isnan(made->value)) hu_noise_pool(noise, &made->spread);
}

void hu_assign_pool(hu_assign *assign, int rung) {
    hu_noise noise = {0};
    add(&assign->reference[rung], &noise);
    if (rung == assign->rungs - 1) add(&assign->high, &noise);
    for (uint32_t i = 0; i < assign->count; i++) add(&assign->candidate[i].rung[rung], &noise);
    assign->deviation[rung] = noise.freedom > 0.0 ? sqrt(noise.variance) : (double)NAN;
}

/* A share of so many samples, each right or wrong: binomial. Other metrics have no such bound. */
static double sample_variance(const hu_assign *assign, double value) {
    const double percent = 100.0;
    const hu_chance chance = {0.0, assign->dataset->validation.count};
    if (assign->metric->factor != percent || !(value >= 0.0 && value <= 1.0)) return 0.0;
    double deviation = hu_chance_deviation(&chance, value);
    return deviation * deviation;
}

/* Standard error of a mean over the seeds, in the printed unit: of the seeds, and (for shares) of
 * so many validation samples. */
static double hu_assign_noise(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    double deviation = assign->deviation[rung], seeds = (double)hu_keys_count(assign->seeds);
    double variance = sample_variance(assign, made->value);
    if (!isnan(deviation)) variance += deviation * deviation / seeds;
    return assign->metric->factor * sqrt(variance);
}

double hu_assign_noise_of_two(const hu_assign *assign, int rung, const hu_assign_outcome *a,
                              const hu_assign_outcome *b) {
    return hypot(hu_assign_noise(assign, rung, a), hu_assign_noise(assign, rung, b));
}

/* ---- assign gradients ---- */

/* How far low groups move gradients, and whole updates, from float32's, on fixed batches; and which
 * tensors are promoted there. */

/* A step is made from the first weights of the training, and from where float32 ended. Promotions
 * bring others with them, a few times at most. */
enum { PLACES = 2, ROUNDS = 8 };

/* The scale that gradients begin with, and the factor by which it falls where they overflow. */
static const double FIRST_SCALE = 65536.0, BACKOFF = 0.0625;

/* One step: the gradient of its batch, and what it changes. */
typedef struct step {
    hu_assign_probe probe;
    float *before; /* [trained] the weights that it begins with */
    int64_t trained;
} step;

static void close_step(step *s) {
    hu_free(s->before);
    hu_assign_probe_close(&s->probe);
    *s = (step){0};
}

/* One worker that has the whole batch, in this process, so that the gradient is kept. */
static hu_status take_one_worker(hu_train_options *options) {
    hu_status st = HU_OK;
    options->comm = (hu_train_comm){.options = {.workers = 1}, .formats = "fp32", .exact = ""};
    HU_TRY(hu_comm_schedule_parse("seq", &options->comm.options.schedule,
                                  &options->comm.options.group));
    HU_TRY(hu_comm_scaling_parse("none", &options->comm.options.scaling,
                                 &options->comm.options.constant));
done:
    return st;
}

/* The rate of the training where it is largest: at its ends it may be 0. */
static double largest_rate(const hu_schedule *schedule) {
    double rate = schedule->lr;
    if (schedule->kind != HU_SCHEDULE_PIECEWISE) return rate;
    rate = 0.0;
    for (int k = 0; k < schedule->knot_count; k++) rate = fmax(rate, schedule->knots[k].lr);
    return rate;
}

static hu_status open_step(const hu_assign *assign, const char *plan, double scale, step *s) {
    hu_status st = HU_OK;
    hu_train_options *options = &s->probe.options;
    *s = (step){0};
    HU_TRY(hu_assign_probe_read(assign, plan, 0, 0, &s->probe));
    HU_TRY(take_one_worker(options));
    options->scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_CONSTANT);
    options->scaler.init = (float)scale;
    options->schedule = hu_schedule_constant(largest_rate(&options->schedule));
    HU_TRY(hu_assign_probe_make(assign, &s->probe));
    s->trained = hu_trainer_weights(s->probe.trainer)->trained;
    HU_TRY(HU_NEW_ARRAY(&s->before, (size_t)s->trained));
done:
    if (st != HU_OK) close_step(s);
    return st;
}

/* Expects in candidates what was promoted here. */
static void note_promotions(hu_assign *assign, const step *s, const hu_step_report *report) {
    const hu_graph *graph = hu_trainer_graph(s->probe.trainer);
    for (uint32_t e = 0; e < report->events; e++) {
        if (report->event[e].by != &hu_adaptation_promote) continue;
        hu_value_id v = hu_graph_find(assign->graph, graph->value[report->event[e].value].name);
        if (v != HU_NONE) hu_search_promote(&assign->groups, v);
    }
}

/* The first step from where another training stands, once nothing more is promoted in it.
 * HU_ERR_NONFINITE: an overflow under this scale. */
static hu_status make_step(hu_assign *assign, const hu_trainer *from, bool notes, step *s) {
    hu_status st = HU_OK;
    hu_step_report report;
    hu_trainer *trainer = s->probe.trainer;
    const float *weights = hu_trainer_weights(trainer)->block;
    for (int round = 0; round < ROUNDS; round++) {
        HU_TRY(hu_assign_check_stop(assign));
        uint32_t promoted = hu_trainer_promoted(trainer);
        HU_TRY(hu_trainer_begin_at(trainer, from));
        memcpy(s->before, weights, (size_t)s->trained * sizeof *weights);
        st = hu_trainer_step(trainer, &report);
        if (notes) note_promotions(assign, s, &report);
        HU_TRY(st);
        if (hu_trainer_promoted(trainer) == promoted) break;
    }
    if (report.skipped) HU_TRY(hu_fail(HU_ERR_NONFINITE, "%s", report.culprit));
done:
    return st;
}

/* How far one step is from another. */
typedef struct errors {
    double gradient, direction; /* (|a - b| / |b|)^2 in the L1 norm */
    double cosine;              /* of the angle between the two updates */
} errors;

static double squared(double off, double all) {
    return all > 0.0 ? off / all * (off / all) : 0.0;
}

static errors compare(const step *a, const step *b) {
    const float *ga = hu_trainer_gradient(a->probe.trainer);
    const float *gb = hu_trainer_gradient(b->probe.trainer);
    const float *wa = hu_trainer_weights(a->probe.trainer)->block;
    const float *wb = hu_trainer_weights(b->probe.trainer)->block;
    double g_off = 0.0, g_all = 0.0, u_off = 0.0, u_all = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
    for (int64_t i = 0; i < a->trained; i++) {
        double x = (double)wa[i] - (double)a->before[i], y = (double)wb[i] - (double)b->before[i];
        g_off += fabs((double)ga[i] - (double)gb[i]);
        g_all += fabs((double)gb[i]);
        u_off += fabs(x - y);
        u_all += fabs(y);
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    return (errors){.gradient = squared(g_off, g_all),
                    .direction = squared(u_off, u_all),
                    .cosine = aa > 0.0 && bb > 0.0 ? ab / sqrt(aa * bb) : 0.0};
}

/* Where the measurement stands. */
typedef struct place {
    const hu_trainer *from;
    double scale;
    step plain;  /* float32 */
    errors high; /* of everything high */
} place;

/* Errors of a set of low groups against float32. */
static hu_status measure(hu_assign *assign, const place *at, const bool *low, bool notes,
                         errors *found) {
    hu_status st = HU_OK;
    char path[660];
    step s = {0};
    snprintf(path, sizeof path, "%s/plans/probe.yaml", assign->directory);
    HU_TRY(hu_assign_write_plan(assign, low, path, NULL));
    HU_TRY(open_step(assign, path, at->scale, &s));
    HU_TRY(make_step(assign, at->from, notes, &s));
    *found = compare(&s, &at->plain);
done:
    close_step(&s);
    remove(path);
    return st;
}

/* The largest scale at which nothing overflows with every group low; 1 where there is none. */
static hu_status find_scale(hu_assign *assign, place *at, bool *low) {
    hu_status st = HU_OK;
    errors ignored;
    memset(low, true, assign->groups.tensors.count);
    for (at->scale = FIRST_SCALE; at->scale >= 1.0; at->scale *= BACKOFF) {
        close_step(&at->plain);
        HU_TRY(open_step(assign, NULL, at->scale, &at->plain));
        HU_TRY(make_step(assign, at->from, false, &at->plain));
        st = measure(assign, at, low, false, &ignored);
        if (st != HU_ERR_NONFINITE) return st;
    }
    at->scale = 1.0;
    return HU_OK;
done:
    return st;
}

/* A group whose gradient overflows all the same loses all of it. */
static hu_status add_group(hu_assign *assign, const place *at, uint32_t group, bool *low) {
    errors found;
    hu_search_groups *groups = &assign->groups;
    memset(low, false, groups->tensors.count);
    low[group] = true;
    hu_status st = measure(assign, at, low, true, &found);
    if (st == HU_ERR_NONFINITE) found = (errors){1.0, 1.0, 0.0};
    if (st != HU_OK && st != HU_ERR_NONFINITE) return st;
    groups->loss[group] += fmax(found.gradient - at->high.gradient, 0.0) / PLACES;
    groups->direction[group] += fmax(found.direction - at->high.direction, 0.0) / PLACES;
    assign->cosine[group] += found.cosine / PLACES;
    return HU_OK;
}

static hu_status measure_place(hu_assign *assign, const hu_trainer *from, bool *low) {
    hu_status st = HU_OK;
    place at = {.from = from};
    HU_TRY(find_scale(assign, &at, low));
    assign->scale = at.scale;
    st = measure(assign, &at, NULL, false, &at.high);
    if (st == HU_ERR_NONFINITE) st = HU_OK;
    HU_TRY(st);
    assign->high_cosine += at.high.cosine / PLACES;
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        HU_TRY(add_group(assign, &at, g, low));
done:
    close_step(&at.plain);
    return st;
}

/* groups.loss: how far every group moves gradients from float32's. One group is low, the others are
 * high; a fixed batch at the first weights and one where float32 ended, with its optimizer state;
 * the mean of (|g - g32| / |g32|)^2 in the L1 norm, less what everything high has.
 * groups.direction: the same of what the step changes in the weights, at the largest learning rate;
 * cosine: of the angle between the two. What is promoted there is promoted before it is measured,
 * and expected. Formats of every kind are measured, not modelled. Source: Lee et al.'s code (errors
 * of gradient and step direction on fixed minibatches). */
static hu_status hu_assign_measure_gradients(hu_assign *assign) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_saved_run ended = {0};
    hu_assign_probe first = {0};
    bool *low = NULL;
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "gradients and updates of %u groups, each low alone, beside float32's\n",
                assign->groups.tensors.count);
    HU_TRY(HU_NEW_ARRAY(&low, assign->groups.tensors.count));
    HU_TRY(hu_assign_probe_read(assign, NULL, 0, 0, &first));
    HU_TRY(hu_assign_probe_make(assign, &first));
    HU_TRY(measure_place(assign, first.trainer, low));
    hu_assign_probe_close(&first);
    HU_TRY(hu_assign_open_ended(assign, 0, &config, &ended));
    HU_TRY(measure_place(assign, ended.trainer, low));
done:
    hu_assign_probe_close(&first);
    hu_saved_run_close(&ended);
    hu_config_free(config);
    hu_free(low);
    return st;
}

/* ---- assign rounding ---- */

/* What groups would lose in the low formats, and what would be promoted, as the exponent histograms
 * of the float32 run tell it. */

/* A tensor of a histogram: its value, and whether it is the gradient. HU_NONE: none of the graph.
 */
static hu_value_id find_tensor(const hu_graph *graph, const char *name, bool *is_gradient) {
    static const char suffix[] = ".grad";
    char plain[HU_NAME_BYTES];
    size_t length = strlen(name), end = sizeof suffix - 1;
    *is_gradient = length > end && strcmp(name + length - end, suffix) == 0;
    if (*is_gradient) length -= end;
    if (length >= sizeof plain) return HU_NONE;
    memcpy(plain, name, length);
    plain[length] = '\0';
    return hu_graph_find(graph, plain);
}

static hu_role role_of(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    if (assign->graph->value[v].role == HU_VALUE_PARAMETER)
        return is_gradient ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_WEIGHT;
    return is_gradient ? HU_ROLE_ACT_GRAD : HU_ROLE_ACT;
}

/* The low format of a tensor; NULL: it is never low. */
static const hu_quantizer *low_of(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    const hu_quantizer *low = &assign->precision.low[role_of(assign, v, is_gradient)];
    return hu_quantizer_rounds(low) ? low : NULL;
}

/* The format that a tensor of a low group has in the end. */
static const hu_quantizer *ends_in(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    if (!is_gradient && assign->groups.is_promoted[v])
        return &assign->precision.high[role_of(assign, v, false)];
    return low_of(assign, v, is_gradient);
}

/* The histogram of a tensor that may be low, in some step. */
typedef struct seen {
    const hu_exponents *exponents;
    hu_value_id v;
    bool is_gradient;
    const hu_quantizer *low;
} seen;

/* Calls visit for all of them, step by step. */
static void each_seen(hu_assign *assign, const hu_history *history,
                      void (*visit)(hu_assign *assign, const seen *tensor, void *context),
                      void *context) {
    for (size_t h = 0; h < history->histogram_count; h++)
        for (uint32_t t = 0; t < history->histograms[h].count; t++) {
            const hu_tensor_exponents *x = &history->histograms[h].tensor[t];
            seen tensor = {.exponents = &x->exponents};
            tensor.v =
                find_tensor(assign->graph, history->tensors.name[x->tensor], &tensor.is_gradient);
            if (tensor.v == HU_NONE) continue;
            tensor.low = low_of(assign, tensor.v, tensor.is_gradient);
            if (tensor.low) visit(assign, &tensor, context);
        }
}

/* Forward tensors of which so much lay beyond their low format in some step are expected to be
 * promoted. A scale that follows the tensor leaves nothing beyond. */
static void expect_promotion(hu_assign *assign, const seen *tensor, void *unused) {
    const hu_quantizer *low = tensor->low;
    (void)unused;
    if (tensor->is_gradient || low->kind != HU_QUANTIZER_FLOAT || low->history > 0 ||
        hu_quantizer_needs_maximum(low))
        return;
    double share = hu_exponents_lost(tensor->exponents, &low->format, 0).overflow.share;
    if (share > 0.0 && share >= assign->precision.promote_at)
        hu_search_promote(&assign->groups, tensor->v);
}

/* shift: the largest power of two under which no gradient seen so far overflows its low format. */
static void lower_shift(hu_assign *assign, const seen *tensor, void *shift) {
    int32_t top = hu_exponents_top(tensor->exponents), *least = shift;
    (void)assign;
    if (!tensor->is_gradient || tensor->low->kind != HU_QUANTIZER_FLOAT || top == HU_NO_EXPONENT)
        return;
    int32_t here = hu_exponents_scale(top, &tensor->low->format) - 1;
    if (here < *least) *least = here;
}

/* The largest error of each tensor over the steps. */
typedef struct rounding_errors {
    int32_t shift; /* of gradients */
    double *worst; /* [2 * value_count]: forward, gradient */
} rounding_errors;

static void take_error(hu_assign *assign, const seen *tensor, void *context) {
    const rounding_errors *e = context;
    double *here = &e->worst[2 * tensor->v + tensor->is_gradient];
    double error =
        hu_rounding_error(tensor->exponents, ends_in(assign, tensor->v, tensor->is_gradient),
                          tensor->is_gradient ? e->shift : 0);
    *here = fmax(*here, error);
}

/* Weighted by the elements of each tensor. */
static void add_errors(hu_assign *assign, const double *worst) {
    const hu_graph *graph = assign->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        uint32_t g = assign->groups.tensors.of_value[v];
        if (g == HU_NONE) continue;
        double elements = (double)hu_tensor_elements(&graph->value[v], assign->batch);
        assign->groups.rounding[g] += (worst[2 * v] + worst[2 * v + 1]) * elements /
                                      (double)assign->groups.tensors.elements[g];
    }
}

/* groups.rounding: what every group would lose in the low formats by the exponent histograms of the
 * float32 run: squared rounding errors over squares, of range and mantissa, mean over its elements,
 * the worst of the steps. Gradients are taken with the largest loss scale under which none of them
 * overflows its low format. A forward tensor that would be promoted by one of these histograms
 * counts as it is in the high format, and is expected to be promoted. */
static hu_status hu_assign_measure_rounding(hu_assign *assign) {
    hu_status st = HU_OK;
    char folder[1024];
    hu_history *history = NULL;
    rounding_errors e = {.shift = INT32_MAX};
    size_t values = 2 * (size_t)assign->graph->value_count;
    hu_assign_folder(assign, "fp32", assign->rungs - 1, 0, folder, sizeof folder);
    HU_TRY(hu_history_read_some(folder, &history));
    HU_TRY(HU_NEW_ARRAY(&e.worst, values));
    each_seen(assign, history, expect_promotion, NULL);
    each_seen(assign, history, lower_shift, &e.shift);
    if (e.shift == INT32_MAX) e.shift = 0;
    each_seen(assign, history, take_error, &e);
    add_errors(assign, e.worst);
done:
    hu_history_free(history);
    hu_free(e.worst);
    return st;
}

/* ---- search ---- */

static hu_status assign_check_budget(const hu_assign *assign);
static hu_status assign_read_budget(hu_assign *assign);

/* ---- assign setup ---- */

/* A search read from the configuration, its steps in order, and its end. */

/* Where the user says nothing: a tenth of the training samples, and two seeds, so that there is a
 * spread. */
#define USUAL_VALIDATION "0.1"
#define USUAL_SEEDS "1,2"

/* Samples to choose on; trainings read no others. */
static hu_status read_parts(hu_assign *assign) {
    hu_status st = HU_OK;
    double held;
    const char *text;
    if (hu_config_given(assign->config, "eval.part"))
        return hu_fail(HU_ERR_ARGUMENT, "assign: found eval.part; it chooses on the validation "
                                        "samples and reads the test samples once");
    if (!hu_config_given(assign->config, "data.validation"))
        HU_TRY(hu_config_set(assign->config, "data.validation", USUAL_VALIDATION, "assign"));
    HU_TRY(hu_config_f64(assign->config, "data.validation", &held));
    HU_TRY(hu_config_text(assign->config, "data.validation", &text));
    if (held == 0.0)
        return hu_fail(HU_ERR_ARGUMENT, "assign: found data.validation=0, expected samples to "
                                        "choose on, as a share or a number");
    HU_TRY(hu_keys_set_text(assign->common, "data.validation", text, "assign"));
    HU_TRY(hu_keys_set_text(assign->common, "eval.part", "validation", "assign"));
done:
    return st;
}

/* The training as it would be with everything high: its graph, batch and length. */
static hu_status read_training(hu_assign *assign, const hu_listener *listener) {
    hu_status st = HU_OK;
    hu_train_options options;
    hu_task_choice choice;
    hu_config *copy = NULL;
    HU_TRY(hu_options_copy(assign->config, &copy));
    HU_TRY(hu_config_set(copy, "precision.name", "high", "assign"));
    HU_TRY(hu_config_set(copy, "data.validation", USUAL_VALIDATION, "assign"));
    HU_TRY(hu_session_dataset(copy, listener, &assign->dataset));
    HU_TRY(hu_options_train(copy, assign->dataset, &assign->precision, &options));
    HU_TRY(hu_train_network(&options, assign->dataset, &choice, &assign->graph));
    assign->metric = choice.task->metric[0];
    assign->batch = options.batch;
    assign->steps = options.steps;
    HU_TRY(
        hu_search_groups_create(&assign->precision, assign->graph, assign->batch, &assign->groups));
    HU_TRY(HU_NEW_ARRAY(&assign->cosine, assign->groups.tensors.count));
    HU_TRY(HU_NEW_ARRAY(&assign->short_runs.cost, assign->groups.tensors.count));
done:
    hu_config_free(copy);
    return st;
}

/* Everything that can be wrong with the command is found before the first training. */
hu_status hu_assign_read(hu_assign *assign, const hu_listener *listener) {
    hu_status st = HU_OK;
    int64_t rungs;
    char plans[640];
    const hu_keys *network;
    hu_config *config = assign->config;
    if (hu_config_given(config, "precision.name") || hu_config_given(config, "precision.epochs"))
        return hu_fail(HU_ERR_ARGUMENT,
                       "assign: found a precision, which is what it looks for; precision.high and "
                       "precision.low say between which formats");
    HU_TRY(hu_config_network(config, &network)); /* one text for all that it trains */
    HU_TRY(hu_config_i64(config, "assign.rungs", &rungs));
    assign->rungs = (int)rungs;
    HU_TRY(hu_config_i64(config, "assign.random", &assign->random_orders));
    if (!hu_config_given(config, "compare.seeds"))
        HU_TRY(hu_config_set(config, "compare.seeds", USUAL_SEEDS, "assign"));
    HU_TRY(hu_jobs_seeds(config, "assign", &assign->seeds));
    HU_TRY(hu_jobs_common(config, "assign", &assign->common));
    HU_TRY(read_parts(assign));
    HU_TRY(read_training(assign, listener));
    HU_TRY(assign_read_budget(assign));
    if (assign->steps >> (assign->rungs - 1) < 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "assign: found %lld steps, expected at least %d for assign.rungs=%d",
                       (long long)assign->steps, 1 << (assign->rungs - 1), assign->rungs);
    HU_TRY(hu_jobs_directory(config, assign->common, "assign", assign->directory,
                             sizeof assign->directory));
    HU_TRY(hu_jobs_options(config, assign->directory, assign->common, &assign->jobs));
    snprintf(plans, sizeof plans, "%s/plans", assign->directory);
    HU_TRY(hu_directory_create(assign->directory));
    HU_TRY(hu_directory_create(plans));
    HU_TRY(hu_run_folder_check_owned(assign->directory));
done:
    return st;
}

/* References, what groups would lose, sets of groups, the race, the test: each step needs the one
 * before. */
hu_status hu_assign_search(hu_assign *assign, hu_assign_choice *choice) {
    hu_status st = HU_OK;
    assign->progress =
        (hu_job_progress){.is_quiet = assign->jobs.is_quiet, .parallel = assign->jobs.parallel};
    assign->jobs.progress = &assign->progress;
    HU_TRY(hu_job_progress_open(assign->directory, "assign", 0, 0, &assign->progress));
    HU_TRY(hu_assign_plan_size(assign, NULL, false, &assign->plain_size));
    HU_TRY(assign_check_budget(assign));
    HU_TRY(hu_assign_train_references(assign));
    if (assign->kind == HU_BUDGET_METRIC || !hu_assign_high_fits(assign)) {
        HU_TRY(hu_assign_measure_rounding(assign));
        HU_TRY(hu_assign_measure_gradients(assign));
        HU_TRY(hu_assign_measure_short_runs(assign));
        HU_TRY(hu_assign_make_candidates(assign));
    }
    HU_TRY(hu_assign_race(assign, choice));
    HU_TRY(hu_assign_read_test(assign, choice));
done:
    st = hu_job_progress_end(&assign->progress, st);
    hu_job_progress_close(&assign->progress);
    return st;
}

void hu_assign_free(hu_assign *assign) {
    for (uint32_t i = 0; i < assign->count; i++) hu_free(assign->candidate[i].low);
    hu_free(assign->candidate);
    hu_free(assign->cosine);
    hu_free(assign->short_runs.cost);
    hu_dataset_close(assign->dataset);
    hu_search_groups_free(&assign->groups);
    hu_graph_free(assign->graph);
    hu_precision_free(&assign->precision);
    hu_keys_free(assign->seeds);
    hu_keys_free(assign->common);
}

/* ---- assign budget ---- */

/* The budget of a search: how it is written, what it counts, who keeps it. */

static bool is_word(const char *text, const char *word, size_t length) {
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

static bool is_percent(const hu_metric *metric) {
    const double percent = 100.0;
    return metric->factor == percent;
}

/* What is counted, by the word in front of the colon. */
static const struct {
    const char *name, *words;
} sizes[] = {[HU_BUDGET_MEMORY] = {"memory", "bits of all tensors"},
             [HU_BUDGET_SAVED] = {"saved", "bytes that wait for the backward pass"},
             [HU_BUDGET_TOTAL] = {"total", "all bytes of the ledger"}};

/* Is the budget of the metric? "metric" or its name; "accuracy" says percentage points. */
static bool is_of_metric(const hu_metric *metric, const char *text, size_t length) {
    return is_word(text, "metric", length) || is_word(text, metric->name, length) ||
           (is_percent(metric) && is_word(text, "accuracy", length));
}

static hu_status unknown_budget(const hu_metric *metric, const char *text) {
    char words[HU_METRIC_TEXT_BYTES], point[HU_DECIMAL_BYTES];
    const char *number = text + strcspn(text, ":");
    if (*number && hu_decimal_has_comma(number + 1, point))
        return hu_fail(HU_ERR_ARGUMENT, "budget: found '%s', expected a number with a point: %s",
                       text, point);
    return hu_fail(HU_ERR_ARGUMENT,
                   "budget: found '%s', expected memory:S, saved:S or total:S with S within 0..1 "
                   "(share of float32's bits, of its bytes that wait for the backward pass, of all "
                   "its bytes) or metric:-P (at most P%s of %s worse than float32)",
                   text, metric->unit, hu_metric_words(metric, words));
}

/* "memory:0.35", "saved:0.3", "total:0.5", "metric:-0.5" or "accuracy:-1.0". */
static hu_status assign_read_budget(hu_assign *assign) {
    const char *text;
    char *end;
    bool is_known = false;
    hu_status st = hu_config_text(assign->config, "assign.budget", &text);
    if (st != HU_OK) return st;
    size_t length = strcspn(text, ":");
    for (int k = HU_BUDGET_MEMORY; k <= HU_BUDGET_TOTAL; k++)
        if (is_word(text, sizes[k].name, length)) {
            assign->kind = (hu_budget_kind)k;
            is_known = true;
        }
    is_known = is_known || is_of_metric(assign->metric, text, length);
    if (!is_known || !text[length] || !text[length + 1])
        return unknown_budget(assign->metric, text);
    assign->budget = strtod(text + length + 1, &end);
    /* A share cannot be worse by more than the whole. */
    double least = is_percent(assign->metric) ? -100.0 : -DBL_MAX;
    bool is_in_range = assign->kind == HU_BUDGET_METRIC
                           ? assign->budget <= 0.0 && assign->budget >= least
                           : assign->budget > 0.0 && assign->budget <= 1.0;
    return *end == '\0' && is_in_range ? HU_OK : unknown_budget(assign->metric, text);
}

const char *hu_budget_name(const hu_assign *assign) {
    return assign->kind == HU_BUDGET_METRIC ? assign->metric->name : sizes[assign->kind].name;
}

/* A metric is kept with as few bits as possible. */
const char *hu_budget_words(const hu_assign *assign) {
    return sizes[assign->kind == HU_BUDGET_METRIC ? HU_BUDGET_MEMORY : assign->kind].words;
}

double hu_assign_share(const hu_assign *assign, double bits) {
    return bits / (double)assign->groups.all_plain;
}

double hu_assign_size_of(const hu_assign *assign, const json_t *result) {
    const json_t *ledger = json_object_get(result, "ledger_bytes");
    if (assign->kind == HU_BUDGET_SAVED) return hu_json_real(ledger, "saved") / assign->plain_size;
    if (assign->kind == HU_BUDGET_TOTAL) return hu_json_real(ledger, "total") / assign->plain_size;
    return hu_assign_share(assign, hu_json_real(result, "model_aggregate_bits"));
}

/* Promotes what is expected to be promoted out of low groups. */
static hu_status promote_expected(const hu_assign *assign, const bool *low, hu_trainer *trainer) {
    const hu_graph *graph = hu_trainer_graph(trainer);
    hu_value_id *value = NULL;
    uint32_t count = 0;
    hu_status st = HU_NEW_ARRAY(&value, assign->graph->value_count);
    for (hu_value_id v = 0; st == HU_OK && v < assign->graph->value_count; v++) {
        if (!assign->groups.is_promoted[v] || !low[assign->groups.tensors.of_value[v]]) continue;
        value[count] = hu_graph_find(graph, assign->graph->value[v].name);
        count += value[count] != HU_NONE;
    }
    if (st == HU_OK && count > 0) st = hu_trainer_promote(trainer, value, count);
    hu_free(value);
    return st;
}

/* The ledger of a training that is planned and not begun. promoted_of: low groups whose expected
 * promotions are counted, or NULL. */
static hu_status plan_ledger(const hu_assign *assign, const char *plan_path,
                             const bool *promoted_of, hu_ledger *ledger) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_precision precision = {0};
    hu_trainer *trainer = NULL;
    hu_train_options options;
    HU_TRY(hu_assign_config(assign, plan_path, &config));
    HU_TRY(hu_options_train(config, assign->dataset, &precision, &options));
    HU_TRY(hu_trainer_create(&options, assign->dataset, &trainer));
    if (promoted_of) HU_TRY(promote_expected(assign, promoted_of, trainer));
    *ledger = hu_trainer_ledger(trainer);
done:
    hu_trainer_free(trainer);
    hu_precision_free(&precision);
    hu_config_free(config);
    return st;
}

hu_status hu_assign_plan_size(const hu_assign *assign, const bool *low, bool promotes,
                              double *size) {
    hu_status st = HU_OK;
    hu_ledger ledger;
    char path[660];
    const hu_search_groups *groups = &assign->groups;
    bool is_ledger = assign->kind == HU_BUDGET_SAVED || assign->kind == HU_BUDGET_TOTAL;
    if (!is_ledger) {
        *size = low ? hu_assign_share(assign, (double)hu_search_bits(groups, low, promotes))
                    : (double)groups->all_plain;
        return HU_OK;
    }
    snprintf(path, sizeof path, "%s/plans/size.yaml", assign->directory);
    if (low) HU_TRY(hu_assign_write_plan(assign, low, path, NULL));
    HU_TRY(plan_ledger(assign, low ? path : NULL, promotes ? low : NULL, &ledger));
    *size = (double)(assign->kind == HU_BUDGET_SAVED ? ledger.saved : ledger.total);
    if (low) *size /= assign->plain_size;
    if (low) remove(path);
done:
    return st;
}

double hu_assign_gain(const hu_assign *assign, double value, double other) {
    const hu_metric *metric = assign->metric;
    return metric->factor * (metric->higher_is_better ? value - other : other - value);
}

bool hu_assign_fits(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    const double slack = 1e-9;
    if (!made->is_known || isnan(made->value)) return false;
    if (assign->kind != HU_BUDGET_METRIC) return made->size <= assign->budget + slack;
    double gain = hu_assign_gain(assign, made->value, assign->reference[rung].value);
    return gain >= assign->budget - slack;
}

/* HU_ERR_ARGUMENT: a size that no set of groups meets; the message has the minimum. */
static hu_status assign_check_budget(const hu_assign *assign) {
    enum { ROUND = 10000 };
    const double slack = 1e-9;
    bool *low = NULL;
    double least;
    hu_status st = HU_OK;
    if (assign->kind == HU_BUDGET_METRIC) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&low, assign->groups.tensors.count));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        low[g] = assign->groups.saved[g] > 0;
    HU_TRY(hu_assign_plan_size(assign, low, false, &least));
    if (least > assign->budget + slack)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "budget: found %s:%g, expected at least %.4f: the share of float32's %s "
                       "that is left with every group low",
                       hu_budget_name(assign), assign->budget, ceil(ROUND * least) / ROUND,
                       hu_budget_words(assign)));
done:
    hu_free(low);
    return st;
}
