/* kernel/block/rows.c - rows rounded, and rows as bytes. */
#include "kernel/block/lines.h"

enum { PIECE = HU_BLOCK_PIECE };

/* ---- rounding ---- */

static void raise_exponent(hu_round_counts *counts, uint32_t top) {
    if (!counts || top == 0) return;
    int32_t exponent = top >> 23 ? (int32_t)(top >> 23) - 127 : -118 - __builtin_clz(top);
    if (exponent > counts->max_exponent) counts->max_exponent = exponent;
}

static void round_row(const hu_block_job *job, float *y) {
    hu_block_slab slab = {0};
    uint32_t top = 0;
    while (hu_block_next_slab(job->b, &slab)) hu_block_round_slab(job, &slab, y, &top);
    raise_exponent(job->counts, top);
}

void hu_blocker_round(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                      float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts) {
    if (blocker->has_pass) {
        hu_block_job job = {blocker, tensor_scale, x, key, first_index, counts};
        uint32_t top = 0;
        hu_block_lines_round(&job, rows * blocker->row_elements, y, &top);
        raise_exponent(counts, top);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r * blocker->row_elements;
        hu_block_job job = {blocker, tensor_scale, x + at, key, first_index + (uint64_t)at, counts};
        round_row(&job, y + at);
    }
}

/* ---- bytes ---- */

/* One row into its bytes: codes, then scales. The scales of the whole row come first: pieces of
 * elements need not end where tiles do. Those of MS-EDEN are turned at last. */
static void pack_row(const hu_block_job *job, uint8_t *row) {
    const hu_blocker *b = job->b;
    hu_block_grid grid = {row + b->code_bytes, 0, 0, b->line_blocks};
    hu_block_slab slab = {0}, again = {0};
    uint32_t top = 0;
    if (b->has_pass) {
        hu_block_lines_pack(job, row, &top);
        raise_exponent(job->counts, top);
        return;
    }
    while (hu_block_next_slab(b, &slab)) hu_block_make_scales(job, &slab, &grid, &top);
    hu_block_pack_elements(job, &grid, 0, b->row_elements, row);
    while (b->format.way == HU_BLOCK_WAY_EDEN && hu_block_next_slab(b, &again))
        hu_block_turn_scales(job, &again, &grid);
    raise_exponent(job->counts, top);
}

void hu_blocker_pack(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                     void *data, const hu_random_key *key, uint64_t first_index,
                     hu_round_counts *counts) {
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r * blocker->row_elements;
        hu_block_job job = {blocker, tensor_scale, x + at, key, first_index + (uint64_t)at, counts};
        pack_row(&job, (uint8_t *)data + (size_t)r * blocker->row_bytes);
    }
}

/* Numbers of a row that are rotated back: whole groups are read, and what is asked for is taken. */
static void unpack_rotated(const hu_block_job *job, const hu_block_grid *grid, const uint8_t *row,
                           int64_t first, size_t n, float *y) {
    enum { BYTE = 8 };
    const hu_blocker *b = job->b;
    const int64_t size = b->format.hadamard;
    float room[PIECE + BYTE];
    hu_block_units units;
    hu_block_units_clear(&units);
    for (int64_t at = first, end = first + (int64_t)n; at < end;) {
        int64_t from = hu_block_group_start(b, at), byte = from / BYTE * BYTE;
        int64_t wanted = (end - from + size - 1) / size * size, left = b->line - from % b->line;
        int64_t all = hu_block_least(hu_block_least(wanted, left), PIECE);
        int64_t count = hu_block_least(from + all, end) - at;
        float *groups = room + (from - byte);
        for (int64_t a = byte; a < from + all; a += PIECE)
            hu_block_unpack_elements(b, row, a, (size_t)hu_block_least(from + all - a, PIECE),
                                     room + (a - byte));
        hu_block_values(job, grid, &units, from, (size_t)all, groups);
        hu_hadamard_line((int32_t)size, b->signs, (size_t)all, groups, groups, true);
        memcpy(y + (at - first), groups + (at - from), (size_t)count * sizeof *y);
        at += count;
    }
}

void hu_blocker_unpack(const hu_blocker *blocker, float tensor_scale, const void *row,
                       int64_t first, size_t n, float *y) {
    /* The grid is only read. */
    hu_block_grid grid = {(uint8_t *)(uintptr_t)row + blocker->code_bytes, 0, 0,
                          blocker->line_blocks};
    hu_block_job job = {.b = blocker, .tensor_scale = tensor_scale};
    hu_block_units units;
    hu_block_units_clear(&units);
    if (blocker->format.hadamard && !blocker->stays_rotated) {
        unpack_rotated(&job, &grid, row, first, n, y);
        return;
    }
    size_t done =
        blocker->has_pass ? hu_block_lines_unpack(blocker, tensor_scale, row, first, n, y) : 0;
    for (size_t at = done; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        hu_block_unpack_elements(blocker, row, first + (int64_t)at, count, y + at);
        hu_block_values(&job, &grid, &units, first + (int64_t)at, count, y + at);
    }
}
