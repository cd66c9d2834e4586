/* kernel/gemm/tile.h - a product under way: what its threads share, what each has, and one tile.
 * Thread-safe: a hu_gemm_job is read only while tiles run, except `next` (atomic); a hu_gemm_worker
 * belongs to one thread.
 */
#ifndef HU_KERNEL_GEMM_TILE_H
#define HU_KERNEL_GEMM_TILE_H
#include "kernel/gemm/prove.h"
#include "kernel/gemm/source.h"

/* How a product is cut into blocks, and where they lie in scratch.
 *
 * k is cut into stretches whose columns of B are packed as a whole, those into runs whose panels
 * fit the first caches. Rows are cut into blocks of panels, columns into chunks of panels; the
 * state of one block x chunk is worked on at a time. Between stretches the state rests in c (or
 * carry). */

/* Bytes of one part of scratch, and its place. */
typedef struct hu_gemm_part {
    size_t offset, bytes;
} hu_gemm_part;

/* How one product is cut; counts are of panels, panels of `rows` rows of A or `columns` rows of B.
 */
typedef struct hu_gemm_plan {
    hu_mac mac; /* of the kernels: FMACS for an FMAC whose format is float32's */
    hu_gemm_shape shape;
    int rows, columns; /* of a tile: of every arithmetic's, F64 kinds have parts of its columns */
    int wide_columns;  /* of F64's tile; 0: none */
    int64_t row_panels, column_panels;
    int64_t block_panels, blocks; /* rows: panels of a block, number of blocks */
    int64_t chunk_panels, chunks; /* columns */
    int64_t group_panels;         /* columns that are packed together */
    int64_t stretch, run;         /* terms, multiples of the block of FMAC-K where that is short */
    int64_t runs;                 /* of a stretch, at most */
    size_t a_unit, b_unit;        /* floats of a panel of one run */
    bool is_a_shared;             /* all of A's stretch is packed before any tile is run */
    bool is_b_near; /* one block of rows: a group of B is packed right before use, and A by every
                       thread for itself, so that they need not wait for each other */
    bool has_extra; /* the kernels' second state is used */
    bool has_two_states; /* sum and extra both rest between stretches */

    /* Shared parts; those of each thread lie at `own` + thread * own_bytes. */
    hu_gemm_part a_images, b_images, b_panels, b_facts, a_panels, a_facts, extra_store;
    hu_gemm_part a_wide, b_wide, sum, extra, reach, is_wide;
    size_t own, own_bytes, bytes;
} hu_gemm_plan;

/* The blocks of a task (extents checked, not empty); bytes never grow when m or k shrinks.
 * HU_ERR_SHAPE: scratch would be larger than any memory. */
hu_status hu_gemm_plan_make(const hu_gemm_task *task, hu_isa isa, hu_gemm_plan *plan);

/* One product: what all threads share. */
typedef struct hu_gemm_job {
    const hu_gemm_task *task;
    hu_gemm_plan plan;
    hu_gemm_prover prover;
    hu_gemm_constants constants;
    hu_source a, b;
    const hu_pack_set *pack;
    hu_gemm_kernel_fn *kernels[HU_GEMM_ARITHMETIC_COUNT][HU_GEMM_CLASS_COUNT];
    bool needs_facts;
    bool a_slices, b_slices; /* panels that many tiles read are measured in slices */
    int64_t first, whole;    /* terms of the call that are summed: from `first` on; TC's steps are
                             complete up to `whole`, what follows may go on in another call */
    char *scratch;
    hu_gemm_counts counts; /* sums of all threads, as the rest below */
    hu_round_counts a_counts, b_counts;
    hu_pack_facts a_seen, b_seen; /* of images */
    int64_t next;                 /* first tile job of the stretch that no thread has taken */
} hu_gemm_job;

/* Rows column .. column + columns - 1 of B, terms first .. first + terms - 1. */
typedef struct hu_gemm_span {
    int64_t column, columns, first, terms;
} hu_gemm_span;

/* Tiles side by side with their state. */
typedef struct hu_gemm_worker {
    const hu_gemm_job *job;
    const float *a_panels, *b_panels; /* of the first row and column panel at hand */
    const hu_unit_facts *a_facts, *b_facts;
    double *a_wide, *b_wide; /* panels of the run at hand as doubles, where is_wide says so */
    bool *is_wide;
    bool is_b_wide;
    float *sum, *extra; /* [block rows][chunk columns] */
    int64_t ld;
    hu_gemm_reach *reach;                           /* [block panels][chunk panels] */
    int64_t first_row, rows, first_column, columns; /* of the state at hand, without padding */
    hu_gemm_span next; /* what the thread packs after the chunk at hand, where B is near */
    hu_gemm_counts counts;
    hu_round_counts a_counts, b_counts; /* of packing */
    int thread;
} hu_gemm_worker;

/* Part of the job's scratch, shared or of one thread. */
static inline void *hu_gemm_shared(const hu_gemm_job *job, hu_gemm_part part) {
    return job->scratch + part.offset;
}
static inline void *hu_gemm_own(const hu_gemm_job *job, hu_gemm_part part, int thread) {
    return job->scratch + part.offset + (size_t)thread * job->plan.own_bytes;
}

/* What hu_gemm_prove knows of numbers [rows][columns], row stride ld. */
hu_panel_facts hu_gemm_measure(const hu_gemm_job *job, const float *x, int64_t rows,
                               int64_t columns, int64_t ld);

/* One run of the stretch. */
typedef struct hu_gemm_run {
    int64_t index, terms, phase; /* phase as of hu_gemm_tile */
} hu_gemm_run;

/* Adds the terms of a run to a tile; b_unit: the unit of b_panels where the tile's columns lie. */
void hu_gemm_run_tile(hu_gemm_worker *worker, int64_t row_panel, int64_t column_panel,
                      int64_t b_unit, const hu_gemm_run *run);

/* Sums between stretches, and what they end as.
 * Thread-safe: different blocks may be loaded and stored at once. */

/* Fills the state of the worker's block and chunk as it is before term k of the call: zeros, carry,
 * or what rests in c; and the reach of its tiles. */
void hu_gemm_state_load(hu_gemm_worker *worker, int64_t k, int64_t row_panels,
                        int64_t column_panels);

/* Stores the state after k terms of the call; is_last: c gets the result. */
void hu_gemm_state_store(hu_gemm_worker *worker, int64_t k, bool is_last);

/* c of a task without terms, from its carry. */
void hu_gemm_state_end(const hu_gemm_task *task);

#endif
