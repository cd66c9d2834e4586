/* kernel/gemm/plan.h - how a product is cut into blocks, and where they lie in scratch.
 *
 * k is cut into stretches whose columns of B are packed as a whole, those into runs whose panels
 * fit the first caches. Rows are cut into blocks of panels, columns into chunks of panels; the
 * state of one block x chunk is worked on at a time. Between stretches the state rests in c (or
 * carry).
 */
#ifndef HU_KERNEL_GEMM_PLAN_H
#define HU_KERNEL_GEMM_PLAN_H
#include "kernel/gemm/prove.h"

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

#endif
