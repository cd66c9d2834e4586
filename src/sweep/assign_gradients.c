/* How far low groups move gradients, and whole updates, from float32's, on fixed batches; and which
 * tensors are promoted there. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sweep/assign_probe.h"
#include "train/initialize.h"

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

hu_status hu_assign_measure_gradients(hu_assign *assign) {
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
