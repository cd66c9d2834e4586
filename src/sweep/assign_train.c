/* The trainings of a search: references first, then candidates by successive halving (Jamieson and
 * Talwalkar, 2016): all of them short, the better half twice as long, and so on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sweep/assign.h"

int64_t hu_assign_steps(const hu_assign *assign, int rung) {
    int64_t steps = assign->steps >> (assign->rungs - 1 - rung);
    return steps > 0 ? steps : 1;
}

double hu_assign_share(const hu_assign *assign, double bits) {
    return bits / (double)assign->groups.all_plain;
}

/* Means over the seeds of one training. */
typedef struct outcome {
    double value, least, most, bits;
} outcome;

/* One training: a folder named by what is trained, how long and with which seed, so that no
 * training is made twice. */
static hu_status make_job(const hu_assign *assign, const char *name, const char *precision,
                          int rung, const char *seed, hu_job *job) {
    char steps[32];
    hu_status st = HU_OK;
    *job = (hu_job){0};
    snprintf(steps, sizeof steps, "%lld", (long long)hu_assign_steps(assign, rung));
    snprintf(job->label, sizeof job->label, "%s, %s steps, seed %.30s", name, steps, seed);
    snprintf(job->directory, sizeof job->directory, "%s/%s-%s-s%.30s", assign->directory, name,
             steps, seed);
    HU_TRY(hu_job_word(job, "precision.name", precision));
    HU_TRY(hu_job_word(job, "run.steps", steps));
    HU_TRY(hu_job_word(job, "run.seed", seed));
done:
    return st;
}

/* A training that diverged with any seed has no value. */
static outcome read_outcome(const hu_job *job, size_t seeds) {
    outcome made = {0.0, INFINITY, -INFINITY, 0.0};
    for (size_t s = 0; s < seeds; s++) {
        bool is_sound = job[s].state == HU_JOB_DONE && !json_object_get(job[s].result, "diverged");
        double value = is_sound ? hu_result_metric_of(job[s].result).last : (double)NAN;
        made.value += value / (double)seeds;
        made.bits += hu_json_real(job[s].result, "model_aggregate_bits") / (double)seeds;
        made.least = fmin(made.least, value);
        made.most = fmax(made.most, value);
    }
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

/* Trains one precision with the first `seeds` seeds. */
static hu_status train(hu_assign *assign, const char *name, const char *precision, int rung,
                       size_t seeds, outcome *made) {
    hu_status st = HU_OK;
    hu_job *job = NULL;
    HU_TRY(HU_NEW_ARRAY(&job, seeds));
    for (size_t s = 0; s < seeds; s++)
        HU_TRY(make_job(assign, name, precision, rung, hu_keys_value(hu_keys_at(assign->seeds, s)),
                        &job[s]));
    HU_TRY(hu_jobs_read_states(&assign->jobs, job, (int)seeds));
    assign->trainings += (int)seeds;
    HU_TRY(hu_jobs_run(&assign->jobs, job, (int)seeds));
    HU_TRY(check_failures(job, seeds));
    *made = read_outcome(job, seeds);
done:
    hu_jobs_free(job, job ? (int)seeds : 0);
    hu_free(job);
    return st;
}

/* The last rung has all seeds. */
static size_t seeds_of(const hu_assign *assign, int rung) {
    return rung == assign->rungs - 1 ? hu_keys_count(assign->seeds) : 1;
}

hu_status hu_assign_train_references(hu_assign *assign) {
    hu_status st = HU_OK;
    outcome made;
    /* A value is compared with float32 trained equally long; a memory needs only the last rung. */
    for (int r = assign->rungs - 1; r >= 0; r--) {
        assign->reference[r] = (double)NAN;
        if (assign->is_memory && r < assign->rungs - 1) continue;
        HU_TRY(train(assign, "fp32", "fp32", r, seeds_of(assign, r), &made));
        assign->reference[r] = made.value;
    }
    if (isnan(assign->reference[assign->rungs - 1]))
        return hu_fail(HU_ERR_NONFINITE,
                       "the float32 training diverged: without it there is nothing to search; "
                       "see `halfulp why %s/...`",
                       assign->directory);
    HU_TRY(train(assign, "high", "high", assign->rungs - 1, seeds_of(assign, assign->rungs - 1),
                 &made));
    assign->high_value = made.value;
    assign->high_bits = made.bits;
done:
    return st;
}

/* By how much a value is better than another, in the printed unit; below 0: worse. */
static double gain(const hu_metric *metric, double value, double other) {
    return metric->factor * (metric->higher_is_better ? value - other : other - value);
}

/* Are this value and these bits within the budget, at a rung? */
static bool fits(const hu_assign *assign, int rung, double value, double bits) {
    const double slack = 1e-9;
    if (isnan(value)) return false;
    if (assign->is_memory) return hu_assign_share(assign, bits) <= assign->budget + slack;
    return gain(assign->metric, value, assign->reference[rung]) >= assign->budget - slack;
}

bool hu_assign_high_fits(const hu_assign *assign) {
    return fits(assign, assign->rungs - 1, assign->high_value, assign->high_bits);
}

/* Does the candidate keep what the budget asks for, as far as it was trained? */
static bool is_feasible(const hu_assign *assign, const hu_assign_candidate *c) {
    int r = c->rungs - 1;
    return r >= 0 && fits(assign, r, c->value[r], c->bits_used[r]);
}

/* Is a the better of two that were trained equally long? */
static bool is_better(const hu_assign *assign, const hu_assign_candidate *a,
                      const hu_assign_candidate *b) {
    int r = a->rungs - 1;
    bool a_fits = is_feasible(assign, a), b_fits = is_feasible(assign, b);
    if (a_fits != b_fits) return a_fits;
    bool by_bits = !assign->is_memory && a_fits;
    if (by_bits && a->bits_used[r] != b->bits_used[r]) return a->bits_used[r] < b->bits_used[r];
    if (hu_metric_is_better(assign->metric, a->value[r], b->value[r])) return true;
    if (hu_metric_is_better(assign->metric, b->value[r], a->value[r])) return false;
    return a->bits_used[r] < b->bits_used[r];
}

/* order[count]: indices of candidates, the better ones first. */
static void sort_candidates(const hu_assign *assign, uint32_t *order, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        uint32_t here = order[i], at = i;
        for (; at > 0 &&
               is_better(assign, &assign->candidate[here], &assign->candidate[order[at - 1]]);
             at--)
            order[at] = order[at - 1];
        order[at] = here;
    }
}

/* The better half goes on, and plain demotion with it where it is not among them. */
static uint32_t keep_half(const hu_assign *assign, uint32_t *order, uint32_t count) {
    uint32_t kept = (count + 1) / 2;
    for (uint32_t i = kept; i < count; i++)
        if (assign->candidate[order[i]].is_plain && assign->is_memory) order[kept++] = order[i];
    return kept;
}

/* Trains the candidates that are left for one length. */
static hu_status run_rung(hu_assign *assign, int rung, const uint32_t *order, uint32_t count) {
    hu_status st = HU_OK;
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "rung %d of %d: %u candidates, %lld steps, %zu seeds\n", rung + 1,
                assign->rungs, count, (long long)hu_assign_steps(assign, rung),
                seeds_of(assign, rung));
    for (uint32_t i = 0; i < count; i++) {
        hu_assign_candidate *c = &assign->candidate[order[i]];
        outcome made;
        HU_TRY(train(assign, c->name, c->path, rung, seeds_of(assign, rung), &made));
        c->value[rung] = made.value;
        c->bits_used[rung] = made.bits;
        c->least = made.least;
        c->most = made.most;
        c->rungs = rung + 1;
    }
done:
    return st;
}

hu_status hu_assign_race(hu_assign *assign, int *best) {
    hu_status st = HU_OK;
    uint32_t *order = NULL, count = assign->count;
    HU_TRY(HU_NEW_ARRAY(&order, count + 1));
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (int r = 0; r < assign->rungs; r++) {
        if (r > 0) count = keep_half(assign, order, count);
        HU_TRY(run_rung(assign, r, order, count));
        sort_candidates(assign, order, count);
    }
    *best = count > 0 && is_feasible(assign, &assign->candidate[order[0]]) ? (int)order[0] : -1;
done:
    hu_free(order);
    return st;
}
