/* kernel/block/rows.c - rows rounded, and rows as bytes. */
#include "kernel/block/pass.h"
#include "kernel/pack/bits.h"

enum { PIECE = HU_BLOCK_PIECE };

/* ---- rounding ---- */

static void raise_exponent(hu_round_counts *counts, uint32_t top) {
    if (!counts || top == 0) return;
    int32_t exponent = top >> 23 ? (int32_t)(top >> 23) - 127 : -118 - __builtin_clz(top);
    if (exponent > counts->max_exponent) counts->max_exponent = exponent;
}

/* Values of a piece of a slab: where they are rotated back pieces are whole groups. */
static void turn_back(const hu_blocker *b, size_t n, float *y) {
    if (b->format.hadamard && !b->stays_rotated)
        hu_hadamard_line(b->format.hadamard, b->signs, n, y, y, true);
}

/* A slab: scales, elements in units of these, back to numbers. MS-EDEN has other scales for the way
 * back. */
static void round_slab(const hu_block_job *job, const hu_block_slab *slab, float *y,
                       uint32_t *top) {
    const hu_blocker *b = job->b;
    uint8_t scales[HU_BLOCK_SLAB_TILES * sizeof(float)], turned[HU_BLOCK_SLAB_TILES];
    float room[PIECE];
    bool is_eden = b->format.way == HU_BLOCK_WAY_EDEN;
    hu_block_grid grid = hu_block_grid_of(b, slab, scales), back = grid;
    hu_block_units there, units;
    hu_block_units_clear(&there);
    hu_block_units_clear(&units);
    hu_block_make_scales(job, slab, &grid, top);
    if (is_eden) {
        memcpy(turned, scales, slab->tiles);
        back.scales = turned;
        hu_block_turn_scales(job, slab, &back);
    }
    hu_block_piece piece = hu_block_before(b, slab);
    while (hu_block_next(b, slab, &piece)) {
        const float *x = hu_block_numbers(job, piece.first, piece.n, room);
        float *to = y + piece.first;
        hu_block_elements(job, &grid, &units, piece.first, piece.n, x, to);
        hu_block_values(job, &back, is_eden ? &there : &units, piece.first, piece.n, to);
        turn_back(b, piece.n, to);
    }
}

/* The tiles of a batch of a pass, as a slab: the row is one line. */
static hu_block_slab slab_of_batch(const hu_blocker *b, int64_t first, size_t n) {
    return (hu_block_slab){0, 1, first, (int64_t)n, n >> b->shift};
}

static size_t batch_of(int64_t all, int64_t first) {
    return (size_t)hu_block_least(all - first, HU_PASS_MOST);
}

/* A batch of `all` elements that its pass has left, the general way. */
static void round_left(const hu_block_job *job, int64_t all, int64_t first, size_t n, float *y,
                       uint32_t *top) {
    hu_blocker whole = *job->b;
    hu_block_job own = *job;
    hu_block_slab slab = slab_of_batch(&whole, first, n);
    whole.row_elements = whole.line = all;
    own.b = &whole;
    round_slab(&own, &slab, y, top);
}

/* Rows of whole tiles are one row of them. */
static void round_batches(const hu_block_job *job, int64_t all, float *y) {
    uint32_t top = 0;
    for (int64_t first = 0, n; first < all; first += n) {
        n = (int64_t)batch_of(all, first);
        if (!hu_block_pass_round(job, first, (size_t)n, y + first, &top))
            round_left(job, all, first, (size_t)n, y, &top);
    }
    raise_exponent(job->counts, top);
}

static void round_row(const hu_block_job *job, float *y) {
    hu_block_slab slab = {0};
    uint32_t top = 0;
    while (hu_block_next_slab(job->b, &slab)) round_slab(job, &slab, y, &top);
    raise_exponent(job->counts, top);
}

void hu_blocker_round(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                      float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts) {
    if (blocker->has_pass) {
        hu_block_job job = {blocker, tensor_scale, x, key, first_index, counts};
        round_batches(&job, rows * blocker->row_elements, y);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r * blocker->row_elements;
        hu_block_job job = {blocker, tensor_scale, x + at, key, first_index + (uint64_t)at, counts};
        round_row(&job, y + at);
    }
}

/* ---- bytes ---- */

/* Sign and magnitude <-> two's complement: the same map, since -128 is no code. */
static void complement(size_t n, uint8_t *codes) {
    for (size_t i = 0; i < n; i++) {
        uint8_t is_negative = codes[i] >> 7;
        codes[i] = is_negative ? (uint8_t)(0x80 | (0x80 - (codes[i] & 0x7F))) : codes[i];
    }
}

/* Codes of the elements from..end-1 of a row whose scales stand after them already. Pieces are cut
 * without regard to tiles: they may begin and end within one. */
static void pack_elements(const hu_block_job *job, const hu_block_grid *grid, int64_t from,
                          int64_t end, uint8_t *row) {
    const hu_blocker *b = job->b;
    float y[PIECE], room[PIECE];
    uint8_t joined[PIECE];
    hu_block_units units;
    hu_block_units_clear(&units);
    for (int64_t first = from; first < end; first += PIECE) {
        size_t n = (size_t)hu_block_least(end - first, PIECE);
        uint8_t *bytes = row + hu_block_dense_bytes(b, first);
        const float *x = hu_block_numbers(job, first, n, room);
        hu_block_elements(job, grid, &units, first, n, x, y);
        if (!b->is_joined) {
            hu_packer_pack(&b->packer, n, y, bytes, NULL);
            if (b->is_integer) complement(n, bytes);
            continue;
        }
        hu_packer_pack(&b->packer, n, y, joined, NULL);
        hu_join_bits(n, joined, 1, b->width, bytes);
    }
}

/* A row of whole tiles by passes. */
static void pack_batches(const hu_block_job *job, const hu_block_grid *grid, uint8_t *row,
                         uint32_t *top) {
    const hu_blocker *b = job->b;
    for (int64_t first = 0, n; first < b->row_elements; first += n) {
        n = (int64_t)batch_of(b->row_elements, first);
        hu_block_slab slab = slab_of_batch(b, first, (size_t)n);
        uint8_t *scales = grid->scales + (size_t)(first >> b->shift) * b->scale_bytes;
        if (hu_block_pass_pack(job, first, (size_t)n, row + hu_block_dense_bytes(b, first), scales,
                               top))
            continue;
        hu_block_make_scales(job, &slab, grid, top);
        pack_elements(job, grid, first, first + n, row);
    }
}

/* One row into its bytes: codes, then scales. The scales of the whole row come first: pieces of
 * elements need not end where tiles do. Those of MS-EDEN are turned at last. */
static void pack_row(const hu_block_job *job, uint8_t *row) {
    const hu_blocker *b = job->b;
    hu_block_grid grid = {row + b->code_bytes, 0, 0, b->line_blocks};
    hu_block_slab slab = {0}, again = {0};
    uint32_t top = 0;
    if (b->has_pass) {
        pack_batches(job, &grid, row, &top);
        raise_exponent(job->counts, top);
        return;
    }
    while (hu_block_next_slab(b, &slab)) hu_block_make_scales(job, &slab, &grid, &top);
    pack_elements(job, &grid, 0, b->row_elements, row);
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

/* Elements first .. first+n-1 of a packed row, first a multiple of 8, at most a piece. */
static void unpack_elements(const hu_blocker *b, const uint8_t *row, int64_t first, size_t n,
                            float *y) {
    const uint8_t *codes = row + hu_block_dense_bytes(b, first);
    uint8_t units[PIECE];
    if (b->is_integer) memcpy(units, codes, n);
    if (b->is_integer) complement(n, units);
    if (b->is_joined) hu_split_bits(n, codes, b->width, units, 1);
    hu_packer_unpack(&b->packer, n, b->is_integer || b->is_joined ? units : codes, y);
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
            unpack_elements(b, row, a, (size_t)hu_block_least(from + all - a, PIECE),
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
    size_t done = 0;
    if (blocker->has_pass && (first & (blocker->format.length - 1)) == 0) {
        done = n >> blocker->shift << blocker->shift;
        hu_block_pass_unpack(blocker, tensor_scale, done,
                             (const uint8_t *)row + hu_block_dense_bytes(blocker, first),
                             grid.scales + (size_t)(first >> blocker->shift) * blocker->scale_bytes,
                             y);
    }
    for (size_t at = done; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        unpack_elements(blocker, row, first + (int64_t)at, count, y + at);
        hu_block_values(&job, &grid, &units, first + (int64_t)at, count, y + at);
    }
}
