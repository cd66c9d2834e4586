#include "comm/bucket_exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/cost_model.h"

static hu_status make_room(hu_flight *flight) {
    const hu_comm_list *list = hu_comm_worker_list(flight->worker);
    const hu_transport_kind *kind = flight->transport->kind;
    size_t layers = 0, out = hu_comm_largest_message(flight->plan, list, true);
    size_t in = hu_comm_largest_message(flight->plan, list, false);
    hu_status st = HU_OK;
    for (int32_t b = 0; b < flight->plan->buckets; b++)
        if ((size_t)flight->plan->bucket[b].count > layers)
            layers = (size_t)flight->plan->bucket[b].count;
    size_t agreed = hu_comm_agreed_bytes(flight->plan) > 1 ? hu_comm_agreed_bytes(flight->plan) : 1;
    HU_TRY(hu_new_array(layers, agreed, &flight->exponent));
    HU_TRY(hu_new_array(layers, agreed, &flight->heard));
    flight->out = kind->room(flight->transport, out);
    flight->in = kind->room(flight->transport, in);
    if (flight->out && flight->in)
        flight->room_bytes = (int64_t)(out + in);
    else
        st = hu_fail(HU_ERR_MEMORY, "found no room for messages of %zu and %zu bytes", out, in);
    hu_memory_count_other(HU_MEMORY_WORKERS, flight->room_bytes);
done:
    return st;
}

hu_status hu_flight_create(const hu_comm_plan *plan, hu_comm_worker *worker,
                           hu_transport *transport, int32_t tag, hu_flight **result) {
    hu_status st = HU_OK;
    hu_flight *flight = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&flight));
    flight->plan = plan;
    flight->worker = worker;
    flight->transport = transport;
    flight->tag = tag;
    flight->bucket = HU_FLIGHT_NONE;
    flight->rounds = (int32_t)hu_comm_agreement_steps(plan);
    HU_TRY(make_room(flight));
    *result = flight;
    flight = NULL;
done:
    hu_flight_free(flight);
    return st;
}

void hu_flight_free(hu_flight *flight) {
    if (!flight) return;
    hu_transfer_cancel(flight->transport, &flight->receiving);
    if (flight->out) flight->transport->kind->free_room(flight->transport, flight->out);
    if (flight->in) flight->transport->kind->free_room(flight->transport, flight->in);
    hu_memory_count_other(HU_MEMORY_WORKERS, -flight->room_bytes);
    hu_free(flight->exponent);
    hu_free(flight->heard);
    hu_free(flight);
}

/* After round r a worker has heard of 2^(r + 1): the one so far before it tells what it knows. That
 * some are heard of twice changes no maximum. */
static hu_status exchange_exponents(hu_flight *flight) {
    int32_t rank = flight->transport->rank, workers = flight->plan->options.workers;
    int32_t far = 1 << flight->round;
    size_t bytes =
        (size_t)flight->plan->bucket[flight->bucket].count * hu_comm_agreed_bytes(flight->plan);
    hu_status st = hu_transfer_receive(flight->transport, (rank - far + workers) % workers,
                                       flight->tag, flight->heard, bytes, &flight->receiving);
    if (st != HU_OK) return st;
    return hu_transfer_send(flight->transport, (rank + far) % workers, flight->tag,
                            flight->exponent, bytes, &flight->sending);
}

static void merge_exponents(hu_flight *flight) {
    hu_comm_agree(flight->plan, flight->plan->bucket[flight->bucket].count, flight->heard,
                  flight->exponent);
    flight->round++;
}

static hu_status begin_message(hu_flight *flight, const hu_comm_action *action) {
    size_t bytes = hu_comm_message_bytes(flight->plan, flight->bucket, action);
    if (action->act != HU_COMM_SEND) {
        flight->reading = action;
        return hu_transfer_receive(flight->transport, action->peer, flight->tag, flight->in, bytes,
                                   &flight->receiving);
    }
    hu_comm_worker_write(flight->worker, flight->bucket, action, flight->out);
    return hu_transfer_send(flight->transport, action->peer, flight->tag, flight->out, bytes,
                            &flight->sending);
}

/* Begins the messages of the next step, after the sums before it; without any the flight ends. */
static hu_status begin_step(hu_flight *flight) {
    const hu_comm_list *list = hu_comm_worker_list(flight->worker);
    hu_status st = HU_OK;
    int32_t step = -1;
    for (; flight->at < list->count && st == HU_OK; flight->at++) {
        const hu_comm_action *action = &list->action[flight->at];
        bool is_sum = action->act == HU_COMM_COMBINE;
        if (step >= 0 && (is_sum || action->step != step)) return HU_OK;
        if (is_sum) {
            hu_comm_worker_combine(flight->worker, flight->bucket, action);
            continue;
        }
        step = action->step;
        st = begin_message(flight, action);
    }
    if (st != HU_OK || step >= 0) return st;
    hu_comm_worker_finish(flight->worker, flight->bucket);
    flight->bucket = HU_FLIGHT_NONE;
    return HU_OK;
}

/* From agreed exponents to the first messages. */
static hu_status begin_reduction(hu_flight *flight) {
    hu_comm_worker_round(flight->worker, flight->bucket,
                         flight->plan->agrees ? flight->exponent : NULL);
    return begin_step(flight);
}

static hu_status begin_round(hu_flight *flight) {
    return flight->round < flight->rounds ? exchange_exponents(flight) : begin_reduction(flight);
}

hu_status hu_flight_begin(hu_flight *flight, int32_t bucket) {
    flight->bucket = bucket;
    flight->round = flight->at = 0;
    flight->reading = NULL;
    hu_comm_worker_exponents(flight->worker, bucket, flight->exponent);
    return begin_round(flight);
}

/* What has come is taken while the own message is still on its way. */
static hu_status read_message(hu_flight *flight) {
    const hu_comm_action *action = flight->reading;
    if (!action || hu_transfer_is_open(&flight->receiving)) return HU_OK;
    flight->reading = NULL;
    return hu_comm_worker_read(flight->worker, flight->bucket, action, flight->in,
                               flight->receiving.bytes);
}

hu_status hu_flight_go_on(hu_flight *flight) {
    hu_status st = read_message(flight);
    if (st != HU_OK) return st;
    if (hu_transfer_is_open(&flight->sending) || hu_transfer_is_open(&flight->receiving))
        return HU_OK;
    if (flight->round == flight->rounds) return begin_step(flight);
    merge_exponents(flight);
    return begin_round(flight);
}

void hu_flight_where(const hu_flight *flight, char *text, size_t capacity) {
    const hu_comm_list *list = hu_comm_worker_list(flight->worker);
    const char *layer = flight->plan->layer[flight->plan->bucket[flight->bucket].first].name;
    /* The action before the next one is that which is waited for. */
    if (flight->round < flight->rounds)
        snprintf(text, capacity, "layer %s, exponents", layer);
    else
        snprintf(text, capacity, "layer %s, reduction step %d of %d", layer,
                 list->action[flight->at > 0 ? flight->at - 1 : 0].step + 1, list->steps);
}
