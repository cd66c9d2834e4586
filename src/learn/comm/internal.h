/* comm/internal.h - what the files of comm share. */
#ifndef HU_COMM_INTERNAL_H
#define HU_COMM_INTERNAL_H
#include <signal.h>

#include "comm/plan.h"
#include "comm/transport.h"

/* ---- rendezvous.c: waiting for other processes with a timeout, and finding the lost ranks ---- */

/* As hu_transfer_wait, of at most HU_TRANSPORT_WAITS - 1 transfers. HU_ERR_PEER with the words that
 * tell who is lost if one of them is older than the timeout; they begin a sentence whose end is
 * where this happened. */
hu_status hu_failure_detector_wait(hu_failure_detector *detector, hu_transfer *const *open,
                                   int32_t count, double seconds, int32_t *which);

/* ---- worker.c: one worker of a reduction ---- */

/* One worker of a reduction: its gradient, what it sends and what it makes of what
 * it gets. Knows no transport: comm/internal.h runs many of them in one process,
 * comm/process_group.h one of them in each.
 *
 * The order of calls for each bucket of a step: hu_comm_worker_exponents, hu_comm_worker_round, the
 * actions of the list, hu_comm_worker_finish. Workers share nothing but the plan.
 */

typedef struct hu_comm_worker hu_comm_worker;

/* plan and gradient [plan->elements] are borrowed; the gradient is replaced by the sum over all
 * workers. HU_ERR_MEMORY. */
hu_status hu_comm_worker_create(const hu_comm_plan *plan, int32_t rank, float *gradient,
                                hu_comm_worker **worker);
void hu_comm_worker_free(hu_comm_worker *worker);

/* Bytes of the numbers that a worker with this list holds beside its gradient: codes, those that
 * wait in slots, scales, and what roundings lost. The allocator counts them for
 * HU_MEMORY_WORKERS.
 */
uint64_t hu_comm_worker_bytes(const hu_comm_plan *plan, const hu_comm_list *list);

/* Begins a step of the training: counts are those of this step alone. */
void hu_comm_worker_begin(hu_comm_worker *worker, uint64_t step);

/* Exponents of the layers of a bucket at this worker, [layers of the bucket], or what else is
 * agreed upon, of hu_comm_agreed_bytes each. */
void hu_comm_worker_exponents(hu_comm_worker *worker, int32_t bucket, int8_t *exponent);

/* Rounds the gradients of a bucket into their codes. exponent: the largest of all workers, NULL
 * where the plan does not agree upon any. */
void hu_comm_worker_round(hu_comm_worker *worker, int32_t bucket, const int8_t *exponent);

/* What the worker does. Borrowed: valid as long as the worker. */
const hu_comm_list *hu_comm_worker_list(const hu_comm_worker *worker);

/* Writes the message of a SEND, hu_comm_message_bytes of it. */
void hu_comm_worker_write(const hu_comm_worker *worker, int32_t bucket,
                          const hu_comm_action *action, uint8_t *message);

/* Takes the message of a TAKE, ADD or KEEP: HU_ERR_CORRUPT if it is not the expected one. */
hu_status hu_comm_worker_read(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action,
                              const uint8_t *message, size_t bytes);

/* COMBINE. */
void hu_comm_worker_combine(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action);

/* Codes become float32 again, in place of the gradient. */
void hu_comm_worker_finish(hu_comm_worker *worker, int32_t bucket);

/* Counts of the present step [layers]. Borrowed: valid as long as the worker. */
const hu_comm_counts *hu_comm_worker_counts(const hu_comm_worker *worker);

/* Error feedback: what roundings of kind i lost so far, [elements]; NULL where the plan has none.
 * Borrowed: valid as long as the worker; may be written between steps, as a checkpoint does. */
float *hu_comm_worker_loss(const hu_comm_worker *worker, int32_t i);

/* ---- worker.c, compensated_sum.c: a worker's own structure ---- */

typedef struct hu_comm_worker {
    const hu_comm_plan *plan;
    int32_t rank;
    uint64_t step;
    hu_comm_list list;
    float *gradient;             /* [elements], borrowed */
    uint8_t *codes;              /* of the layers, at code_at */
    size_t *code_at;             /* [layers] bytes */
    uint8_t *slots;              /* of the layers, at slot_at: [slots][numbers of the range] */
    size_t *slot_at;             /* [layers] bytes */
    int8_t *exponent;            /* [layers] agreed upon */
    float *unit;                 /* of codes (comm/plan.h): of layers, or of blocks, at unit_at */
    size_t *unit_at;             /* [layers] */
    float *whole;                /* [numbers of the largest layer] codes on their way out, where
                                    units are of blocks */
    int8_t *scale;               /* [layers][pieces] k of own pieces, where they have their own */
    int8_t *slot_scale;          /* [layers][slot_pieces] k of those in slots */
    int32_t slot_pieces;         /* most pieces that wait in slots */
    float *loss[HU_COMM_LOSSES]; /* [elements] each, NULL without error feedback */
    hu_comm_counts *counts;      /* [layers] */
} hu_comm_worker;

/* Numbers that are worked on at once: 16 KiB of float32. */
enum { HU_COMM_BLOCK = 4096 };

/* Where the codes of elements from `first` of a layer lie. */
static inline void *hu_comm_codes(const hu_comm_worker *worker, int32_t layer, int64_t first) {
    size_t bytes = hu_wire_code_bytes(hu_comm_wire(worker->plan, layer));
    return worker->codes + worker->code_at[layer] + (size_t)first * bytes;
}

/* Where the codes of a slot lie; count: numbers of the range. */
static inline void *hu_comm_slot(const hu_comm_worker *worker, int32_t layer, int32_t slot,
                                 int64_t count) {
    size_t bytes = hu_wire_code_bytes(hu_comm_wire(worker->plan, layer));
    return worker->slots + worker->slot_at[layer] + (size_t)(slot * count) * bytes;
}

/* k of the pieces of a range: own ones, or [slot][count of pieces]. */
static inline int8_t *hu_comm_scales(const hu_comm_worker *worker, int32_t layer, int32_t piece) {
    return worker->scale + (size_t)layer * (size_t)worker->plan->pieces + piece;
}
static inline int8_t *hu_comm_slot_scales(const hu_comm_worker *worker, int32_t layer, int32_t slot,
                                          int32_t pieces) {
    return worker->slot_scale + (size_t)layer * (size_t)worker->slot_pieces + slot * pieces;
}

/* The k of a layer without scales of its pieces. */
int32_t hu_comm_layer_scale(const hu_comm_worker *worker, int32_t layer);

/* Names the random numbers of one rounding of a layer at this worker; place: 0 for gradients, else
 * 1 + the number of the action. */
hu_random_key hu_comm_key(const hu_comm_worker *worker, int32_t layer, int32_t place);

/* The sequence of rounding number i of those that share a place. */
static inline hu_random_key hu_comm_nth_key(hu_random_key key, int32_t i) {
    key.stream += (uint64_t)(uint32_t)i * 0xD6E8FEB86659FD93u; /* odd: a different one for each */
    return key;
}

/* Rounds x, elements first .. of a layer, into own codes of scale k. loss: NULL, or where what the
 * rounding lost is put (of finite numbers). */
void hu_comm_round_range(hu_comm_worker *worker, int32_t layer, hu_comm_range range, float *x,
                         int32_t k, const hu_random_key *key, hu_round_counts *counts, float *loss);

/* The same for a range of pieces whose scales are chosen from their numbers. */
void hu_comm_round_pieces(hu_comm_worker *worker, int32_t layer, int32_t first, int32_t count,
                          const hu_random_key *key, hu_round_counts *counts, float *loss);

/* A layer in codes of the scaling's own. agreed: what all workers agreed upon, of this layer. */
void hu_comm_code_round(hu_comm_worker *worker, int32_t layer, const int8_t *agreed,
                        const hu_random_key *key, float *loss);

/* The layer's part of a message to or from own codes or those of a slot: numbers, or whole ones. */
void hu_comm_code_write(const hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                        uint8_t *to);
void hu_comm_code_read(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                       const uint8_t *from);

/* Sums end where codes end. */
void hu_comm_code_limit(hu_comm_worker *worker, int32_t layer, hu_comm_range range);

/* x[elements] of a layer: codes times their unit. */
void hu_comm_code_finish(const hu_comm_worker *worker, int32_t layer, float *x);

/* Adds what a range of a message has to own codes. */
void hu_comm_add_range(hu_comm_worker *worker, int32_t layer, hu_comm_range range,
                       const uint8_t *bits, const hu_random_key *key);

/* ---- schedule.c ---- */

/* The peer of a message that reaches all others. */
enum { HU_COMM_EVERYONE = -1 };

/* What allreduce.c runs: a first step sends each of the others its piece, a last one everyone the
 * sum. */
extern const hu_comm_schedule hu_comm_schedule_collective;

/* ---- emulated.c ---- */

/* All workers of a reduction in one process, step by step: what the processes of
 * MPI do, message for message, without a network.
 */

typedef struct hu_comm_emulated hu_comm_emulated;

/* gradient [workers] arrays of plan->elements, borrowed, as the plan. HU_ERR_MEMORY. */
hu_status hu_comm_emulated_create(const hu_comm_plan *plan, float *const *gradient, int threads,
                                  hu_comm_emulated **result);
void hu_comm_emulated_free(hu_comm_emulated *emulated);

/* Every worker's gradient becomes the sum over all. Fails only by HU_ERR_CORRUPT, with
 * what the first worker that failed has to say. */
hu_status hu_comm_emulated_run(hu_comm_emulated *emulated, uint64_t step);

/* Borrowed: valid as long as emulated. */
hu_comm_worker *hu_comm_emulated_worker(const hu_comm_emulated *emulated, int32_t rank);

#endif
