#include "comm/bucket_exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/cost_model.h"

static hu_status make_room(hu_bucket_exchange *exchange) {
    const hu_comm_list *list = hu_comm_worker_list(exchange->worker);
    const hu_transport_kind *kind = exchange->transport->kind;
    size_t layers = 0, out = hu_comm_largest_message(exchange->plan, list, true);
    size_t in = hu_comm_largest_message(exchange->plan, list, false);
    hu_status st = HU_OK;
    for (int32_t b = 0; b < exchange->plan->buckets; b++)
        if ((size_t)exchange->plan->bucket[b].count > layers)
            layers = (size_t)exchange->plan->bucket[b].count;
    size_t agreed =
        hu_comm_agreed_bytes(exchange->plan) > 1 ? hu_comm_agreed_bytes(exchange->plan) : 1;
    HU_TRY(hu_new_array(layers, agreed, &exchange->exponent));
    HU_TRY(hu_new_array(layers, agreed, &exchange->heard));
    exchange->out = kind->room(exchange->transport, out);
    exchange->in = kind->room(exchange->transport, in);
    if (exchange->out && exchange->in)
        exchange->room_bytes = (int64_t)(out + in);
    else
        st = hu_fail(HU_ERR_MEMORY, "found no room for messages of %zu and %zu bytes", out, in);
    hu_memory_count_other(HU_MEMORY_WORKERS, exchange->room_bytes);
done:
    return st;
}

hu_status hu_bucket_exchange_create(const hu_comm_plan *plan, hu_comm_worker *worker,
                                    hu_transport *transport, int32_t tag,
                                    hu_bucket_exchange **result) {
    hu_status st = HU_OK;
    hu_bucket_exchange *exchange = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&exchange));
    exchange->plan = plan;
    exchange->worker = worker;
    exchange->transport = transport;
    exchange->tag = tag;
    exchange->bucket = HU_FLIGHT_NONE;
    exchange->rounds = (int32_t)hu_comm_agreement_steps(plan);
    HU_TRY(make_room(exchange));
    *result = exchange;
    exchange = NULL;
done:
    hu_bucket_exchange_free(exchange);
    return st;
}

void hu_bucket_exchange_free(hu_bucket_exchange *exchange) {
    if (!exchange) return;
    hu_transfer_cancel(exchange->transport, &exchange->receiving);
    if (exchange->out) exchange->transport->kind->free_room(exchange->transport, exchange->out);
    if (exchange->in) exchange->transport->kind->free_room(exchange->transport, exchange->in);
    hu_memory_count_other(HU_MEMORY_WORKERS, -exchange->room_bytes);
    hu_free(exchange->exponent);
    hu_free(exchange->heard);
    hu_free(exchange);
}

/* After round r a worker has heard of 2^(r + 1): the one so far before it tells what it knows. That
 * some are heard of twice changes no maximum. */
static hu_status exchange_exponents(hu_bucket_exchange *exchange) {
    int32_t rank = exchange->transport->rank, workers = exchange->plan->options.workers;
    int32_t far = 1 << exchange->round;
    size_t bytes = (size_t)exchange->plan->bucket[exchange->bucket].count *
                   hu_comm_agreed_bytes(exchange->plan);
    hu_status st = hu_transfer_receive(exchange->transport, (rank - far + workers) % workers,
                                       exchange->tag, exchange->heard, bytes, &exchange->receiving);
    if (st != HU_OK) return st;
    return hu_transfer_send(exchange->transport, (rank + far) % workers, exchange->tag,
                            exchange->exponent, bytes, &exchange->sending);
}

static void merge_exponents(hu_bucket_exchange *exchange) {
    hu_comm_agree(exchange->plan, exchange->plan->bucket[exchange->bucket].count, exchange->heard,
                  exchange->exponent);
    exchange->round++;
}

static hu_status begin_message(hu_bucket_exchange *exchange, const hu_comm_action *action) {
    size_t bytes = hu_comm_message_bytes(exchange->plan, exchange->bucket, action);
    if (action->act != HU_COMM_SEND) {
        exchange->reading = action;
        return hu_transfer_receive(exchange->transport, action->peer, exchange->tag, exchange->in,
                                   bytes, &exchange->receiving);
    }
    hu_comm_worker_write(exchange->worker, exchange->bucket, action, exchange->out);
    return hu_transfer_send(exchange->transport, action->peer, exchange->tag, exchange->out, bytes,
                            &exchange->sending);
}

/* Begins the messages of the next step, after the sums before it; without any the flight ends. */
static hu_status begin_step(hu_bucket_exchange *exchange) {
    const hu_comm_list *list = hu_comm_worker_list(exchange->worker);
    hu_status st = HU_OK;
    int32_t step = -1;
    for (; exchange->at < list->count && st == HU_OK; exchange->at++) {
        const hu_comm_action *action = &list->action[exchange->at];
        bool is_sum = action->act == HU_COMM_COMBINE;
        if (step >= 0 && (is_sum || action->step != step)) return HU_OK;
        if (is_sum) {
            hu_comm_worker_combine(exchange->worker, exchange->bucket, action);
            continue;
        }
        step = action->step;
        st = begin_message(exchange, action);
    }
    if (st != HU_OK || step >= 0) return st;
    hu_comm_worker_finish(exchange->worker, exchange->bucket);
    exchange->bucket = HU_FLIGHT_NONE;
    return HU_OK;
}

/* From agreed exponents to the first messages. */
static hu_status begin_reduction(hu_bucket_exchange *exchange) {
    hu_comm_worker_round(exchange->worker, exchange->bucket,
                         exchange->plan->agrees ? exchange->exponent : NULL);
    return begin_step(exchange);
}

static hu_status begin_round(hu_bucket_exchange *exchange) {
    return exchange->round < exchange->rounds ? exchange_exponents(exchange)
                                              : begin_reduction(exchange);
}

hu_status hu_bucket_exchange_begin(hu_bucket_exchange *exchange, int32_t bucket) {
    exchange->bucket = bucket;
    exchange->round = exchange->at = 0;
    exchange->reading = NULL;
    hu_comm_worker_exponents(exchange->worker, bucket, exchange->exponent);
    return begin_round(exchange);
}

/* What has come is taken while the own message is still on its way. */
static hu_status read_message(hu_bucket_exchange *exchange) {
    const hu_comm_action *action = exchange->reading;
    if (!action || hu_transfer_is_open(&exchange->receiving)) return HU_OK;
    exchange->reading = NULL;
    return hu_comm_worker_read(exchange->worker, exchange->bucket, action, exchange->in,
                               exchange->receiving.bytes);
}

hu_status hu_bucket_exchange_go_on(hu_bucket_exchange *exchange) {
    hu_status st = read_message(exchange);
    if (st != HU_OK) return st;
    if (hu_transfer_is_open(&exchange->sending) || hu_transfer_is_open(&exchange->receiving))
        return HU_OK;
    if (exchange->round == exchange->rounds) return begin_step(exchange);
    merge_exponents(exchange);
    return begin_round(exchange);
}

void hu_bucket_exchange_where(const hu_bucket_exchange *exchange, char *text, size_t capacity) {
    const hu_comm_list *list = hu_comm_worker_list(exchange->worker);
    const char *layer = exchange->plan->layer[exchange->plan->bucket[exchange->bucket].first].name;
    /* The action before the next one is that which is waited for. */
    if (exchange->round < exchange->rounds)
        snprintf(text, capacity, "layer %s, exponents", layer);
    else
        snprintf(text, capacity, "layer %s, reduction step %d of %d", layer,
                 list->action[exchange->at > 0 ? exchange->at - 1 : 0].step + 1, list->steps);
}
