/* comm/bucket_exchange.h - one bucket on its way: what a worker does for it, message by message, as
 * far as it can without waiting. Several buckets may be on their way at once; they share nothing
 * but the worker, in which their layers lie apart.
 */
#ifndef HU_COMM_BUCKET_EXCHANGE_H
#define HU_COMM_BUCKET_EXCHANGE_H
#include "comm/transport.h"
#include "comm/worker.h"

typedef struct hu_bucket_exchange {
    hu_transport *transport; /* Borrowed, as the plan and the worker */
    const hu_comm_plan *plan;
    hu_comm_worker *worker;
    int32_t tag;                   /* of its messages, the same at all workers */
    int32_t bucket;                /* NO_BUCKET: the next one may begin */
    int32_t round, rounds;         /* of the agreement upon exponents */
    int32_t at;                    /* next action */
    const hu_comm_action *reading; /* whose message is received; NULL: none */
    int8_t *exponent, *heard;      /* [layers of a bucket] the largest so far; those of another */
    uint8_t *out, *in;             /* messages: room of the transport */
    int64_t room_bytes;            /* of both */
    hu_transfer sending, receiving;
} hu_bucket_exchange;

enum { HU_FLIGHT_NONE = -1 };

/* HU_ERR_MEMORY. */
hu_status hu_bucket_exchange_create(const hu_comm_plan *plan, hu_comm_worker *worker,
                                    hu_transport *transport, int32_t tag,
                                    hu_bucket_exchange **exchange);

/* Receives that are on their way are given up. NULL is allowed. */
void hu_bucket_exchange_free(hu_bucket_exchange *exchange);

/* Begins with a bucket; there is none on its way. Errors as hu_bucket_exchange_go_on. */
hu_status hu_bucket_exchange_begin(hu_bucket_exchange *exchange, int32_t bucket);

/* After something of sending or receiving was done: does all that needs no wait. The flight is over
 * when its bucket is HU_FLIGHT_NONE: the gradients of the layers are sums. HU_ERR_PEER,
 * HU_ERR_CORRUPT, HU_ERR_LIMIT. */
hu_status hu_bucket_exchange_go_on(hu_bucket_exchange *exchange);

/* Where it is: "layer conv1.weight, reduction step 3 of 14"; capacity bytes of text. */
void hu_bucket_exchange_where(const hu_bucket_exchange *exchange, char *text, size_t capacity);

#endif
