/* The trainings of a search, and what they reached on the validation samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sweep/assign.h"

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
        hu_spread_add(&made.spread, value);
        made.bits += hu_json_real(job[s].result, "model_aggregate_bits") / count;
        made.size = fmax(made.size, hu_assign_size_of(assign, job[s].result));
        made.least = fmin(made.least, value);
        made.most = fmax(made.most, value);
    }
    made.value = hu_spread_mean(&made.spread);
    made.deviation = hu_spread_deviation(&made.spread);
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

hu_status hu_assign_train(hu_assign *assign, const char *name, const char *precision, int rung,
                          hu_assign_outcome *made) {
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
