/* kernel/block/slab.c - numbers of a row rounded, packed and unpacked the general way, which is the
 * definition. */
#include "kernel/block/internal.h"
#include "kernel/pack/bits.h"

enum { PIECE = HU_BLOCK_PIECE };

/* Values of a piece of a slab: where they are rotated back pieces are whole groups. */
static void turn_back(const hu_blocker *b, size_t n, float *y) {
    if (b->format.hadamard && !b->stays_rotated)
        hu_hadamard_line(b->format.hadamard, b->signs, n, y, y, true);
}

/* A slab: scales, elements in units of these, back to numbers. MS-EDEN has other scales for the way
 * back. */
void hu_block_round_slab(const hu_block_job *job, const hu_block_slab *slab, float *y,
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

/* Sign and magnitude <-> two's complement: the same map, since -128 is no code. */
static void complement(size_t n, uint8_t *codes) {
    for (size_t i = 0; i < n; i++) {
        uint8_t is_negative = codes[i] >> 7;
        codes[i] = is_negative ? (uint8_t)(0x80 | (0x80 - (codes[i] & 0x7F))) : codes[i];
    }
}

/* Codes of the elements from..end-1 of a row whose scales stand after them already. Pieces are cut
 * without regard to tiles: they may begin and end within one. */
void hu_block_pack_elements(const hu_block_job *job, const hu_block_grid *grid, int64_t from,
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

/* Elements first .. first+n-1 of a packed row, first a multiple of 8, at most a piece. */
void hu_block_unpack_elements(const hu_blocker *b, const uint8_t *row, int64_t first, size_t n,
                              float *y) {
    const uint8_t *codes = row + hu_block_dense_bytes(b, first);
    uint8_t units[PIECE];
    if (b->is_integer) memcpy(units, codes, n);
    if (b->is_integer) complement(n, units);
    if (b->is_joined) hu_split_bits(n, codes, b->width, units, 1);
    hu_packer_unpack(&b->packer, n, b->is_integer || b->is_joined ? units : codes, y);
}
