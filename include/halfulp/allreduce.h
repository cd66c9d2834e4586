/* halfulp/allreduce.h - the sum of gradients over processes in a narrow format: one process's part,
 * whose messages the caller carries.
 *
 * The arithmetic is that of a training's workers with comm.schedule=pairwise, bit for bit
 * (docs/reference/numerics/workers.md): every process owns a piece of each layer, gets it from all
 * others, adds it in the order of the processes, and sends everyone the sum. So an all-to-all and
 * an all-gather of bytes, of whatever library, carry it. A step of process r of p:
 *
 *   hu_allreduce_begin   told                  -> all-gather, unless it has no bytes
 *   hu_allreduce_round   parts, p - 1 messages -> all-to-all: part i of each reaches process i
 *   hu_allreduce_add     sum                   -> all-gather
 *   hu_allreduce_end     the gradient is the sum over all processes
 *
 * Messages have a head by which hu_allreduce_add and hu_allreduce_end know those of another step,
 * of other settings, and damaged ones. One thread at a time may call for one handle.
 * Proof: tests/unit/comm_allreduce_test.c, against a training's workers in one process.
 */
#ifndef HALFULP_ALLREDUCE_H
#define HALFULP_ALLREDUCE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/round.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hu_allreduce hu_allreduce;

/* Equal in all processes but for the rank. Texts are those of the settings comm.*. */
typedef struct hu_allreduce_options {
    size_t size;          /* sizeof(hu_allreduce_options) */
    int32_t workers;      /* processes, at least 1 */
    int32_t rank;         /* of this one, from 0 */
    const char *format;   /* on the wire, "e5m2"; "fp32": nothing is rounded. Scalings with codes of
                             their own leave it unused */
    const char *scaling;  /* "none", "constant:K", "aps", "aps-tight", "aps-wide", "aps2",
                             "terngrad[:C]", "qsgd[:B[/D]]" or "flex16+5" */
    hu_rounding rounding; /* of every rounding on the way */
    int32_t kahan;        /* 1: owners add with Kahan's compensation */
    int32_t error_feedback; /* 1: what roundings lose joins the gradient of the next step */
    uint64_t seed;          /* of what is drawn */
} hu_allreduce_options;

/* One tensor of the gradient: what has a scale of its own. */
typedef struct hu_allreduce_layer {
    const char *name; /* names the random words, as that of a parameter in a training */
    int64_t elements; /* at least 0 */
    int32_t is_exact; /* 1: travels in float32 */
} hu_allreduce_layer;

/* Layers lie one behind the other in the gradient; both arguments are copied.
 *
 *   layer      [layers], at least one
 *   allreduce  owner frees with hu_allreduce_close; NULL on failure
 *
 * HU_ERR_UNKNOWN, HU_ERR_PARSE, HU_ERR_FORMAT: of the texts; HU_ERR_ARGUMENT: what does not fit;
 * HU_ERR_MEMORY. */
HU_API hu_status hu_allreduce_open(const hu_allreduce_options *options,
                                   const hu_allreduce_layer *layer, size_t layers,
                                   hu_allreduce **allreduce);
HU_API void hu_allreduce_close(hu_allreduce *allreduce);

/* Writes the settings as a text that is equal where they are, without the rank: "format=e5m2
 * scaling=aps rounding=rne kahan=off error_feedback=on seed=0 workers=4", with codes of a scaling's
 * own without the format; 256 bytes are enough. */
HU_API void hu_allreduce_print(const hu_allreduce *allreduce, char *text, uint32_t capacity);

/* Bytes of what each process tells before numbers are sent; 0: nothing has to be told. Then `told`
 * may be NULL below. */
HU_API size_t hu_allreduce_told_bytes(const hu_allreduce *allreduce);

/* Bytes of the message that each of the others sends to the owner of a piece, and of the one with
 * its sum that the owner sends to all of them; 0: there is no such process. */
HU_API size_t hu_allreduce_part_bytes(const hu_allreduce *allreduce, int32_t owner);
HU_API size_t hu_allreduce_sum_bytes(const hu_allreduce *allreduce, int32_t owner);

/* Begins a step.
 *
 *   step  of the training: random words and messages are those of the step
 *   x     [elements of all layers] the gradient of this process. Borrowed until hu_allreduce_end,
 *         which writes the sum there; other calls may change it before
 *   told  [hu_allreduce_told_bytes] to be gathered */
HU_API hu_status hu_allreduce_begin(hu_allreduce *allreduce, uint64_t step, float *x, void *told);

/* Rounds the gradient into codes.
 *
 *   told   [workers][hu_allreduce_told_bytes] of all processes, in their order
 *   parts  the messages to all others in the order of their ranks, one behind the other:
 *          hu_allreduce_part_bytes of each; NULL where this is the only process
 *
 * HU_ERR_ARGUMENT, as of the next two: it is not its turn. */
HU_API hu_status hu_allreduce_round(hu_allreduce *allreduce, const void *told, void *parts);

/* Adds the codes of this process's piece.
 *
 *   parts  [workers - 1][hu_allreduce_part_bytes of this process] messages of all others in the
 *          order of their ranks; NULL where there are none
 *   sum    [hu_allreduce_sum_bytes of this process] to be gathered
 *
 * HU_ERR_CORRUPT: a message is not the expected one, with the rank that it comes from; the step is
 * lost then, and hu_allreduce_begin is next. */
HU_API hu_status hu_allreduce_add(hu_allreduce *allreduce, const void *parts, void *sum);

/* Writes the sum over all processes in place of the gradient.
 *
 *   sums    [workers][stride] the message of each process at the begin of its row, in their order;
 *           that of this one is not read. Not overlapping x
 *   stride  bytes of a row, at least hu_allreduce_sum_bytes of each of the others
 *
 * HU_ERR_CORRUPT as hu_allreduce_add; x is then anything. */
HU_API hu_status hu_allreduce_end(hu_allreduce *allreduce, const void *sums, size_t stride);

/* What roundings of this process did to a layer in the latest step: of its gradient, and of the
 * sums of its piece. Exponents are those of the numbers as they are sent. HU_ERR_ARGUMENT: there is
 * no such layer. */
HU_API hu_status hu_allreduce_counts(const hu_allreduce *allreduce, size_t layer,
                                     hu_round_counts *rounded, hu_round_counts *added);

enum { HU_ALLREDUCE_LOSSES = 2 };

/* With error feedback: what roundings of kind 0 (of gradients and of sums in the format) and of
 * kind 1 (of sums in float32) have lost so far, [elements of all layers]; NULL: none of this kind
 * is kept. It joins the gradient of the next step, and may be written between steps, as a
 * checkpoint does. Borrowed: valid until the handle is closed. */
HU_API float *hu_allreduce_lost(hu_allreduce *allreduce, int32_t kind);

#ifdef __cplusplus
}
#endif

#endif
