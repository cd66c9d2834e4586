#include "sweep/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "session/saved_run.h"
#include "settings/options.h"

/* ---- assign train ---- */

/* The trainings of a search, and what they reached on the validation samples. */

enum { UNTRAINED = -1 };

int64_t hu_assign_steps(const hu_assign *assign, int rung) {
    if (rung == UNTRAINED) return 0;
    int64_t steps = assign->steps >> (assign->rungs - 1 - rung);
    return steps > 0 ? steps : 1;
}

void hu_assign_folder(const hu_assign *assign, const char *name, int rung, size_t s, char *folder,
                      size_t capacity) {
    snprintf(folder, capacity, "%s/%s-%lld-s%.30s", assign->directory, name,
             (long long)hu_assign_steps(assign, rung), hu_keys_value(hu_keys_at(assign->seeds, s)));
}

/* One training: a folder named by what is trained, how long and with which seed, so that no
 * training is made twice. */
static hu_status make_job(const hu_assign *assign, const char *name, const char *precision,
                          int rung, size_t s, hu_job *job) {
    char steps[32];
    hu_status st = HU_OK;
    const char *seed = hu_keys_value(hu_keys_at(assign->seeds, s));
    *job = (hu_job){0};
    snprintf(steps, sizeof steps, "%lld", (long long)hu_assign_steps(assign, rung));
    snprintf(job->label, sizeof job->label, "%s, %s steps, seed %.30s", name, steps, seed);
    hu_assign_folder(assign, name, rung, s, job->directory, sizeof job->directory);
    HU_TRY(hu_job_word(job, "precision.name", precision));
    HU_TRY(hu_job_word(job, "run.steps", steps));
    HU_TRY(hu_job_word(job, "run.seed", seed));
done:
    return st;
}

/* Of the validation samples; NaN: the training diverged. */
static double value_of(const hu_job *job) {
    bool is_sound = job->state == HU_JOB_DONE && !json_object_get(job->result, "diverged");
    return is_sound ? hu_result_validation_of(job->result).last : (double)NAN;
}

/* A precision that diverged with any seed has no value. */
static hu_assign_outcome read_outcome(const hu_assign *assign, const hu_job *job, size_t seeds) {
    hu_assign_outcome made = {.is_known = true, .least = INFINITY, .most = -INFINITY};
    double count = (double)seeds;
    for (size_t s = 0; s < seeds; s++) {
        double value = value_of(&job[s]);
        hu_sample_stats_add(&made.spread, value);
        made.bits += hu_json_real(job[s].result, "model_aggregate_bits") / count;
        made.size = fmax(made.size, hu_assign_size_of(assign, job[s].result));
        made.least = fmin(made.least, value);
        made.most = fmax(made.most, value);
    }
    made.value = hu_sample_stats_mean(&made.spread);
    made.deviation = hu_sample_stats_deviation(&made.spread);
    return made;
}

/* A process that failed is no result: the search stops instead of choosing without it. */
static hu_status check_failures(const hu_job *job, size_t seeds) {
    for (size_t s = 0; s < seeds; s++)
        if (job[s].state == HU_JOB_FAILED)
            return hu_fail(HU_ERR_IO, "%s: %s; the same command tries it again", job[s].label,
                           job[s].failure);
    return HU_OK;
}

/* Trains one precision for a rung with all seeds; folders that are finished are only read. */
static hu_status hu_assign_train(hu_assign *assign, const char *name, const char *precision,
                                 int rung, hu_assign_outcome *made) {
    hu_status st = HU_OK;
    hu_job *job = NULL;
    size_t seeds = hu_keys_count(assign->seeds);
    HU_TRY(HU_NEW_ARRAY(&job, seeds));
    for (size_t s = 0; s < seeds; s++) HU_TRY(make_job(assign, name, precision, rung, s, &job[s]));
    HU_TRY(hu_jobs_read_states(&assign->jobs, job, (int)seeds));
    assign->trainings += (int)seeds;
    HU_TRY(hu_jobs_run(&assign->jobs, job, (int)seeds));
    HU_TRY(check_failures(job, seeds));
    *made = read_outcome(assign, job, seeds);
done:
    hu_jobs_free(job, job ? (int)seeds : 0);
    hu_free(job);
    return st;
}

/* A rung on which float32 is no better than untrained weights cannot tell candidates apart. */
static void find_first_rung(hu_assign *assign) {
    const double clearly = 2.0;
    for (int r = assign->rungs - 1; r >= 0; r--) {
        const hu_assign_outcome *here = &assign->reference[r];
        double noise = hu_assign_noise_of_two(assign, r, here, &assign->untrained);
        double gain = hu_assign_gain(assign, here->value, assign->untrained.value);
        if (isnan(here->value) || !(gain > clearly * noise)) break;
        assign->first_rung = r;
    }
}

hu_status hu_assign_train_references(hu_assign *assign) {
    hu_status st = HU_OK;
    int last = assign->rungs - 1;
    assign->first_rung = last;
    for (int r = last; r >= 0; r--) {
        HU_TRY(hu_assign_train(assign, "fp32", "fp32", r, &assign->reference[r]));
        hu_assign_pool(assign, r);
        if (r == last && isnan(assign->reference[r].value))
            return hu_fail(HU_ERR_NONFINITE,
                           "the float32 training diverged: without it there is nothing to search; "
                           "see `halfulp why %s/...`",
                           assign->directory);
    }
    HU_TRY(hu_assign_train(assign, "fp32", "fp32", UNTRAINED, &assign->untrained));
    HU_TRY(hu_assign_train(assign, "high", "high", last, &assign->high));
    find_first_rung(assign);
done:
    return st;
}

/* ---- The test samples, read once for what was chosen ---- */

/* The metric of one trained run on the test samples; its folder stays as it is. */
static hu_status read_run(const char *folder, double *value, int64_t *samples) {
    static const char *const no_flags[] = {NULL};
    const hu_config_request nothing = {.flags = no_flags};
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_saved_run run = {0};
    double metrics[HU_METRICS_MAX], loss;
    HU_TRY(hu_config_load(&nothing, &config));
    HU_TRY(hu_saved_run_open(config, folder, NULL, &run));
    HU_TRY(hu_trainer_evaluate_on(run.trainer, HU_SPLIT_TEST, metrics, &loss));
    *value = metrics[0];
    *samples = run.dataset->test.count;
done:
    hu_saved_run_close(&run);
    hu_config_free(config);
    return st;
}

/* Mean and standard deviation over the seeds. */
static hu_status read_seeds(const hu_assign *assign, const char *name, double *mean,
                            double *deviation, int64_t *samples) {
    hu_status st = HU_OK;
    hu_sample_stats spread = {0};
    double value;
    char folder[1024];
    for (size_t s = 0; s < hu_keys_count(assign->seeds); s++) {
        hu_assign_folder(assign, name, assign->rungs - 1, s, folder, sizeof folder);
        HU_TRY(read_run(folder, &value, samples));
        hu_sample_stats_add(&spread, value);
    }
    *mean = hu_sample_stats_mean(&spread);
    *deviation = hu_sample_stats_deviation(&spread);
done:
    return st;
}

/* What diverged has no weights to be tested. */
static bool has_value(const hu_assign *assign, int i) {
    if (i == HU_ASSIGN_NONE) return false;
    return !isnan(i < 0 ? assign->high.value : assign->candidate[i].rung[assign->rungs - 1].value);
}

hu_status hu_assign_read_test(const hu_assign *assign, hu_assign_choice *choice) {
    const int wanted[2] = {choice->best, choice->plain};
    for (int k = 0; k < 2; k++) {
        choice->test[k] = choice->test_deviation[k] = (double)NAN;
        if (!has_value(assign, wanted[k])) continue;
        const char *name = wanted[k] < 0 ? "high" : assign->candidate[wanted[k]].name;
        hu_status st = read_seeds(assign, name, &choice->test[k], &choice->test_deviation[k],
                                  &choice->test_samples);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

/* ---- assign probe ---- */

/* Trainings of a search that are made in this process and leave no folder:
 * a few steps with some groups low, from where another training stands. */

static hu_status set_length(hu_config *config, int64_t steps) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)steps);
    hu_status st = hu_config_replace(config, "run.steps", text, "assign");
    return st == HU_OK ? hu_config_replace(config, "lr.warmup", "0", "assign") : st;
}

hu_status hu_assign_probe_read(const hu_assign *assign, const char *plan, size_t s, int64_t steps,
                               hu_assign_probe *probe) {
    hu_status st = HU_OK;
    int64_t seed;
    *probe = (hu_assign_probe){0};
    HU_TRY(hu_keys_as_i64(hu_keys_at(assign->seeds, s), &seed));
    HU_TRY(hu_assign_config(assign, plan, &probe->config));
    if (steps > 0) HU_TRY(set_length(probe->config, steps));
    HU_TRY(hu_options_train(probe->config, assign->dataset, &probe->precision, &probe->options));
    probe->options.run.seed = (uint64_t)seed;
    probe->options.histogram_every = 0;
done:
    if (st != HU_OK) hu_assign_probe_close(probe);
    return st;
}

hu_status hu_assign_probe_make(const hu_assign *assign, hu_assign_probe *probe) {
    hu_status st = hu_trainer_create(&probe->options, assign->dataset, &probe->trainer);
    return st == HU_OK ? hu_initial_weights(probe->config, probe->trainer, NULL) : st;
}

void hu_assign_probe_close(hu_assign_probe *probe) {
    hu_trainer_free(probe->trainer);
    hu_precision_free(&probe->precision);
    hu_config_free(probe->config);
    *probe = (hu_assign_probe){0};
}

hu_status hu_assign_check_stop(const hu_assign *assign) {
    if (!assign->jobs.interrupted || !*assign->jobs.interrupted) return HU_OK;
    return hu_fail(HU_ERR_INTERRUPTED,
                   "stopped while groups were measured; the same command goes on (%s)",
                   assign->directory);
}

hu_status hu_assign_open_ended(const hu_assign *assign, size_t s, hu_config **config,
                               hu_saved_run *run) {
    static const char *const no_flags[] = {NULL};
    const hu_config_request nothing = {.flags = no_flags};
    char folder[1024];
    hu_assign_folder(assign, "fp32", assign->rungs - 1, s, folder, sizeof folder);
    hu_status st = hu_config_load(&nothing, config);
    return st == HU_OK ? hu_saved_run_open(*config, folder, NULL, run) : st;
}

/* ---- assign race ---- */

/* The race: candidates are trained in rungs of growing length (as in successive halving, Jamieson
 * and Talwalkar, 2016), but who leaves is who is worse beyond the noise, not a fixed share. */

/* Indices of the candidates that are left. */
typedef struct field {
    uint32_t *index;
    uint32_t count;
    size_t capacity;
} field;

static hu_status push(field *f, uint32_t i) {
    void *block = f->index;
    hu_status st = hu_grow(&block, f->count, &f->capacity, sizeof *f->index);
    f->index = block;
    if (st == HU_OK) f->index[f->count++] = i;
    return st;
}

static const hu_assign_outcome *outcome(const hu_assign *assign, uint32_t i, int rung) {
    return &assign->candidate[i].rung[rung];
}

bool hu_assign_high_fits(const hu_assign *assign) {
    return hu_assign_fits(assign, assign->rungs - 1, &assign->high);
}

/* Is a beyond the size because of its promotions? It diverged or not: bits are known. */
static bool is_too_large(const hu_assign *assign, const hu_assign_outcome *made) {
    const double slack = 1e-9;
    return assign->kind != HU_BUDGET_METRIC && made->is_known &&
           made->size > assign->budget + slack;
}

/* Have promotions left room that the search had kept for them? */
static bool has_room(const hu_assign *assign, const hu_assign_candidate *c, int rung) {
    const double slack = 1e-9;
    const hu_assign_outcome *made = &c->rung[rung];
    return assign->kind != HU_BUDGET_METRIC && !isnan(made->value) &&
           made->size < c->expected - slack;
}

/* Trains what is left for one length. A set of which promotions took more than was expected, and
 * too much, or less, is joined by another one of its order. */
static hu_status run_rung(hu_assign *assign, int rung, field *f) {
    hu_status st = HU_OK;
    bool added;
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "rung %d of %d: %u candidates, %lld steps, %zu seeds\n", rung + 1,
                assign->rungs, f->count, (long long)hu_assign_steps(assign, rung),
                hu_keys_count(assign->seeds));
    /* Trainings of other lengths say nothing of how long these take. */
    assign->progress.ended = 0;
    assign->progress.seconds = 0.0;
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        hu_assign_outcome made;
        assign->progress.first = (int)(k * hu_keys_count(assign->seeds));
        assign->progress.rows = (int)(f->count * hu_keys_count(assign->seeds));
        HU_TRY(hu_assign_train(assign, assign->candidate[i].name, assign->candidate[i].path, rung,
                               &made));
        assign->candidate[i].rung[rung] = made;
        bool is_wrong =
            is_too_large(assign, &made) || has_room(assign, &assign->candidate[i], rung);
        if (!is_wrong) continue;
        HU_TRY(hu_assign_refill(assign, i, rung, &added));
        if (added) HU_TRY(push(f, assign->count - 1));
    }
    hu_assign_pool(assign, rung);
done:
    assign->progress.rows = 0;
    return st;
}

/* Whether a is better than b by more than the noise of both. NaN is worse than all. */
static bool is_clearly_better(const hu_assign *assign, int rung, const hu_assign_outcome *a,
                              const hu_assign_outcome *b) {
    if (isnan(a->value)) return false;
    if (isnan(b->value)) return true;
    return hu_assign_gain(assign, a->value, b->value) > hu_assign_noise_of_two(assign, rung, a, b);
}

/* Whether the metric is kept, or lost, by more than the noise. */
static bool keeps_clearly(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    const hu_assign_outcome *plain = &assign->reference[rung];
    if (isnan(made->value)) return false;
    return hu_assign_gain(assign, made->value, plain->value) >
           assign->budget + hu_assign_noise_of_two(assign, rung, made, plain);
}

static bool misses_clearly(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    const hu_assign_outcome *plain = &assign->reference[rung];
    if (isnan(made->value)) return true;
    return hu_assign_gain(assign, made->value, plain->value) <
           assign->budget - hu_assign_noise_of_two(assign, rung, made, plain);
}

/* Does another candidate of the field make this one needless? Of a size: one that is better beyond
 * the noise. Of a metric: one that is smaller and keeps it beyond the noise. */
static bool is_beaten(const hu_assign *assign, int rung, const field *f, uint32_t i) {
    const hu_assign_outcome *here = outcome(assign, i, rung);
    bool is_metric = assign->kind == HU_BUDGET_METRIC;
    if (is_metric && misses_clearly(assign, rung, here)) return true;
    for (uint32_t k = 0; k < f->count; k++) {
        const hu_assign_outcome *other = outcome(assign, f->index[k], rung);
        if (f->index[k] == i || is_too_large(assign, other)) continue;
        if (is_metric ? other->bits < here->bits && keeps_clearly(assign, rung, other)
                      : is_clearly_better(assign, rung, other, here))
            return true;
    }
    return false;
}

/* The smallest of the field, by what the budget counts; plain: of plain demotions only. */
static uint32_t smallest(const hu_assign *assign, int rung, const field *f, bool plain) {
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        if (plain && !assign->candidate[i].is_plain) continue;
        if (best == UINT32_MAX ||
            outcome(assign, i, rung)->size < outcome(assign, best, rung)->size)
            best = i;
    }
    return best;
}

/* Which plain demotion stays whatever it reached: of a size the largest that fits (it has demoted
 * least), of a metric the mildest. */
static uint32_t plain_that_stays(const hu_assign *assign, int rung, const field *f) {
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        if (!assign->candidate[i].is_plain || is_too_large(assign, outcome(assign, i, rung)))
            continue;
        if (best == UINT32_MAX ||
            outcome(assign, i, rung)->size > outcome(assign, best, rung)->size)
            best = i;
    }
    return best == UINT32_MAX ? smallest(assign, rung, f, true) : best;
}

/* Leaves those that are too large or beaten out; plain demotion and the smallest stay. */
static hu_status thin(const hu_assign *assign, int rung, field *f) {
    hu_status st = HU_OK;
    field kept = {0};
    uint32_t plain = plain_that_stays(assign, rung, f), least = smallest(assign, rung, f, false);
    bool has_fitting = false;
    for (uint32_t k = 0; k < f->count; k++)
        has_fitting = has_fitting || !is_too_large(assign, outcome(assign, f->index[k], rung));
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        bool is_good =
            !is_too_large(assign, outcome(assign, i, rung)) && !is_beaten(assign, rung, f, i);
        if (is_good || i == plain || (i == least && !has_fitting)) HU_TRY(push(&kept, i));
    }
    hu_free(f->index);
    *f = kept;
    return HU_OK;
done:
    hu_free(kept.index);
    return st;
}

/* ---- the choice ---- */

/* Is a the better of two finalists that keep the budget? Of a size by the metric, of a metric by
 * bits; of equals the other. */
static bool is_better(const hu_assign *assign, const hu_assign_outcome *a,
                      const hu_assign_outcome *b) {
    double gain = hu_assign_gain(assign, a->value, b->value);
    if (assign->kind == HU_BUDGET_METRIC && a->bits != b->bits) return a->bits < b->bits;
    return gain != 0.0 ? gain > 0.0 : a->bits < b->bits;
}

/* The best finalist that keeps the budget; HU_ASSIGN_NONE: none does. */
static int best_of(const hu_assign *assign, const field *f, bool plain) {
    int best = HU_ASSIGN_NONE, last = assign->rungs - 1;
    for (uint32_t k = 0; k < f->count; k++) {
        int i = (int)f->index[k];
        const hu_assign_outcome *here = outcome(assign, f->index[k], last);
        if ((plain && !assign->candidate[i].is_plain) || !hu_assign_fits(assign, last, here))
            continue;
        if (best < 0 || is_better(assign, here, outcome(assign, (uint32_t)best, last))) best = i;
    }
    return best;
}

/* Is a, as good as b for all that the noise lets one see, to be preferred? Its groups lose less in
 * the measure that has no noise; of equals the better one. */
static bool is_preferred(const hu_assign *assign, const hu_assign_candidate *a,
                         const hu_assign_candidate *b) {
    int last = assign->rungs - 1;
    if (assign->kind == HU_BUDGET_METRIC || a->loss == b->loss)
        return is_better(assign, &a->rung[last], &b->rung[last]);
    return a->loss < b->loss;
}

/* Of the finalists that keep the budget, and that the best is not clearly better than, the
 * preferred one. HU_ASSIGN_NONE: none keeps it. plain: of plain demotions only, by the same rule as
 * of all, so that what is written is held against what one would have taken without the search. */
static int choose_one(const hu_assign *assign, const field *f, bool plain) {
    int best = best_of(assign, f, plain), chosen = best, last = assign->rungs - 1;
    for (uint32_t k = 0; k < f->count; k++) {
        const hu_assign_candidate *c = &assign->candidate[f->index[k]];
        if ((plain && !c->is_plain) || !hu_assign_fits(assign, last, &c->rung[last])) continue;
        if (is_clearly_better(assign, last, outcome(assign, (uint32_t)best, last), &c->rung[last]))
            continue;
        if (is_preferred(assign, c, &assign->candidate[chosen])) chosen = (int)f->index[k];
    }
    return chosen;
}

/* Nothing keeps the budget: of a size the smallest, of a metric the best. */
static int nearest(const hu_assign *assign, const field *f) {
    int last = assign->rungs - 1, best = HU_ASSIGN_HIGH;
    if (assign->kind != HU_BUDGET_METRIC) {
        uint32_t least = smallest(assign, last, f, false);
        bool is_less =
            least != UINT32_MAX && outcome(assign, least, last)->size < assign->high.size;
        return is_less ? (int)least : HU_ASSIGN_HIGH;
    }
    for (uint32_t k = 0; k < f->count; k++) {
        const hu_assign_outcome *held =
            best < 0 ? &assign->high : outcome(assign, (uint32_t)best, last);
        const hu_assign_outcome *here = outcome(assign, f->index[k], last);
        bool is_worse =
            isnan(here->value) || hu_assign_gain(assign, here->value, held->value) <= 0.0;
        if (!is_worse || isnan(held->value)) best = (int)f->index[k];
    }
    return best;
}

/* How much better the choice is than plain demotion, and whether that is more than chance. */
static void compare_with_plain(const hu_assign *assign, hu_assign_choice *choice) {
    const double clearly = 2.0;
    int last = assign->rungs - 1;
    if (choice->plain < 0) return;
    const hu_assign_outcome *plain = outcome(assign, (uint32_t)choice->plain, last);
    const hu_assign_outcome *best =
        choice->best < 0 ? &assign->high : outcome(assign, (uint32_t)choice->best, last);
    choice->gain = hu_assign_gain(assign, best->value, plain->value);
    choice->noise = hu_assign_noise_of_two(assign, last, best, plain);
    choice->is_separated = assign->kind == HU_BUDGET_METRIC
                               ? best->bits < plain->bits
                               : choice->gain > clearly * choice->noise;
}

static void choose(const hu_assign *assign, const field *f, hu_assign_choice *choice) {
    int last = assign->rungs - 1;
    *choice = (hu_assign_choice){.best = HU_ASSIGN_HIGH, .plain = choose_one(assign, f, true)};
    int best = choose_one(assign, f, false);
    bool is_size = assign->kind != HU_BUDGET_METRIC;
    choice->meets = best >= 0 || hu_assign_high_fits(assign);
    if (best >= 0) choice->best = best;
    if (!choice->meets) choice->best = nearest(assign, f);
    if (choice->plain < 0 && f->count > 0 && !hu_assign_high_fits(assign)) {
        uint32_t plain =
            is_size ? smallest(assign, last, f, true) : plain_that_stays(assign, last, f);
        choice->plain = plain == UINT32_MAX ? HU_ASSIGN_NONE : (int)plain;
    }
    compare_with_plain(assign, choice);
}

hu_status hu_assign_race(hu_assign *assign, hu_assign_choice *choice) {
    hu_status st = HU_OK;
    field f = {0};
    for (uint32_t i = 0; i < assign->count; i++) HU_TRY(push(&f, i));
    for (int r = assign->first_rung; r < assign->rungs && f.count > 0; r++) {
        HU_TRY(run_rung(assign, r, &f));
        if (r < assign->rungs - 1) HU_TRY(thin(assign, r, &f));
    }
    choose(assign, &f, choice);
done:
    hu_free(f.index);
    return st;
}
