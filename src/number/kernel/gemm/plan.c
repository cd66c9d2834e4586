/* kernel/gemm/plan.c - blocks sized for caches of 32 KiB, 512 KiB and more. */
#include "kernel/gemm/tile.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernel/gemm/kernel.h"
#include "kernel/gemm/source.h"

enum {
    ALIGNMENT = 64,
    BLOCK_ROWS = 96,
    SINGLE_ROWS = 192, /* up to here there is one block */
    CHUNK_COLUMNS = 256,
    RUN_MAX = 320,
    STRETCH_MAX = 1024,
    STEP = 8,
    STEP_MAX = 64,
    B_FLOATS = 1 << 18,
    GROUP_FLOATS = 1 << 16 /* beside a block of A in the second cache */
};

_Static_assert(RUN_MAX <= HU_PANEL_SLICES * HU_SLICE_TERMS, "a run has a panel's slices");

static int64_t divide_up(int64_t value, int64_t by) {
    return (value + by - 1) / by;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* R of an FMAC in float32's own format is what a fused multiply-add does: FMACS gives the same
 * bits. */
static bool is_float32_fmac(const hu_gemm_task *task) {
    const hu_format *f = &task->accumulator.format;
    return task->accumulator.mac == HU_MAC_FMAC && f->exp_bits == 8 && f->man_bits == 23 &&
           f->bias == 127 && f->specials == HU_SPECIALS_IEEE && f->subnormals &&
           f->overflow == HU_OVERFLOW_INF;
}

/* FMACS counts no subnormal accumulators. */
static hu_mac mac_of(const hu_gemm_task *task) {
    bool is_fmacs = is_float32_fmac(task) && !task->counts;
    return is_fmacs ? HU_MAC_FMACS : task->accumulator.mac;
}

/* The tile of a shape: F32's extents, and how many of its columns an F64 kernel takes at once. */
static void choose_tile(const hu_gemm_task *task, hu_isa isa, hu_gemm_shape shape,
                        hu_gemm_plan *p) {
    hu_gemm_kernel tile = hu_gemm_kernel_of(isa, p->mac, HU_GEMM_F32, HU_GEMM_FULL, shape);
    p->shape = shape;
    p->rows = tile.rows;
    p->columns = tile.columns;
    p->wide_columns =
        hu_gemm_kernel_of(isa, task->accumulator.mac, HU_GEMM_F64, HU_GEMM_FULL, shape).columns;
}

/* Lengths of stretches and runs are multiples of this: of 8 for whole vectors in packing, of
 * FMAC-K's block where it is short, so that blocks end where runs do, and always of a tensor core's
 * step. */
static int64_t step_of(const hu_accumulator *accumulator) {
    int64_t block = accumulator->block;
    if (accumulator->mac == HU_MAC_TC) return block < STEP ? divide_up(STEP, block) * block : block;
    if (accumulator->mac != HU_MAC_FMAC_K || block > STEP_MAX) return STEP;
    return block < STEP ? divide_up(STEP, block) * block : block;
}

/* As many terms as keep all panels of B in B_FLOATS (1 MiB). */
static int64_t stretch_max(int64_t padded_columns, int64_t run, int64_t step) {
    int64_t fits = least(B_FLOATS / padded_columns, STRETCH_MAX) / step * step;
    return most_of(fits, run);
}

/* Runs and stretches of about equal length, none longer than RUN_MAX or what stretch_max allows: a
 * short last one would waste its packing. Units have room for the longest run and the spill after
 * it. */
static void cut_terms(const hu_gemm_task *task, hu_gemm_plan *p) {
    int64_t step = step_of(&task->accumulator), run = RUN_MAX / step * step;
    int64_t all = divide_up(task->k, step) * step, padded = p->column_panels * p->columns;
    int64_t most = p->is_b_near ? run : stretch_max(padded, run, step);
    int64_t cap = least(all, most), run_cap = least(all, run);
    p->runs = divide_up(cap, run);
    p->stretch = divide_up(divide_up(task->k, divide_up(task->k, most)), step) * step;
    p->run = divide_up(divide_up(p->stretch, divide_up(p->stretch, run)), step) * step;
    p->a_unit = hu_round_up((size_t)(run_cap * p->rows) + HU_PACK_SPILL, ALIGNMENT / sizeof(float));
    p->b_unit =
        hu_round_up((size_t)(run_cap * p->columns) + HU_PACK_SPILL, ALIGNMENT / sizeof(float));
    hu_mac mac = task->accumulator.mac;
    bool is_aligned = task->accumulator.mac == HU_MAC_FMAC_K && step % task->accumulator.block == 0;
    p->has_extra = mac != HU_MAC_FMACS && mac != HU_MAC_MACS && mac != HU_MAC_MAC;
    p->has_two_states = mac == HU_MAC_KAHAN || mac == HU_MAC_KAHAN_CPD ||
                        (mac == HU_MAC_FMAC_K && !is_aligned) ||
                        (mac == HU_MAC_TC && task->accumulator.promote > 0);
}

/* Panels of a chunk: the state of block x chunk has a bounded size. */
static int64_t chunk_max(const hu_gemm_plan *p) {
    return p->block_panels * p->rows > BLOCK_ROWS ? CHUNK_COLUMNS / 2 / p->columns
                                                  : CHUNK_COLUMNS / p->columns;
}

/* Few rows: one block, B near, chunks enough for every thread. Fewer than two blocks per thread: A
 * is packed once for all, and chunks get smaller until each thread has about three jobs. */
static void cut_tiles(const hu_gemm_task *task, hu_gemm_plan *p) {
    int threads = task->threads;
    p->row_panels = divide_up(task->m, p->rows);
    p->column_panels = divide_up(task->n, p->columns);
    p->is_b_near = p->row_panels <= SINGLE_ROWS / p->rows;
    p->block_panels = p->is_b_near ? p->row_panels : BLOCK_ROWS / p->rows;
    p->blocks = divide_up(p->row_panels, p->block_panels);
    p->is_a_shared = !p->is_b_near && threads > 1 && p->blocks < 2 * (int64_t)threads;
    p->chunk_panels = least(chunk_max(p), p->column_panels);
    if (p->is_b_near)
        p->chunk_panels = least(p->chunk_panels, divide_up(p->column_panels, threads));
    if (p->is_a_shared) {
        int64_t few = p->column_panels * p->blocks / (3 * (int64_t)threads);
        p->chunk_panels = least(p->chunk_panels, few > 1 ? few : 1);
    }
    p->chunks = divide_up(p->column_panels, p->chunk_panels);
}

/* Most panels of a group: many where terms of B are rows of memory, which then are read in long
 * pieces. */
static int64_t most_grouped(const hu_gemm_task *task, const hu_gemm_plan *p) {
    return hu_source_is_side_by_side(&task->b) ? CHUNK_COLUMNS / p->columns : 1;
}

/* Floats of the panels of a thread's group. Grows with the unit, hence with k, alone. */
static int64_t group_floats(const hu_gemm_task *task, const hu_gemm_plan *p) {
    int64_t unit = (int64_t)p->b_unit;
    return most_of(unit, least(most_grouped(task, p) * unit, GROUP_FLOATS));
}

static void cut_groups(const hu_gemm_task *task, hu_gemm_plan *p) {
    p->group_panels = least(group_floats(task, p) / (int64_t)p->b_unit, p->chunk_panels);
}

/* Scratch grows part by part; `fits` stays false after an overflow. */
typedef struct layout {
    size_t bytes;
    bool fits;
} layout;

/* The next part of scratch: count units of `unit` elements of `size` bytes, 64-byte aligned. */
static hu_gemm_part place(layout *l, int64_t count, size_t unit, size_t size) {
    hu_gemm_part part = {.offset = l->bytes};
    l->fits = l->fits && hu_mul_size((size_t)count, unit, &part.bytes) &&
              hu_mul_size(part.bytes, size, &part.bytes) &&
              part.bytes < SIZE_MAX / 2 - l->bytes - ALIGNMENT;
    if (l->fits) l->bytes = hu_round_up(l->bytes + part.bytes, ALIGNMENT);
    return part;
}

/* Elements of state that rest beside c between stretches. */
static int64_t stored_elements(const hu_gemm_task *task, const hu_gemm_plan *p) {
    int64_t step = step_of(&task->accumulator), run = RUN_MAX / step * step;
    int64_t padded = p->column_panels * p->columns;
    if (!p->has_two_states || task->carry) return 0;
    if (task->k > stretch_max(padded, run, step)) return task->m * task->n;
    if (task->k > run) return least(task->m, SINGLE_ROWS) * task->n;
    return 0;
}

/* Room for the largest block structure that any smaller m or k can have (hu_gemm_plan_make: bytes
 * never grow when they shrink), not only for this one's. */
static void place_shared(const hu_gemm_task *task, hu_gemm_plan *p, layout *l) {
    int64_t threads = task->threads, blocks = threads == 1 ? 1 : least(p->blocks, 2 * threads);
    int64_t single = threads * least(p->row_panels, SINGLE_ROWS / p->rows);
    int64_t a_units = most_of(blocks * p->block_panels, single) * p->runs;
    int64_t near = threads * group_floats(task, p), far = p->column_panels * p->runs;
    int64_t near_units = threads * most_grouped(task, p);
    int64_t b_floats = p->is_b_near ? near : most_of(far * (int64_t)p->b_unit, near);
    p->a_images = place(l, 1, hu_source_image_floats(&task->a), sizeof(float));
    p->b_images = place(l, 1, hu_source_image_floats(&task->b), sizeof(float));
    p->b_panels = place(l, b_floats, 1, sizeof(float));
    p->b_facts =
        place(l, p->is_b_near ? near_units : most_of(far, near_units), 1, sizeof(hu_unit_facts));
    p->a_panels = place(l, a_units, p->a_unit, sizeof(float));
    p->a_facts = place(l, a_units, 1, sizeof(hu_unit_facts));
    p->extra_store = place(l, stored_elements(task, p), 1, sizeof(float));
}

/* Of each thread: doubles of the panels at hand, and the state of a block and chunk. */
static void place_own(hu_gemm_plan *p, layout *l) {
    int64_t most = most_of(BLOCK_ROWS / p->rows * (CHUNK_COLUMNS / p->columns),
                           SINGLE_ROWS / p->rows * (CHUNK_COLUMNS / 2 / p->columns));
    int64_t tiles = least(most, p->row_panels * p->column_panels);
    int64_t panels = least(p->row_panels, SINGLE_ROWS / p->rows);
    size_t state = (size_t)(p->rows * p->columns);
    size_t wide = p->wide_columns ? sizeof(double) : 0;
    p->own = l->bytes;
    p->a_wide = place(l, panels, p->a_unit, wide);
    p->b_wide = place(l, 1, p->b_unit, wide);
    p->sum = place(l, tiles, state, sizeof(float));
    p->extra = place(l, tiles, state, sizeof(float));
    p->reach = place(l, tiles, 1, sizeof(hu_gemm_reach));
    p->is_wide = place(l, panels, 1, sizeof(bool));
    p->own_bytes = l->bytes - p->own;
}

/* The plan with tiles of one shape. */
static hu_status make(const hu_gemm_task *task, hu_isa isa, hu_mac mac, hu_gemm_shape shape,
                      hu_gemm_plan *plan) {
    layout l = {.fits = true};
    *plan = (hu_gemm_plan){.mac = mac};
    choose_tile(task, isa, shape, plan);
    cut_tiles(task, plan);
    cut_terms(task, plan);
    cut_groups(task, plan);
    place_shared(task, plan, &l);
    place_own(plan, &l);
    place(&l, task->threads - 1, plan->own_bytes, 1);
    if (!l.fits)
        return hu_fail(HU_ERR_SHAPE, "gemm: scratch of a %lld x %lld x %lld product is too large",
                       (long long)task->m, (long long)task->n, (long long)task->k);
    plan->bytes = l.bytes;
    return HU_OK;
}

/* Multiply-accumulates of one term, padding included. */
static double padded_area(const hu_gemm_plan *p) {
    return (double)(p->row_panels * p->rows) * (double)(p->column_panels * p->columns);
}

/* The kernel that most tiles of a shape will need: exact semantics round to odd where the
 * instruction set can. */
static hu_gemm_kernel usual_kernel(const hu_gemm_task *task, hu_isa isa, hu_mac mac,
                                   hu_gemm_shape shape) {
    hu_gemm_kernel odd = hu_gemm_kernel_of(isa, mac, HU_GEMM_F32_ODD, HU_GEMM_FULL, shape);
    if (task->accumulator.semantics == HU_SEMANTICS_EXACT && odd.run) return odd;
    return hu_gemm_kernel_of(isa, mac, HU_GEMM_F32, HU_GEMM_FULL, shape);
}

/* The shape whose padding costs least, by the time of one multiply-accumulate in each; *most: the
 * bytes of the largest. */
static hu_status choose_shape(const hu_gemm_task *task, hu_isa isa, hu_mac mac, hu_gemm_plan *plan,
                              size_t *most) {
    hu_status st = HU_OK;
    double least_cost = 0;
    for (int shape = 0; shape < HU_GEMM_SHAPE_COUNT; shape++) {
        hu_gemm_plan candidate;
        hu_gemm_kernel kernel = usual_kernel(task, isa, mac, (hu_gemm_shape)shape);
        if (!kernel.run) continue;
        HU_TRY(make(task, isa, mac, (hu_gemm_shape)shape, &candidate));
        double cost = kernel.cost * padded_area(&candidate);
        if (*most < candidate.bytes) *most = candidate.bytes;
        if (shape > 0 && cost >= least_cost) continue;
        least_cost = cost;
        *plan = candidate;
    }
done:
    return st;
}

/* Scratch for every shape and for both ways to sum in float32: which of them serves depends on m
 * and on whether sums are counted, and bytes must not. */
hu_status hu_gemm_plan_make(const hu_gemm_task *task, hu_isa isa, hu_gemm_plan *plan) {
    hu_status st = HU_OK;
    size_t bytes = 0;
    hu_gemm_plan other;
    hu_mac mac = mac_of(task), second = mac == HU_MAC_FMACS ? HU_MAC_FMAC : HU_MAC_FMACS;
    if (is_float32_fmac(task)) HU_TRY(choose_shape(task, isa, second, &other, &bytes));
    HU_TRY(choose_shape(task, isa, mac, plan, &bytes));
    plan->bytes = bytes;
done:
    return st;
}
