/* kernel/block/choose.c - scales that are chosen by what they make of a tile's elements. */
#include "kernel/block/internal.h"

enum { PIECE = HU_BLOCK_PIECE, TILES = HU_BLOCK_SLAB_TILES };

/* Sums of one kind over the tiles of a slab. */
typedef struct sums_of {
    hu_block_sum_kind kind;
    hu_block_sums *sums; /* [tiles] */
} sums_of;

/* Calls the sums for x, y [n] from an element of the row on. */
static void add(const hu_blocker *b, const hu_block_grid *grid, int64_t zero, int64_t first,
                size_t n, const float *x, const float *y, const sums_of *of) {
    for (size_t at = 0, count; at < n; at += count) {
        int64_t element = first + (int64_t)at;
        count = hu_block_run(b, element, n - at);
        b->kernels->add(b, of->kind, hu_block_place(b, element), count, x + at, y + at,
                        of->sums + (hu_block_tile_at(b, grid, element) - zero));
    }
}

/* Errors of the tiles of a slab with the scales of a grid. */
static void find_errors(const hu_block_job *job, const hu_block_slab *slab,
                        const hu_block_grid *grid, float *errors) {
    const hu_blocker *b = job->b;
    hu_block_sums sums[TILES];
    float room[PIECE], y[PIECE];
    hu_block_units units;
    hu_block_units_clear(&units);
    hu_block_piece piece = hu_block_before(b, slab);
    bool is_square = b->format.choice == HU_BLOCK_CHOICE_FOUR_SQUARES;
    const sums_of of = {is_square ? HU_SUM_SQUARES : HU_SUM_DISTANCES, sums};
    int64_t zero = hu_block_tile_at(b, grid, piece.first);
    memset(sums, 0, slab->tiles * sizeof *sums);
    while (hu_block_next(b, slab, &piece)) {
        const float *x = hu_block_numbers(job, piece.first, piece.n, room);
        hu_block_elements(job, grid, &units, piece.first, piece.n, x, y);
        hu_block_values(job, grid, &units, piece.first, piece.n, y);
        add(b, grid, zero, piece.first, piece.n, x, y, &of);
    }
    for (size_t i = 0; i < slab->tiles; i++) errors[i] = hu_block_sum(&sums[i]);
}

void hu_block_choose(const hu_block_job *job, const hu_block_slab *slab, const hu_block_grid *grid,
                     const uint32_t *tops) {
    const float half_again = 1.5f; /* largest elements become 4 instead of 6 */
    const hu_blocker *b = job->b;
    uint8_t others[TILES];
    float errors[TILES], other_errors[TILES];
    hu_block_job silent = *job;
    hu_block_grid other = hu_block_grid_of(b, slab, others);
    int64_t zero = hu_block_tile_at(b, grid, slab->line * b->line + slab->place);
    uint8_t *scales = grid->scales + zero; /* a byte each: E4M3FN's */
    silent.counts = NULL;
    b->kernels->set_scales(b, job->tensor_scale, half_again, slab->tiles, tops, others);
    find_errors(&silent, slab, grid, errors);
    find_errors(&silent, slab, &other, other_errors);
    for (size_t i = 0; i < slab->tiles; i++)
        if (other_errors[i] < errors[i]) scales[i] = others[i];
}

/* Random words of scales are of a sequence of their own, at the places of the tiles in the row. */
static void round_by_chance(const hu_block_job *job, const hu_block_slab *slab, float *c) {
    const hu_blocker *b = job->b;
    int64_t tile = slab->line * b->line_blocks + slab->place / b->format.length;
    hu_random_key own = *job->key;
    own.stream ^= UINT64_C(1) << 63;
    hu_rounder_run(&b->scale_chance, slab->tiles, c, c, &own, job->index + (uint64_t)tile, NULL);
}

/* Scales c of the tiles of a slab become c t, t of the group that a tile belongs to. */
static void turn(const hu_block_job *job, const hu_block_slab *slab, const float *squares,
                 const float *products, float *c) {
    const hu_blocker *b = job->b;
    int64_t across = hu_block_tiles(&b->format, 1, slab->columns);
    int64_t group = b->format.group / b->format.length;
    for (int64_t tile = 0; tile < (int64_t)slab->tiles;) {
        int64_t left = across - tile % across, count = left < group ? left : group;
        float up = 0.0f, down = 0.0f;
        for (int64_t i = 0; i < count; i++) {
            up += squares[tile + i];
            down += products[tile + i];
        }
        float t = down == 0.0f ? 1.0f : up / down;
        for (int64_t i = 0; i < count; i++, tile++) c[tile] *= t;
    }
}

/* z of an element is what the rounder gets; z z and z p are summed of it and of the element p. */
void hu_block_turn_scales(const hu_block_job *job, const hu_block_slab *slab,
                          const hu_block_grid *grid) {
    const hu_blocker *b = job->b;
    hu_block_sums sums[2][TILES];
    float room[PIECE], z[PIECE], p[PIECE], total[2][TILES], c[TILES];
    hu_block_units units;
    hu_block_units_clear(&units);
    hu_block_piece piece = hu_block_before(b, slab);
    const sums_of squares = {HU_SUM_PRODUCTS, sums[0]}, products = {HU_SUM_PRODUCTS, sums[1]};
    int64_t zero = hu_block_tile_at(b, grid, piece.first);
    for (int k = 0; k < 2; k++) memset(sums[k], 0, slab->tiles * sizeof *sums[k]);
    while (hu_block_next(b, slab, &piece)) {
        const float *x = hu_block_numbers(job, piece.first, piece.n, room);
        hu_block_divide(job, grid, &units, piece.first, piece.n, x, z, NULL);
        hu_rounder_run(&b->rounder, piece.n, z, p, job->key, job->index + (uint64_t)piece.first,
                       NULL);
        add(b, grid, zero, piece.first, piece.n, z, z, &squares);
        add(b, grid, zero, piece.first, piece.n, z, p, &products);
    }
    for (size_t i = 0; i < slab->tiles; i++)
        for (int k = 0; k < 2; k++) total[k][i] = hu_block_sum(&sums[k][i]);
    hu_block_read_scales(b, slab->tiles, grid->scales + zero, c);
    turn(job, slab, total[0], total[1], c);
    round_by_chance(job, slab, c);
    hu_block_write_scales(b, slab->tiles, c, grid->scales + zero);
}
