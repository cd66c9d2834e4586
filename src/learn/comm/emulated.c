#include "comm/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/cost_model.h"
#include "comm/process_group.h"

enum { FAILURE_BYTES = 512 };

struct hu_comm_emulated {
    const hu_comm_plan *plan;
    int threads;
    hu_comm_worker **worker; /* [workers] */
    int32_t *at;             /* [workers] next action of each */
    uint8_t **message;       /* [workers] what each sends in a step */
    size_t *bytes;           /* [workers] of it */
    int8_t *exponent;        /* [workers + 1][layers], as long as hu_comm_agreed_bytes: own ones,
                                and the largest */
    size_t agreed;           /* bytes of one of them, at least one */
    hu_status *status;       /* [workers] */
    int32_t failed;          /* first worker that failed; as many as there are: none */
    char failure[FAILURE_BYTES]; /* what it said */
};

hu_status hu_comm_emulated_create(const hu_comm_plan *plan, float *const *gradient, int threads,
                                  hu_comm_emulated **result) {
    hu_status st = HU_OK;
    size_t workers = (size_t)plan->options.workers;
    hu_comm_emulated *emulated = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&emulated));
    emulated->plan = plan;
    emulated->threads = threads;
    HU_TRY(HU_NEW_ARRAY(&emulated->worker, workers));
    HU_TRY(HU_NEW_ARRAY(&emulated->at, workers));
    HU_TRY(HU_NEW_ARRAY(&emulated->message, workers));
    HU_TRY(HU_NEW_ARRAY(&emulated->bytes, workers));
    HU_TRY(HU_NEW_ARRAY(&emulated->status, workers));
    emulated->agreed = hu_comm_agreed_bytes(plan) > 1 ? hu_comm_agreed_bytes(plan) : 1;
    HU_TRY(
        HU_NEW_ARRAY(&emulated->exponent, (workers + 1) * (size_t)plan->layers * emulated->agreed));
    for (size_t w = 0; w < workers; w++) {
        HU_TRY(hu_comm_worker_create(plan, (int32_t)w, gradient[w], &emulated->worker[w]));
        const hu_comm_list *list = hu_comm_worker_list(emulated->worker[w]);
        void *message;
        HU_TRY(
            hu_alloc_for(HU_MEMORY_WORKERS, hu_comm_largest_message(plan, list, true), &message));
        emulated->message[w] = message;
    }
    *result = emulated;
    emulated = NULL;
done:
    hu_comm_emulated_free(emulated);
    return st;
}

void hu_comm_emulated_free(hu_comm_emulated *emulated) {
    if (!emulated) return;
    for (int32_t w = 0; w < emulated->plan->options.workers; w++) {
        if (emulated->worker) hu_comm_worker_free(emulated->worker[w]);
        if (emulated->message) hu_free(emulated->message[w]);
    }
    hu_free(emulated->worker);
    hu_free(emulated->at);
    hu_free(emulated->message);
    hu_free(emulated->bytes);
    hu_free(emulated->exponent);
    hu_free(emulated->status);
    hu_free(emulated);
}

hu_comm_worker *hu_comm_emulated_worker(const hu_comm_emulated *emulated, int32_t rank) {
    return emulated->worker[rank];
}

/* The worker's next action if it belongs to the step, else NULL. */
static const hu_comm_action *next_action(const hu_comm_emulated *emulated, int32_t w,
                                         int32_t step) {
    const hu_comm_list *list = hu_comm_worker_list(emulated->worker[w]);
    int32_t at = emulated->at[w];
    return at < list->count && list->action[at].step <= step ? &list->action[at] : NULL;
}

/* Writes what the worker sends in the step: lists have that first. */
static void send(hu_comm_emulated *emulated, int32_t bucket, int32_t w, int32_t step) {
    const hu_comm_action *action = next_action(emulated, w, step);
    if (!action || action->act != HU_COMM_SEND) return;
    hu_comm_worker_write(emulated->worker[w], bucket, action, emulated->message[w]);
    emulated->bytes[w] = hu_comm_message_bytes(emulated->plan, bucket, action);
    emulated->at[w]++;
}

/* Messages of failures are the thread's own: the first worker's is kept for the caller's thread. */
static void note_failure(hu_comm_emulated *emulated, int32_t w, hu_status status) {
    emulated->status[w] = status;
#pragma omp critical(hu_comm_emulated_failure)
    if (w < emulated->failed) {
        emulated->failed = w;
        snprintf(emulated->failure, sizeof emulated->failure, "worker %d: %s", w, hu_last_error());
    }
}

/* What is left of the step: messages of others, and sums. */
static void receive(hu_comm_emulated *emulated, int32_t bucket, int32_t w, int32_t step) {
    const hu_comm_action *action;
    while ((action = next_action(emulated, w, step)) && emulated->status[w] == HU_OK) {
        emulated->at[w]++;
        if (action->act == HU_COMM_COMBINE) {
            hu_comm_worker_combine(emulated->worker[w], bucket, action);
            continue;
        }
        hu_status st =
            hu_comm_worker_read(emulated->worker[w], bucket, action,
                                emulated->message[action->peer], emulated->bytes[action->peer]);
        if (st != HU_OK) note_failure(emulated, w, st);
    }
}

/* The largest exponents of all workers, after their own. */
static int8_t *agree(hu_comm_emulated *emulated, int32_t bucket) {
    const hu_comm_plan *plan = emulated->plan;
    int32_t workers = plan->options.workers, layers = plan->bucket[bucket].count;
    size_t row = (size_t)plan->layers * emulated->agreed;
    int8_t *own = emulated->exponent, *largest = own + (size_t)workers * row;
#pragma omp parallel for num_threads(emulated->threads) schedule(static)
    for (int32_t w = 0; w < workers; w++)
        hu_comm_worker_exponents(emulated->worker[w], bucket, own + (size_t)w * row);
    memcpy(largest, own, (size_t)layers * emulated->agreed);
    for (int32_t w = 1; w < workers; w++)
        hu_comm_agree(plan, layers, own + (size_t)w * row, largest);
    return plan->agrees ? largest : NULL;
}

static hu_status run_bucket(hu_comm_emulated *emulated, int32_t bucket) {
    const hu_comm_plan *plan = emulated->plan;
    int32_t workers = plan->options.workers;
    int32_t steps = hu_comm_worker_list(emulated->worker[0])->steps;
    const int8_t *exponent = agree(emulated, bucket);
    memset(emulated->at, 0, (size_t)workers * sizeof *emulated->at);
#pragma omp parallel for num_threads(emulated->threads) schedule(static)
    for (int32_t w = 0; w < workers; w++)
        hu_comm_worker_round(emulated->worker[w], bucket, exponent);
    /* Groups of one have no step, but a sum to make: before the first step. */
    for (int32_t s = -1; s < steps; s++) {
#pragma omp parallel for num_threads(emulated->threads) schedule(static)
        for (int32_t w = 0; w < workers; w++) send(emulated, bucket, w, s);
#pragma omp parallel for num_threads(emulated->threads) schedule(static)
        for (int32_t w = 0; w < workers; w++) receive(emulated, bucket, w, s);
    }
#pragma omp parallel for num_threads(emulated->threads) schedule(static)
    for (int32_t w = 0; w < workers; w++) hu_comm_worker_finish(emulated->worker[w], bucket);
    if (emulated->failed == workers) return HU_OK;
    return hu_fail(emulated->status[emulated->failed], "%s", emulated->failure);
}

hu_status hu_comm_emulated_run(hu_comm_emulated *emulated, uint64_t step) {
    hu_status st = HU_OK;
    emulated->failed = emulated->plan->options.workers;
    for (int32_t w = 0; w < emulated->plan->options.workers; w++) {
        hu_comm_worker_begin(emulated->worker[w], step);
        emulated->status[w] = HU_OK;
    }
    for (int32_t b = 0; b < emulated->plan->buckets && st == HU_OK; b++)
        st = run_bucket(emulated, b);
    return st;
}

/* ---- All workers in this process: nothing to gather, nothing to wait for ---- */

typedef struct emulated_team {
    hu_process_group team;
    hu_comm_emulated *emulated;
} emulated_team;

static const hu_comm_emulated *inside(const hu_process_group *team) {
    return ((const emulated_team *)team)->emulated;
}

static void end(hu_process_group *team) {
    hu_comm_emulated_free(((emulated_team *)team)->emulated);
    hu_free(team);
}

static hu_status reduce(hu_process_group *team, uint64_t step) {
    return hu_comm_emulated_run(((emulated_team *)team)->emulated, step);
}

static hu_status gather(hu_process_group *team, size_t bytes, void *all) {
    (void)team, (void)bytes, (void)all;
    return HU_OK;
}

static const hu_comm_counts *counts(const hu_process_group *team, int32_t worker) {
    return hu_comm_worker_counts(hu_comm_emulated_worker(inside(team), worker));
}

static float *loss(const hu_process_group *team, int32_t worker, int32_t i) {
    return hu_comm_worker_loss(hu_comm_emulated_worker(inside(team), worker), i);
}

static const hu_process_group_kind kind = {.name = "emulated",
                                           .free = end,
                                           .reduce = reduce,
                                           .gather = gather,
                                           .counts = counts,
                                           .loss = loss};

hu_status hu_process_group_emulated(const hu_comm_plan *plan, float *const *gradient, int threads,
                                    hu_process_group **result) {
    hu_status st = HU_OK;
    emulated_team *team = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&team));
    team->team = (hu_process_group){&kind, plan, gradient, 0, plan->options.workers};
    HU_TRY(hu_comm_emulated_create(plan, gradient, threads, &team->emulated));
    *result = &team->team;
    team = NULL;
done:
    hu_free(team);
    return st;
}

/* ---- What teams hold, worked out before they are made ---- */

hu_status hu_process_group_emulated_bytes(const hu_comm_plan *plan, uint64_t *bytes) {
    hu_status st = HU_OK;
    *bytes = 0;
    for (int32_t w = 0; w < plan->options.workers && st == HU_OK; w++) {
        hu_comm_list list;
        st = hu_comm_list_make(plan->options.schedule, &plan->shape, w, &list);
        if (st != HU_OK) break;
        *bytes += hu_comm_worker_bytes(plan, &list) + hu_comm_largest_message(plan, &list, true);
        hu_comm_list_free(&list);
    }
    return st;
}

hu_status hu_process_group_process_bytes(const hu_comm_plan *plan, int32_t rank, uint64_t *bytes) {
    hu_comm_list list;
    *bytes = 0;
    hu_status st = hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &list);
    if (st != HU_OK) return st;
    *bytes = hu_comm_worker_bytes(plan, &list) +
             HU_COMM_FLIGHTS * (hu_comm_largest_message(plan, &list, true) +
                                hu_comm_largest_message(plan, &list, false));
    hu_comm_list_free(&list);
    return st;
}
