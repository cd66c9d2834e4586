#include "comm/traffic.h"

#include "base/error.h"
#include "base/memory.h"

/* Bytes of the message of a range of pieces. Most messages of a schedule are of the same few
 * ranges, and a size is a sum over all layers of a bucket: the latest of every first piece is
 * kept. */
typedef struct known_size {
    int32_t count; /* pieces; 0: nothing is known */
    bool is_sum;
    size_t bytes;
} known_size;

typedef struct walk {
    const hu_comm_plan *plan;
    known_size *known; /* [buckets][pieces] */
    size_t *largest;   /* [buckets][steps] */
    int32_t steps;     /* of a bucket */
} walk;

static size_t bytes_of(walk *w, int32_t bucket, const hu_comm_action *action) {
    known_size *known = &w->known[(size_t)bucket * (size_t)w->plan->pieces + (size_t)action->first];
    if (known->count != action->count || known->is_sum != action->is_sum)
        *known = (known_size){action->count, action->is_sum,
                              hu_comm_message_bytes(w->plan, bucket, action)};
    return known->bytes;
}

/* Adds what one worker sends for a bucket. */
static void add_list(walk *w, int32_t bucket, const hu_comm_list *list, uint64_t *bytes) {
    size_t *largest = w->largest + (size_t)bucket * (size_t)w->steps;
    for (int32_t a = 0; a < list->count; a++) {
        const hu_comm_action *action = &list->action[a];
        if (action->act != HU_COMM_SEND) continue;
        size_t sent = bytes_of(w, bucket, action);
        if (sent > largest[action->step]) largest[action->step] = sent;
        *bytes += sent;
    }
}

/* Rank by rank, because the lists of all would be large. */
static hu_status add_worker(walk *w, int32_t rank, hu_comm_traffic *traffic) {
    const hu_comm_plan *plan = w->plan;
    hu_comm_list list;
    uint64_t bytes = (uint64_t)hu_comm_agreement_steps(plan) * (uint64_t)plan->layers *
                     (uint64_t)hu_comm_agreed_bytes(plan);
    hu_status st = hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &list);
    if (st != HU_OK) return st;
    if (!w->largest) {
        w->steps = list.steps;
        st = HU_NEW_ARRAY(&w->largest, (size_t)plan->buckets * (size_t)w->steps);
    }
    for (int32_t b = 0; b < plan->buckets && st == HU_OK; b++) add_list(w, b, &list, &bytes);
    hu_comm_list_free(&list);
    traffic->bytes += bytes;
    if (bytes > traffic->bytes_per_worker) traffic->bytes_per_worker = bytes;
    return st;
}

/* A dissemination: after step s, a worker has heard of 2^(s + 1). */
int64_t hu_comm_agreement_steps(const hu_comm_plan *plan) {
    int64_t steps = 0;
    if (!plan->agrees) return 0;
    for (int64_t reached = 1; reached < plan->options.workers; reached *= 2) steps++;
    return steps;
}

hu_status hu_comm_traffic_of(const hu_comm_plan *plan, hu_comm_traffic *traffic, size_t **largest) {
    walk w = {.plan = plan};
    *traffic = (hu_comm_traffic){.agreement_steps = hu_comm_agreement_steps(plan) * plan->buckets};
    if (largest) *largest = NULL;
    hu_status st = HU_NEW_ARRAY(&w.known, (size_t)plan->buckets * (size_t)plan->pieces);
    for (int32_t rank = 0; rank < plan->options.workers && st == HU_OK; rank++)
        st = add_worker(&w, rank, traffic);
    traffic->steps = (int64_t)w.steps * plan->buckets;
    hu_free(w.known);
    if (!largest || st != HU_OK)
        hu_free(w.largest);
    else
        *largest = w.largest;
    return st;
}

size_t hu_comm_largest_message(const hu_comm_plan *plan, const hu_comm_list *list, bool is_sent) {
    size_t most = 0;
    for (int32_t b = 0; b < plan->buckets; b++)
        for (int32_t a = 0; a < list->count; a++) {
            const hu_comm_action *action = &list->action[a];
            if (action->act == HU_COMM_COMBINE || (action->act == HU_COMM_SEND) != is_sent)
                continue;
            size_t bytes = hu_comm_message_bytes(plan, b, action);
            if (bytes > most) most = bytes;
        }
    return most;
}
