#include "comm/rendezvous.h"

#include "base/error.h"
#include "base/memory.h"
#include "comm/plan.h"

enum { GATHER_TAG = HU_COMM_FLIGHTS }; /* those below are the flights' */

/* Seconds of one look: the roll knows when it is too long. */
static const double long_wait = 3600.0;

hu_status hu_rendezvous_create(hu_transport *transport, const hu_failure_detector_options *options,
                               hu_rendezvous **result) {
    hu_status st = HU_OK;
    hu_rendezvous *job = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&job));
    job->transport = transport;
    HU_TRY(hu_failure_detector_create(transport, options, &job->detector));
    *result = job;
    job = NULL;
done:
    hu_rendezvous_free(job);
    return st;
}

void hu_rendezvous_free(hu_rendezvous *job) {
    if (!job) return;
    hu_failure_detector_free(job->detector);
    hu_free(job);
}

/* Rows first .. first + count - 1 of all, counted around, as at most two messages. */
typedef struct rows {
    uint8_t *all;
    size_t bytes; /* of a row */
    int32_t first, count, workers;
} rows;

static hu_status move_rows(hu_rendezvous *job, const rows *r, int32_t peer, bool is_sent,
                           hu_transfer *transfer, int32_t *count) {
    int32_t first = r->first % r->workers, before_end = r->workers - first;
    int32_t part[2] = {r->count < before_end ? r->count : before_end, 0};
    part[1] = r->count - part[0];
    hu_status st = HU_OK;
    for (int32_t p = 0; p < 2 && part[p] > 0 && st == HU_OK; p++) {
        uint8_t *at = r->all + (size_t)(p == 0 ? first : 0) * r->bytes;
        size_t bytes = (size_t)part[p] * r->bytes;
        hu_transfer *next = &transfer[(*count)++];
        st = is_sent ? hu_transfer_send(job->transport, peer, GATHER_TAG, at, bytes, next)
                     : hu_transfer_receive(job->transport, peer, GATHER_TAG, at, bytes, next);
    }
    return st;
}

/* A round of a dissemination: the rows of `far` workers from this one on are known here, and as
 * many from rank + far on there. */
static hu_status gather_round(hu_rendezvous *job, int32_t far, size_t bytes, uint8_t *all) {
    enum { MOST = 4 };
    int32_t rank = job->transport->rank, workers = job->transport->size, count = 0, which;
    int32_t few = far < workers - far ? far : workers - far;
    rows own = {all, bytes, rank, few, workers}, theirs = {all, bytes, rank + far, few, workers};
    hu_transfer transfer[MOST] = {{0}}, *open[MOST];
    hu_status st = HU_OK;
    for (int32_t i = 0; i < MOST; i++) open[i] = &transfer[i];
    HU_TRY(move_rows(job, &theirs, (rank + far) % workers, false, transfer, &count));
    HU_TRY(move_rows(job, &own, (rank - far + workers) % workers, true, transfer, &count));
    for (int32_t i = 0; i < count; i++)
        while (hu_transfer_is_open(open[i]))
            HU_TRY(hu_failure_detector_wait(job->detector, open, count, long_wait, &which));
done:
    for (int32_t i = 0; i < count && st != HU_OK; i++)
        if (transfer[i].is_receive) hu_transfer_cancel(job->transport, &transfer[i]);
    return st;
}

hu_status hu_rendezvous_gather(hu_rendezvous *job, size_t bytes, void *all) {
    hu_status st = HU_OK;
    for (int32_t far = 1; far < job->transport->size && bytes > 0 && st == HU_OK; far *= 2)
        st = gather_round(job, far, bytes, all);
    return st;
}

/* Waits for a message as long as messages may take. */
static hu_status finish(hu_rendezvous *job, hu_transfer *transfer) {
    hu_status st = HU_OK;
    int32_t which;
    while (hu_transfer_is_open(transfer) && st == HU_OK)
        st = hu_failure_detector_wait(job->detector, &transfer, 1, long_wait, &which);
    if (st != HU_OK && transfer->is_receive) hu_transfer_cancel(job->transport, transfer);
    return st;
}

/* Row by row: one is on its way while the others wait for their turn. */
hu_status hu_rendezvous_collect(hu_rendezvous *job, size_t bytes, const void *own, void *others) {
    hu_transport *transport = job->transport;
    hu_transfer transfer = {0};
    hu_status st = HU_OK;
    if (bytes == 0) return HU_OK;
    if (transport->rank > 0) {
        HU_TRY(hu_transfer_send(transport, 0, GATHER_TAG, own, bytes, &transfer));
        HU_TRY(finish(job, &transfer));
    }
    for (int32_t from = 1; transport->rank == 0 && from < transport->size; from++) {
        uint8_t *row = (uint8_t *)others + (size_t)(from - 1) * bytes;
        HU_TRY(hu_transfer_receive(transport, from, GATHER_TAG, row, bytes, &transfer));
        HU_TRY(finish(job, &transfer));
    }
done:
    return st;
}
