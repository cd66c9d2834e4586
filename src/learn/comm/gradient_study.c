#include "comm/gradient_study.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "comm/plan.h"
#include "kernel/elementary/elementary.h"

/* ---- synthetic ---- */

/* Gradients of many workers drawn from a model, to study reductions with.
 *
 *   s[i]    = e^(sigma N)              lognormal size of element i, the same for all workers
 *   mean[i] = rho s[i] N               what the workers agree upon
 *   g[w][i] = (mean[i] + s[i] N) / p   gradient of worker w of p, whose sum is the mean gradient
 *
 * all times a magnitude: real gradients are far smaller than 1. N are independent standard normal
 * numbers. rho is what a gradient tells of the mean: small batches have a small one. The bits
 * depend on the model alone, not on machine or thread.
 */

static void draw(const hu_synthetic_gradient *model, const char *what, uint64_t worker, float *x) {
    hu_random_key key = {model->seed, hu_stream_id("gradient", what), worker};
    hu_draw_normals(&key, 0, (size_t)model->elements, x);
}

void hu_synthetic_gradient_shared(const hu_synthetic_gradient *model, float *size, float *mean) {
    draw(model, "size", 0, size);
    draw(model, "mean", 0, mean);
    for (int64_t i = 0; i < model->elements; i++) {
        size[i] = (float)hu_exp(model->sigma * (double)size[i]);
        mean[i] = (float)(model->rho * (double)size[i] * (double)mean[i]);
    }
}

void hu_synthetic_gradient_worker(const hu_synthetic_gradient *model, const float *size,
                                  const float *mean, int32_t worker, float *gradient) {
    draw(model, "noise", (uint64_t)worker, gradient);
    /* In double, so that a gradient is rounded once. */
    for (int64_t i = 0; i < model->elements; i++) {
        double sum = (double)mean[i] + (double)size[i] * (double)gradient[i];
        gradient[i] = (float)(sum / (double)model->workers * model->magnitude);
    }
}

/* ---- How far a reduced gradient is from the exact sum ---- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hu_comm_median(int64_t n, double *x) {
    if (n == 0) return 0.0;
    qsort(x, (size_t)n, sizeof *x, ascending);
    /* Not their sum halved: two infinities are no NaN, and none of them overflows. */
    double low = x[(n - 1) / 2], high = x[n / 2];
    return low == high ? low : low / 2.0 + high / 2.0;
}

hu_status hu_gradient_error_of(int64_t n, const double *exact, const double *sum,
                               hu_gradient_error *error) {
    double *quotient, lost = 0.0, whole = 0.0, total = 0.0;
    int64_t used = 0, zeros = 0;
    *error = (hu_gradient_error){0};
    hu_status st = HU_NEW_ARRAY(&quotient, (size_t)n);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < n; i++) {
        bool is_finite = isfinite(sum[i]);
        /* NaN counts as infinitely wrong: it would hide in a sum and has no place in an order. */
        double difference = is_finite ? fabs(exact[i] - sum[i]) : (double)INFINITY;
        error->nonfinite += !is_finite;
        error->excluded += exact[i] == 0.0;
        lost += difference * difference;
        whole += exact[i] * exact[i];
        if (exact[i] == 0.0) continue;
        quotient[used] = difference / fabs(exact[i]);
        total += quotient[used++];
        zeros += sum[i] == 0.0;
    }
    if (used > 0) {
        error->eq5_mean = total / (double)used;
        error->relative_l2 = sqrt(lost / whole);
        error->zeros = (double)zeros / (double)used;
        error->median = hu_comm_median(used, quotient);
    }
    hu_free(quotient);
    return HU_OK;
}

/* ---- study ---- */

/* Reductions of one kind of gradient, drawn or given, in many formats and schedules:
 * errors, traffic and predicted time of each.
 */

/* Arrays of one seed. */
typedef struct bench {
    const hu_gradient_study *study;
    size_t n, workers;
    size_t first, here; /* workers of this process */
    float *size, *mean; /* [n] of the model */
    float *drawn;       /* [workers][n] gradients, NULL where they are given */
    const float **own;  /* [workers] of drawn, or given */
    float *reduced;     /* [here][n] the same, replaced by their sum */
    float **row;        /* [here] of reduced */
    double *exact;      /* [n] sums in double precision, as often as there are reductions */
    double *sum;        /* [n] of all results */
} bench;

/* What drawing needs. */
static hu_status make_drawn(bench *b) {
    hu_status st = HU_OK;
    HU_TRY(HU_NEW_ARRAY(&b->size, b->n));
    HU_TRY(HU_NEW_ARRAY(&b->mean, b->n));
    HU_TRY(hu_new_array(b->workers, b->n * sizeof *b->drawn, &b->drawn));
done:
    return st;
}

static hu_status open_bench(const hu_gradient_study *study, bench *b) {
    hu_status st = HU_OK;
    *b = (bench){.study = study,
                 .n = (size_t)study->gradient.elements,
                 .workers = (size_t)study->gradient.workers,
                 .first = study->join ? (size_t)study->first : 0,
                 .here = study->join ? 1 : (size_t)study->gradient.workers};
    HU_TRY(HU_NEW_ARRAY(&b->own, b->workers));
    if (!study->given.gradient) HU_TRY(make_drawn(b));
    for (size_t w = 0; w < b->workers; w++)
        b->own[w] = b->drawn ? b->drawn + w * b->n : study->given.gradient[w];
    HU_TRY(hu_new_array(b->here, b->n * sizeof *b->reduced, &b->reduced));
    HU_TRY(HU_NEW_ARRAY(&b->row, b->here));
    HU_TRY(HU_NEW_ARRAY(&b->exact, b->n));
    HU_TRY(HU_NEW_ARRAY(&b->sum, b->n));
    for (size_t w = 0; w < b->here; w++) b->row[w] = b->reduced + w * b->n;
done:
    return st;
}

static void close_bench(bench *b) {
    hu_free(b->size);
    hu_free(b->mean);
    hu_free(b->drawn);
    hu_free(b->own);
    hu_free(b->reduced);
    hu_free(b->row);
    hu_free(b->exact);
    hu_free(b->sum);
}

static void draw_gradients(bench *b, int32_t seed) {
    hu_synthetic_gradient model = b->study->gradient;
    model.seed += (uint64_t)seed;
    hu_synthetic_gradient_shared(&model, b->size, b->mean);
#pragma omp parallel for num_threads(b->study->threads) schedule(static)
    for (size_t w = 0; w < b->workers; w++)
        hu_synthetic_gradient_worker(&model, b->size, b->mean, (int32_t)w, b->drawn + w * b->n);
}

/* The gradients of a seed, and what their sum is. Given ones are the same for all seeds, which then
 * are those of stochastic rounding. */
static void begin_seed(bench *b, int32_t seed) {
    if (b->drawn) draw_gradients(b, seed);
    for (size_t i = 0; i < b->n; i++) {
        double sum = 0.0;
        for (size_t w = 0; w < b->workers; w++) sum += (double)b->own[w][i];
        b->exact[i] = sum * (double)b->study->reductions;
    }
}

static hu_status meet(bench *b, const hu_comm_plan *plan, hu_process_group **team) {
    const hu_gradient_study *study = b->study;
    if (study->join) return study->join(study->context, plan, b->row, team);
    return hu_process_group_emulated(plan, b->row, study->threads, team);
}

/* All reductions of one case with one seed. */
static hu_status reduce(bench *b, const hu_comm_plan *plan, hu_gradient_study_outcome *outcome) {
    hu_process_group *team = NULL;
    hu_status st = HU_OK;
    memset(b->sum, 0, b->n * sizeof *b->sum);
    HU_TRY(meet(b, plan, &team));
    for (int32_t step = 0; step < b->study->reductions; step++) {
        for (size_t w = 0; w < b->here; w++)
            memcpy(b->row[w], b->own[b->first + w], b->n * sizeof *b->reduced);
        HU_TRY(hu_process_group_reduce(team, (uint64_t)step));
        for (size_t i = 0; i < b->n; i++) b->sum[i] += (double)b->reduced[i];
        outcome->hash = XXH64(b->reduced, b->n * sizeof *b->reduced, outcome->hash);
    }
done:
    hu_process_group_free(team);
    return st;
}

/* The layers of given gradients, or the one that stands for a drawn one, and their plan. */
static hu_status make_plan(const hu_gradient_study *study, const hu_gradient_study_case *c,
                           int32_t seed, hu_comm_plan **plan) {
    const hu_comm_layer layer = {.name = "gradient", .elements = study->gradient.elements};
    hu_comm_options options = c->options;
    options.workers = study->gradient.workers;
    options.seed = study->gradient.seed + (uint64_t)seed;
    options.bucket_bytes = 1;
    if (study->given.gradient) {
        options.bucket_bytes = study->given.bucket_bytes;
        return hu_comm_plan_create(&options, study->given.layer, study->given.layers, plan);
    }
    return hu_comm_plan_create(&options, &layer, 1, plan);
}

void hu_comm_pair_print(const hu_comm_options *options, char *text) {
    char schedule[32], scaling[32];
    hu_comm_schedule_print(options->schedule, options->group, schedule, sizeof schedule);
    hu_comm_scaling_print(options->scaling, options->constant, scaling, sizeof scaling);
    snprintf(text, HU_COMM_PAIR_BYTES, "%s with %s%s", schedule, scaling,
             options->kahan ? " and kahan" : "");
}

/* Keeps why options do not fit: the message without its head, which names one of them only. */
static void keep_misfit(hu_gradient_study_case *c) {
    const char *text = hu_last_error(), *behind_head = strstr(text, ": ");
    snprintf(c->misfit, sizeof c->misfit, "%s", behind_head ? behind_head + 2 : text);
}

/* What does not depend on numbers, or that the options do not fit each other. */
static hu_status foresee(const hu_gradient_study *study, hu_gradient_study_case *c) {
    hu_comm_plan *plan = NULL;
    c->outcome = (hu_gradient_study_outcome){.flush_workers = hu_comm_flush_workers(&c->options)};
    c->misfit[0] = '\0';
    hu_status st = make_plan(study, c, 0, &plan);
    if (st == HU_ERR_ARGUMENT) {
        keep_misfit(c);
        return HU_OK;
    }
    if (st == HU_OK) st = hu_comm_predict(plan, &study->link, &c->outcome.time);
    hu_comm_plan_free(plan);
    return st;
}

/* Whether the pair of a case is among those that are skipped. */
static bool is_skipped(const hu_gradient_study *study, const hu_gradient_study_case *c) {
    const hu_comm_options *a = &c->options;
    for (int32_t i = 0; i < study->skipped; i++) {
        const hu_comm_options *b = &study->cases[study->count + i].options;
        if (a->schedule == b->schedule && a->group == b->group && a->scaling == b->scaling &&
            a->constant == b->constant)
            return true;
    }
    return false;
}

/* Foresees all cases before the first is run, and sorts them: those that fit, in their order, then
 * the pairs that do not. */
static hu_status foresee_all(hu_gradient_study *study) {
    int32_t asked = study->count;
    study->count = study->skipped = 0;
    for (int32_t i = 0; i < asked; i++) {
        hu_gradient_study_case c = study->cases[i], *behind_fit = &study->cases[study->count];
        hu_status st = foresee(study, &c);
        if (st != HU_OK) return st;
        if (!c.misfit[0]) {
            memmove(behind_fit + 1, behind_fit, (size_t)study->skipped * sizeof c);
            study->cases[study->count++] = c;
        } else if (!is_skipped(study, &c))
            behind_fit[study->skipped++] = c;
    }
    if (study->count > 0 || study->skipped == 0) return HU_OK;
    char pair[HU_COMM_PAIR_BYTES];
    hu_comm_pair_print(&study->cases[0].options, pair);
    return hu_fail(HU_ERR_ARGUMENT, "schedule and scaling: found %s: %s", pair,
                   study->cases[0].misfit);
}

/* Errors of each layer of given gradients. */
static hu_status judge_layers(const bench *b, hu_gradient_study_outcome *outcome) {
    hu_status st = HU_OK;
    const hu_gradient_study_given *given = &b->study->given;
    HU_TRY(HU_NEW_ARRAY(&outcome->layer, (size_t)given->layers));
    for (int32_t l = 0; l < given->layers; l++) {
        const hu_comm_layer *layer = &given->layer[l];
        HU_TRY(hu_gradient_error_of(layer->elements, b->exact + layer->offset,
                                    b->sum + layer->offset, &outcome->layer[l]));
    }
done:
    return st;
}

static hu_status run_seed(bench *b, hu_gradient_study_case *c, int32_t seed,
                          hu_gradient_error *error) {
    hu_status st = HU_OK;
    hu_comm_plan *plan = NULL;
    if (b->study->stop && *b->study->stop) return hu_fail(HU_ERR_INTERRUPTED, "interrupted");
    HU_TRY(make_plan(b->study, c, seed, &plan));
    HU_TRY(reduce(b, plan, &c->outcome));
    HU_TRY(hu_gradient_error_of((int64_t)b->n, b->exact, b->sum, error));
    if (seed == 0 && b->study->given.gradient) HU_TRY(judge_layers(b, &c->outcome));
    c->outcome.error.excluded += error->excluded;
    c->outcome.error.nonfinite += error->nonfinite;
done:
    hu_comm_plan_free(plan);
    return st;
}

/* error[seeds] of one case -> medians; x[seeds]: scratch. */
static void summarise(const hu_gradient_error *error, int32_t seeds, double *x,
                      hu_gradient_study_outcome *outcome) {
    for (int32_t i = 0; i < seeds; i++) x[i] = error[i].eq5_mean;
    outcome->error.eq5_mean = hu_comm_median(seeds, x);
    outcome->eq5_least = x[0]; /* the median put them in order */
    outcome->eq5_most = x[seeds - 1];
    for (int32_t i = 0; i < seeds; i++) x[i] = error[i].median;
    outcome->error.median = hu_comm_median(seeds, x);
    for (int32_t i = 0; i < seeds; i++) x[i] = error[i].relative_l2;
    outcome->error.relative_l2 = hu_comm_median(seeds, x);
    for (int32_t i = 0; i < seeds; i++) x[i] = error[i].zeros;
    outcome->error.zeros = hu_comm_median(seeds, x);
}

hu_status hu_gradient_study_run(hu_gradient_study *study) {
    hu_status st = HU_OK;
    bench b = {0};
    hu_gradient_error *error = NULL; /* [count][seeds] */
    double *x = NULL;
    /* Memory first: to foresee what has no room would take long. */
    HU_TRY(open_bench(study, &b));
    HU_TRY(foresee_all(study));
    HU_TRY(HU_NEW_ARRAY(&error, (size_t)study->count * (size_t)study->seeds));
    HU_TRY(HU_NEW_ARRAY(&x, (size_t)study->seeds));
    for (int32_t s = 0; s < study->seeds; s++) {
        begin_seed(&b, s);
        for (int32_t i = 0; i < study->count; i++)
            HU_TRY(run_seed(&b, &study->cases[i], s, &error[i * study->seeds + s]));
    }
    for (int32_t i = 0; i < study->count; i++)
        summarise(&error[i * study->seeds], study->seeds, x, &study->cases[i].outcome);
done:
    close_bench(&b);
    hu_free(error);
    hu_free(x);
    return st;
}

void hu_gradient_study_free(hu_gradient_study *study) {
    for (int32_t i = 0; i < study->count; i++) hu_free(study->cases[i].outcome.layer);
    hu_free(study->cases);
    study->cases = NULL;
    study->count = study->skipped = 0;
}
