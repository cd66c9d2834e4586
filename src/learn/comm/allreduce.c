#include <halfulp/allreduce.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/internal.h"
#include "tensor/quantizer.h"

/* One worker of a reduction whose messages others carry: the public face of comm/internal.h. */

enum { FORMAT_BYTES = HU_FORMAT_TEXT_BYTES, SCALING_BYTES = 32, ALL = 0 /* the only bucket */ };

/* What the caller did last. */
typedef enum turn { ENDED, BEGUN, ROUNDED, ADDED } turn;

struct hu_allreduce {
    hu_comm_plan *plan;     /* owned, of one bucket */
    hu_comm_worker *worker; /* owned */
    char **name;            /* [layers] */
    int8_t *agreed;         /* [layers], as long as hu_comm_agreed_bytes: the largest of all */
    size_t *part_at;        /* [workers] where the message to each lies among those to all others */
    turn turn;
};

static int32_t workers_of(const hu_allreduce *allreduce) {
    return allreduce->plan->options.workers;
}

/* ---- open ---- */

static hu_status check_options(const hu_allreduce_options *options) {
    if (options->size != sizeof *options)
        return hu_fail(HU_ERR_ARGUMENT,
                       "hu_allreduce_open: options->size is %zu, expected its sizeof, %zu",
                       options->size, sizeof *options);
    if (options->workers < 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "hu_allreduce_open: options->workers is %d, expected 1 or "
                       "more",
                       options->workers);
    if (options->rank < 0 || options->rank >= options->workers)
        return hu_fail(HU_ERR_ARGUMENT, "hu_allreduce_open: options->rank is %d, expected 0 to %d",
                       options->rank, options->workers - 1);
    if (hu_rounding_mode(options->rounding) == HU_ROUND_COUNT)
        return hu_fail(HU_ERR_ARGUMENT,
                       "hu_allreduce_open: options->rounding is %d, expected 0 to %d, or "
                       "hu_rounding_of_bits",
                       (int)options->rounding, HU_ROUND_COUNT - 1);
    return HU_OK;
}

/* Layers with names of our own, one behind the other. */
static hu_status copy_layers(const hu_allreduce_layer *layer, size_t layers,
                             hu_allreduce *allreduce, hu_comm_layer *copy) {
    hu_status st = HU_OK;
    size_t end = 0, bytes;
    for (size_t l = 0; l < layers; l++) {
        if (!layer[l].name || layer[l].elements < 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "hu_allreduce_open: layer %zu has %s and %" PRId64
                           " elements, expected a name and 0 or more",
                           l, layer[l].name ? layer[l].name : "no name", layer[l].elements);
        copy[l].offset = (int64_t)end;
        copy[l].elements = layer[l].elements;
        copy[l].exact = layer[l].is_exact != 0;
        if (!hu_add_size(end, (size_t)layer[l].elements, &end) ||
            !hu_mul_size(end, sizeof(float), &bytes) || bytes > PTRDIFF_MAX)
            return hu_fail(HU_ERR_ARGUMENT,
                           "hu_allreduce_open: layer %zu has %" PRId64
                           " elements, expected as many as memory has addresses for",
                           l, layer[l].elements);
        HU_TRY(hu_strdup(layer[l].name, &allreduce->name[l]));
        copy[l].name = allreduce->name[l];
    }
done:
    return st;
}

static hu_status read_options(const hu_allreduce_options *options, hu_comm_options *read) {
    hu_status st = HU_OK;
    *read = (hu_comm_options){.workers = options->workers,
                              .schedule = &hu_comm_schedule_collective,
                              .rounding = options->rounding,
                              .kahan = options->kahan != 0,
                              .error_feedback = options->error_feedback != 0,
                              .seed = options->seed,
                              .bucket_bytes = INT64_MAX};
    HU_TRY(hu_comm_scaling_parse(options->scaling, &read->scaling, &read->constant));
    HU_TRY(hu_plain_format_parse(options->format, &read->format));
done:
    return st;
}

static size_t message_bytes(const hu_allreduce *allreduce, int32_t owner, bool is_sum) {
    hu_comm_action action = {.first = owner, .count = 1, .is_sum = is_sum};
    return hu_comm_message_bytes(allreduce->plan, ALL, &action);
}

/* In the order of the ranks; there is none to this process itself. */
static void place_parts(hu_allreduce *allreduce, int32_t rank) {
    size_t at = 0;
    for (int32_t w = 0; w < workers_of(allreduce); w++) {
        allreduce->part_at[w] = at;
        if (w != rank) at += message_bytes(allreduce, w, false);
    }
}

hu_status hu_allreduce_open(const hu_allreduce_options *options, const hu_allreduce_layer *layer,
                            size_t layers, hu_allreduce **allreduce) {
    HU_GIVEN(allreduce);
    *allreduce = NULL;
    HU_GIVEN(options);
    HU_GIVEN(layer);
    hu_status st = check_options(options);
    if (st != HU_OK) return st;
    HU_GIVEN(options->format);
    HU_GIVEN(options->scaling);
    HU_GIVEN_MOST(layers, (size_t)INT32_MAX);
    if (layers == 0)
        return hu_fail(HU_ERR_ARGUMENT, "hu_allreduce_open: layers is 0, expected 1 or more");
    hu_allreduce *made = NULL;
    hu_comm_layer *copy = NULL;
    hu_comm_options read;
    HU_TRY(read_options(options, &read));
    HU_TRY(HU_NEW(&made));
    HU_TRY(HU_NEW_ARRAY(&copy, layers));
    HU_TRY(HU_NEW_ARRAY(&made->name, layers + 1)); /* a last one is NULL */
    HU_TRY(copy_layers(layer, layers, made, copy));
    HU_TRY(hu_comm_plan_create(&read, copy, (int32_t)layers, &made->plan));
    HU_TRY(hu_comm_worker_create(made->plan, options->rank, NULL, &made->worker));
    HU_TRY(HU_NEW_ARRAY(&made->agreed, layers * sizeof(uint32_t)));
    HU_TRY(HU_NEW_ARRAY(&made->part_at, (size_t)options->workers));
    place_parts(made, options->rank);
    *allreduce = made;
    made = NULL;
done:
    hu_free(copy);
    hu_allreduce_close(made);
    return st;
}

void hu_allreduce_close(hu_allreduce *allreduce) {
    if (!allreduce) return;
    hu_comm_worker_free(allreduce->worker);
    hu_comm_plan_free(allreduce->plan);
    for (char **name = allreduce->name; name && *name; name++) hu_free(*name);
    hu_free(allreduce->name);
    hu_free(allreduce->agreed);
    hu_free(allreduce->part_at);
    hu_free(allreduce);
}

/* ---- What it is ---- */

void hu_allreduce_print(const hu_allreduce *allreduce, char *text, uint32_t capacity) {
    if (text && capacity > 0) text[0] = '\0';
    if (!allreduce || !text || capacity == 0) return;
    const hu_comm_options *o = &allreduce->plan->options;
    char format[FORMAT_BYTES + sizeof "format= "] = "", scaling[SCALING_BYTES];
    if (!o->scaling->code) {
        strcpy(format, "format=");
        if (hu_format_print(&o->format, format + strlen(format), FORMAT_BYTES) != HU_OK) return;
        strcat(format, " ");
    }
    hu_comm_scaling_print(o->scaling, o->constant, scaling, sizeof scaling);
    snprintf(text, capacity,
             "%sscaling=%s rounding=%s kahan=%s error_feedback=%s seed=%" PRIu64 " workers=%d",
             format, scaling, hu_rounding_name(o->rounding), o->kahan ? "on" : "off",
             o->error_feedback ? "on" : "off", o->seed, o->workers);
}

size_t hu_allreduce_told_bytes(const hu_allreduce *allreduce) {
    if (!allreduce) return 0;
    return (size_t)allreduce->plan->layers * hu_comm_agreed_bytes(allreduce->plan);
}

static bool is_known(const hu_allreduce *allreduce, int32_t rank) {
    return allreduce && rank >= 0 && rank < workers_of(allreduce);
}

size_t hu_allreduce_part_bytes(const hu_allreduce *allreduce, int32_t owner) {
    return is_known(allreduce, owner) ? message_bytes(allreduce, owner, false) : 0;
}

size_t hu_allreduce_sum_bytes(const hu_allreduce *allreduce, int32_t owner) {
    return is_known(allreduce, owner) ? message_bytes(allreduce, owner, true) : 0;
}

/* ---- A step ---- */

/* Whether the caller did last what comes before `call`. */
static hu_status check_turn(const hu_allreduce *allreduce, const char *call, turn before) {
    static const char *const name[] = {"no hu_allreduce_begin", "hu_allreduce_begin",
                                       "hu_allreduce_round", "hu_allreduce_add"};
    if (allreduce->turn == before) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found %s before it, expected %s", call,
                   name[allreduce->turn], name[before]);
}

hu_status hu_allreduce_begin(hu_allreduce *allreduce, uint64_t step, float *x, void *told) {
    HU_GIVEN(allreduce);
    HU_GIVEN_IF(x, allreduce->plan->elements > 0);
    HU_GIVEN_IF(told, hu_allreduce_told_bytes(allreduce) > 0);
    hu_comm_worker *worker = allreduce->worker;
    worker->gradient = x;
    hu_comm_worker_begin(worker, step);
    hu_comm_worker_exponents(worker, ALL, allreduce->agreed);
    if (told) memcpy(told, allreduce->agreed, hu_allreduce_told_bytes(allreduce));
    allreduce->turn = BEGUN;
    return HU_OK;
}

/* Messages of gradients come before those of sums. */
static bool is_first(const hu_comm_action *action, hu_comm_act act) {
    return action->act == act && !action->is_sum;
}

hu_status hu_allreduce_round(hu_allreduce *allreduce, const void *told, void *parts) {
    HU_GIVEN(allreduce);
    HU_GIVEN_IF(told, hu_allreduce_told_bytes(allreduce) > 0);
    HU_GIVEN_IF(parts, workers_of(allreduce) > 1);
    hu_status st = check_turn(allreduce, __func__, BEGUN);
    if (st != HU_OK) return st;
    const hu_comm_plan *plan = allreduce->plan;
    const hu_comm_list *list = hu_comm_worker_list(allreduce->worker);
    size_t row = hu_allreduce_told_bytes(allreduce);
    for (int32_t w = 0; row > 0 && w < workers_of(allreduce); w++)
        hu_comm_agree(plan, plan->layers, (const int8_t *)told + (size_t)w * row,
                      allreduce->agreed);
    hu_comm_worker_round(allreduce->worker, ALL, plan->agrees ? allreduce->agreed : NULL);
    for (const hu_comm_action *a = list->action; a < list->action + list->count; a++)
        if (is_first(a, HU_COMM_SEND))
            hu_comm_worker_write(allreduce->worker, ALL, a,
                                 (uint8_t *)parts + allreduce->part_at[a->peer]);
    allreduce->turn = ROUNDED;
    return HU_OK;
}

/* The message of an action, from another process. */
static hu_status take(hu_allreduce *allreduce, const hu_comm_action *action, const void *message) {
    size_t bytes = hu_comm_message_bytes(allreduce->plan, ALL, action);
    hu_status st = hu_comm_worker_read(allreduce->worker, ALL, action, message, bytes);
    if (st == HU_OK) return st;
    allreduce->turn = ENDED;
    return hu_fail_within(st,
                          "%s of process %d at process %d: ", action->is_sum ? "sum" : "gradient",
                          action->peer, allreduce->worker->rank);
}

hu_status hu_allreduce_add(hu_allreduce *allreduce, const void *parts, void *sum) {
    HU_GIVEN(allreduce);
    HU_GIVEN_IF(parts, workers_of(allreduce) > 1);
    HU_GIVEN(sum);
    hu_status st = check_turn(allreduce, __func__, ROUNDED);
    if (st != HU_OK) return st;
    hu_comm_worker *worker = allreduce->worker;
    const hu_comm_list *list = hu_comm_worker_list(worker);
    size_t row = message_bytes(allreduce, worker->rank, false);
    for (const hu_comm_action *a = list->action; a < list->action + list->count; a++) {
        if (is_first(a, HU_COMM_KEEP)) {
            size_t place = (size_t)(a->peer - (a->peer > worker->rank)) * row;
            HU_TRY(take(allreduce, a, (const uint8_t *)parts + place));
        } else if (a->act == HU_COMM_COMBINE)
            hu_comm_worker_combine(worker, ALL, a);
        else if (a->act == HU_COMM_SEND && a->is_sum)
            hu_comm_worker_write(worker, ALL, a, sum);
    }
    allreduce->turn = ADDED;
done:
    return st;
}

hu_status hu_allreduce_end(hu_allreduce *allreduce, const void *sums, size_t stride) {
    HU_GIVEN(allreduce);
    HU_GIVEN_IF(sums, workers_of(allreduce) > 1);
    hu_status st = check_turn(allreduce, __func__, ADDED);
    if (st != HU_OK) return st;
    const hu_comm_list *list = hu_comm_worker_list(allreduce->worker);
    for (const hu_comm_action *a = list->action; a < list->action + list->count; a++) {
        if (a->act != HU_COMM_TAKE) continue;
        size_t bytes = message_bytes(allreduce, a->peer, true);
        if (stride < bytes)
            return hu_fail(HU_ERR_ARGUMENT,
                           "hu_allreduce_end: stride is %zu, expected at least %zu, the bytes of "
                           "process %d's sum",
                           stride, bytes, a->peer);
        HU_TRY(take(allreduce, a, (const uint8_t *)sums + (size_t)a->peer * stride));
    }
    hu_comm_worker_finish(allreduce->worker, ALL);
    allreduce->turn = ENDED;
done:
    return st;
}

/* ---- What it did ---- */

hu_status hu_allreduce_counts(const hu_allreduce *allreduce, size_t layer, hu_round_counts *rounded,
                              hu_round_counts *added) {
    HU_GIVEN(allreduce);
    HU_GIVEN(rounded);
    HU_GIVEN(added);
    if (layer >= (size_t)allreduce->plan->layers)
        return hu_fail(HU_ERR_ARGUMENT, "hu_allreduce_counts: layer is %zu, expected 0 to %d",
                       layer, allreduce->plan->layers - 1);
    const hu_comm_counts *counts = hu_comm_worker_counts(allreduce->worker) + layer;
    *rounded = counts->rounded;
    *added = counts->added;
    return HU_OK;
}

float *hu_allreduce_lost(hu_allreduce *allreduce, int32_t kind) {
    if (!allreduce || kind < 0 || kind >= HU_ALLREDUCE_LOSSES) return NULL;
    return hu_comm_worker_loss(allreduce->worker, kind);
}
