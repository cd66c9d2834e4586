/* How far low groups move gradients from float32's, on fixed batches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "session/initial.h"
#include "session/options.h"
#include "session/saved_run.h"
#include "sweep/assign.h"

/* Gradients are taken at the first weights of the training, and at those that float32 ended with.
 */
enum { PLACES = 2 };

/* The scale that gradients begin with, and the factor by which it falls where they overflow. */
static const double FIRST_SCALE = 65536.0, BACKOFF = 0.0625;

/* One gradient: a plan, weights, a loss scale. */
typedef struct probe {
    hu_config *config;
    hu_precision precision;
    hu_trainer *trainer;
    hu_worker_gradients made;
} probe;

static void close_probe(probe *p) {
    hu_trainer_free(p->trainer);
    hu_precision_free(&p->precision);
    hu_config_free(p->config);
    *p = (probe){0};
}

/* One worker that has the whole batch, in this process. */
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

static hu_status seed_of(const hu_assign *assign, uint64_t *seed) {
    int64_t number;
    hu_status st = hu_keys_as_i64(hu_keys_at(assign->seeds, 0), &number);
    *seed = (uint64_t)number;
    return st;
}

/* weights NULL: the first ones of the training. HU_ERR_NONFINITE: an overflow under this scale. */
static hu_status open_probe(const hu_assign *assign, const char *plan, const hu_weights *weights,
                            double scale, probe *p) {
    hu_status st = HU_OK;
    hu_train_options options;
    *p = (probe){0};
    HU_TRY(hu_assign_config(assign, plan, &p->config));
    HU_TRY(hu_options_train(p->config, assign->dataset, &p->precision, &options));
    HU_TRY(take_one_worker(&options));
    HU_TRY(seed_of(assign, &options.run.seed));
    options.histogram_every = 0;
    options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_CONSTANT);
    options.scaler.init = (float)scale;
    HU_TRY(hu_trainer_create(&options, assign->dataset, &p->trainer));
    HU_TRY(hu_initial_weights(p->config, p->trainer));
    const hu_weights *own = hu_trainer_weights(p->trainer);
    if (weights) memcpy(own->block, weights->block, (size_t)own->elements * sizeof *own->block);
    HU_TRY(hu_trainer_gradients(p->trainer, &p->made));
done:
    if (st != HU_OK) close_probe(p);
    return st;
}

/* |a - b| / |b| in the L1 norm over all parameters. */
static double distance(const hu_worker_gradients *a, const hu_worker_gradients *b,
                       int64_t elements) {
    double off = 0.0, all = 0.0;
    for (int64_t i = 0; i < elements; i++) {
        off += fabs((double)a->gradient[0][i] - (double)b->gradient[0][i]);
        all += fabs((double)b->gradient[0][i]);
    }
    return all > 0.0 ? off / all : 0.0;
}

/* Where the measurement stands. */
typedef struct place {
    const hu_weights *weights;
    probe plain; /* float32 */
    double high; /* squared distance of everything high */
} place;

/* Squared distance of a set of low groups from float32. */
static hu_status measure(const hu_assign *assign, const place *at, const bool *low, double scale,
                         double *squared) {
    hu_status st = HU_OK;
    char path[660];
    probe p = {0};
    snprintf(path, sizeof path, "%s/plans/probe.yaml", assign->directory);
    HU_TRY(hu_assign_write_plan(assign, low, path, NULL));
    HU_TRY(open_probe(assign, path, at->weights, scale, &p));
    double off = distance(&p.made, &at->plain.made, hu_trainer_weights(p.trainer)->trained);
    *squared = off * off;
done:
    close_probe(&p);
    remove(path);
    return st;
}

/* The largest scale at which nothing overflows with every group low; 1 where there is none. */
static hu_status find_scale(const hu_assign *assign, place *at, bool *low, double *scale) {
    hu_status st = HU_OK;
    double squared;
    memset(low, true, assign->groups.tensors.count);
    for (*scale = FIRST_SCALE; *scale >= 1.0; *scale *= BACKOFF) {
        close_probe(&at->plain);
        HU_TRY(open_probe(assign, NULL, at->weights, *scale, &at->plain));
        st = measure(assign, at, low, *scale, &squared);
        if (st != HU_ERR_NONFINITE) return st;
    }
    *scale = 1.0;
    return HU_OK;
done:
    return st;
}

/* A group whose gradient overflows all the same loses all of it. */
static hu_status add_group(hu_assign *assign, const place *at, uint32_t group, bool *low,
                           double scale) {
    double squared = 1.0;
    memset(low, false, assign->groups.tensors.count);
    low[group] = true;
    hu_status st = measure(assign, at, low, scale, &squared);
    if (st != HU_OK && st != HU_ERR_NONFINITE) return st;
    assign->groups.loss[group] += fmax(squared - at->high, 0.0) / PLACES;
    return HU_OK;
}

static hu_status measure_place(hu_assign *assign, const hu_weights *weights, bool *low) {
    hu_status st = HU_OK;
    place at = {.weights = weights};
    double scale;
    HU_TRY(find_scale(assign, &at, low, &scale));
    assign->scale = scale;
    st = measure(assign, &at, NULL, scale, &at.high);
    if (st == HU_ERR_NONFINITE) st = HU_OK;
    HU_TRY(st);
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        HU_TRY(add_group(assign, &at, g, low, scale));
done:
    close_probe(&at.plain);
    return st;
}

/* The weights that the float32 run ended with. */
static hu_status open_ended(const hu_assign *assign, hu_config **config, hu_saved_run *run) {
    static const char *const no_flags[] = {NULL};
    const hu_config_request nothing = {.flags = no_flags};
    char folder[1024];
    hu_assign_folder(assign, "fp32", assign->rungs - 1, 0, folder, sizeof folder);
    hu_status st = hu_config_load(&nothing, config);
    return st == HU_OK ? hu_saved_run_open(*config, folder, NULL, run) : st;
}

hu_status hu_assign_measure_gradients(hu_assign *assign) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_saved_run ended = {0};
    bool *low = NULL;
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "gradients of %u groups, each low alone, beside float32's\n",
                assign->groups.tensors.count);
    HU_TRY(HU_NEW_ARRAY(&low, assign->groups.tensors.count));
    HU_TRY(open_ended(assign, &config, &ended));
    HU_TRY(measure_place(assign, NULL, low));
    HU_TRY(measure_place(assign, hu_trainer_weights(ended.trainer), low));
done:
    hu_saved_run_close(&ended);
    hu_config_free(config);
    hu_free(low);
    return st;
}
