/* A worker without numbers, in place of comm/worker.c: it has the lists of a real one, and its
 * messages the same bytes, but it neither reads nor writes them. So 256 processes of a large model
 * fit into one, and what is left is the time of the network. */
#include "base/error.h"
#include "base/memory.h"
#include "comm/internal.h"

/* Of all layers: nothing was lost. */
static const hu_comm_counts no_counts;

hu_status hu_comm_worker_create(const hu_comm_plan *plan, int32_t rank, float *gradient,
                                hu_comm_worker **result) {
    hu_comm_worker *worker = NULL;
    hu_status st = HU_OK;
    (void)gradient;
    *result = NULL;
    HU_TRY(HU_NEW(&worker));
    HU_TRY(hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &worker->list));
    *result = worker;
    worker = NULL;
done:
    hu_free(worker);
    return st;
}

void hu_comm_worker_free(hu_comm_worker *worker) {
    if (!worker) return;
    hu_comm_list_free(&worker->list);
    hu_free(worker);
}

void hu_comm_worker_begin(hu_comm_worker *worker, uint64_t step) {
    (void)worker, (void)step;
}

void hu_comm_worker_exponents(hu_comm_worker *worker, int32_t bucket, int8_t *exponent) {
    (void)worker, (void)bucket, (void)exponent;
}

void hu_comm_worker_round(hu_comm_worker *worker, int32_t bucket, const int8_t *exponent) {
    (void)worker, (void)bucket, (void)exponent;
}

const hu_comm_list *hu_comm_worker_list(const hu_comm_worker *worker) {
    return &worker->list;
}

void hu_comm_worker_write(const hu_comm_worker *worker, int32_t bucket,
                          const hu_comm_action *action, uint8_t *message) {
    (void)worker, (void)bucket, (void)action, (void)message;
}

hu_status hu_comm_worker_read(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action,
                              const uint8_t *message, size_t bytes) {
    (void)worker, (void)bucket, (void)action, (void)message, (void)bytes;
    return HU_OK;
}

void hu_comm_worker_combine(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action) {
    (void)worker, (void)bucket, (void)action;
}

void hu_comm_worker_finish(hu_comm_worker *worker, int32_t bucket) {
    (void)worker, (void)bucket;
}

const hu_comm_counts *hu_comm_worker_counts(const hu_comm_worker *worker) {
    (void)worker;
    return &no_counts;
}

float *hu_comm_worker_loss(const hu_comm_worker *worker, int32_t i) {
    (void)worker, (void)i;
    return NULL;
}
