/* engine/chunk.h - chunks of samples: their rows, those that are padding, and what uses them. */
#ifndef HU_ENGINE_CHUNK_H
#define HU_ENGINE_CHUNK_H
#include "engine/slot.h"
#include "engine/state.h"
#include "op/sequence.h"

/* ---- usage ---- */

/* What the passes note while they are rehearsed (planner/rehearsal.h): when each
 * buffer is used, how much scratch a thread needs, and which nodes run in a region. */

/* A buffer (HU_NONE: none) is used at the present time. */
void hu_rehearse_buffer(hu_run *run, uint32_t buffer);

/* A thread's scratch is used up to so many bytes. */
void hu_rehearse_scratch(hu_run *run, size_t bytes);

/* ---- parts ---- */

/* One step of the rows of some samples, in a slot whose rows have steps.
 *
 * Slots keep them sample by sample: parts are gathered before an op reads them, and stored one by
 * one. A scale or a range is that of one part, so that no step waits for another, and no sample
 * for the others.
 */

typedef struct hu_parts {
    int64_t step;
    int64_t first, count;  /* count samples: */
    const int32_t *sample; /* [count] first + sample[k] */
    const float *lengths;  /* [first + samples] rows of each part that are there: nobody rounds the
                              zeros behind them. NULL: all are there */
    int64_t row;           /* elements of such a row */
} hu_parts;

/* Elements of one part. */
static inline int64_t hu_part_elements(const hu_slot *slot) {
    return slot->elements / slot->steps;
}

/* Stores +0 in the steps from `step` on of one sample. zeros: [elements] */
void hu_parts_clear(const hu_slot *slot, int64_t sample, int64_t step, const float *zeros);

/* ---- padding ---- */

/* Rows of samples that are padding (graph/finalize.h): zeros, which nobody counts.
 *
 * Whoever has made numbers of a value or of its gradient clears these rows before they are rounded.
 * Zeros stay zeros in a number format and make no scale larger: what remains is to leave them out
 * of the counters. A uniform quantizer may have no zero: its range is that of the other rows, and
 * the rows are cleared again where rounded numbers are read.
 *
 * A loop has the steps that are there and no others (graph/loop.h). What it makes of rows that a
 * node holds has padding in every step, which is cleared, and not looked at when the step is
 * rounded.
 */

/* True if the value has padding in some batch. */
static inline bool hu_has_padding(const hu_run *run, hu_value_id v) {
    return run->graph->value[v].ends.lengths != HU_NONE;
}

/* As hu_dynamic_scale_add_maximum, of all rows of x [count, elements of v] but the padding. */
void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally);

/* Numbers of the value that are padding in the present pass. */
uint64_t hu_padding_elements(const hu_run *run, hu_value_id v);

/* Takes out of counts what these zeros were counted as when the slot rounded them. */
void hu_padding_uncount(const hu_run *run, const hu_slot *slot, hu_value_id v,
                        hu_round_counts *counts);

/* ---- rows ---- */

/* One visit: one chunk in one region, by one thread. What a visit reads and writes
 * lies in place (float32), or in the thread's scratch, from which it is packed.
 *
 * In a rehearsal the same code takes the same steps without numbers: it notes when each buffer is
 * used, how much scratch is needed, and which nodes run in a region (engine/chunk.h).
 */

/* Hands out parts of a thread's scratch memory; base NULL only measures. */
typedef struct hu_bump {
    unsigned char *base;
    size_t used;
} hu_bump;
void *hu_bump_take(hu_bump *bump, size_t bytes);

typedef struct hu_chunk {
    hu_run *run;
    hu_thread *thread;
    uint32_t region;
    hu_pass pass;
    int64_t chunk, first, count; /* samples first .. first+count-1 */
    int64_t partial;             /* index of the partial parameter gradients that are written */
    bool adds;                   /* this chunk's part is added to that partial gradient */
    hu_bump bump;
    const hu_loop *loop; /* the visit is of one step of a loop; NULL: of whole samples */
    hu_parts parts;      /* of the loop: the step, and the samples that take part in it */
    const int64_t *row;  /* of the loop: [samples of the chunk] steps of the samples before each */
    uint64_t number;
    double since; /* start of the work that is timed */
} hu_chunk;

/* Elements of one row of a slot in this visit: of a sample, or of one of its steps. */
static inline int64_t hu_chunk_elements(const hu_chunk *visit, const hu_slot *slot) {
    return visit->loop ? hu_part_elements(slot) : slot->elements;
}

/* Number of the calling thread in its team. */
int hu_thread_number(void);

/* Begins the visit of chunk c by a thread. */
hu_chunk hu_chunk_begin(hu_run *run, hu_thread *thread, uint32_t region, hu_pass pass, int64_t c);

/* Adds the time between two calls to a kind of work, where the pass is timed. */
void hu_work_start(hu_chunk *visit);
void hu_work_stop(hu_chunk *visit, int work);

/* Scratch of the visit; rows of a slot in it. Borrowed: valid during the visit. NULL in a
 * rehearsal. */
void *hu_chunk_take(hu_chunk *visit, size_t bytes);
float *hu_chunk_take_rows(hu_chunk *visit, const hu_slot *slot);

/* A buffer (HU_NONE: none) is used now. */
void hu_chunk_touch(hu_chunk *visit, uint32_t buffer);

/* The stored rows of a slot, in place or unpacked. Borrowed: valid during the visit. */
const float *hu_chunk_read(hu_chunk *visit, const hu_slot *slot);

/* The same of another step of the visit's loop. */
const float *hu_chunk_read_step(hu_chunk *visit, const hu_slot *slot, int64_t step);

/* Where an op writes rows of a slot: in place, in the staging buffer, or in scratch. */
float *hu_chunk_place(hu_chunk *visit, const hu_slot *slot, bool is_stored);

/* What hu_chunk_round does with rows. */
enum {
    HU_ROWS_STORED = 1u << 0, /* the rows outlive the visit */
    HU_ROWS_ON_GRID = 1u << 1 /* the numbers are values of the format already: they are counted,
                                 not rounded */
};

/* Rounds and counts the rows x that an op has just written, and stores them if they outlive the
 * visit. flags: HU_ROWS_*. tally: NULL if the rows were counted in an earlier visit. Returns
 * whether x may be read in this visit; if not, readers use the stored copy (packed blocks), or wait
 * for the tensor's maximum. */
bool hu_chunk_round(hu_chunk *visit, const hu_slot *slot, unsigned flags, hu_tally *tally,
                    float *x);

/* Zeroes rows of x, numbers of a value or of its gradient, that are padding (engine/chunk.h); x
 * NULL: there are none. */
void hu_chunk_clear_padding(hu_chunk *visit, hu_value_id v, float *x);

/* The same of what the slot has rounded, where that may have made something of zeros. */
void hu_chunk_clear_rounded(hu_chunk *visit, const hu_slot *slot, hu_value_id v, const float *x);

/* Only rounds the visit's rows x, of a value or of its gradient, and counts (NULL: not counted). */
void hu_chunk_round_rows(const hu_chunk *visit, const hu_slot *slot, hu_value_id v, float *x,
                         hu_round_counts *counts);

/* Notes the exponents of the visit's rows x of a tally, where the pass records; and looks at them
 * as a pass does that rounds nothing. Of all but padding in the steps of a loop. */
void hu_chunk_record(hu_chunk *visit, uint32_t tally, const float *x);
void hu_chunk_scan(hu_chunk *visit, uint32_t tally, const float *x);

/* The call of a node of this region. */
hu_op_call *hu_chunk_call(hu_chunk *visit, uint32_t n);

/* Runs one of a node's functions, outside rehearsals. */
typedef void hu_chunk_fn(const hu_op_call *call);
void hu_chunk_run_op(hu_chunk *visit, uint32_t n, hu_chunk_fn *run, const hu_op_call *call);

/* Gives the op its own scratch, behind all that was taken. */
void hu_chunk_lend_scratch(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* Points the call at the mask of its samples: stored, or computed again in this visit. */
void hu_chunk_point_mask(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* What this visit has read or made already. */
static inline bool hu_is_seen(const hu_chunk *visit, const hu_seen *seen) {
    return seen->visit == visit->number;
}
static inline void hu_see(const hu_chunk *visit, hu_seen *seen, const void *rows) {
    seen->visit = visit->number;
    seen->rows = (void *)rows;
}
static inline void hu_forget(hu_seen *seen) {
    seen->visit = 0;
}

#endif
