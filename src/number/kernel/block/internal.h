/* kernel/block/internal.h - what the files of this folder share. */
#ifndef HU_KERNEL_BLOCK_INTERNAL_H
#define HU_KERNEL_BLOCK_INTERNAL_H
#include <string.h>

#include "base/bits.h"
#include "kernel/block/block.h"

/* Elements of a piece: a multiple of 8, so that dense pieces end at whole bytes, and of every group
 * that is rotated together. Tiles whose scales are found together. */
enum { HU_BLOCK_PIECE = 1024, HU_BLOCK_SLAB_TILES = HU_BLOCK_STEP_TILES };

static inline int64_t hu_block_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Bytes of n element codes as a dense stream. */
static inline size_t hu_block_dense_bytes(const hu_blocker *b, int64_t n) {
    return (size_t)n / 8 * b->width + ((size_t)n % 8 * b->width + 7) / 8;
}

/* The first number of the group that is rotated together with an element. */
static inline int64_t hu_block_group_start(const hu_blocker *b, int64_t element) {
    return element - element % b->line % b->format.hadamard;
}

/* Stored scales of tiles that stand side by side: `across` of them in every row of tiles, the first
 * in row `down` of the tiles, at the element `place` of a line. */
typedef struct hu_block_grid {
    uint8_t *scales;
    int64_t down, place, across;
} hu_block_grid;

/* Divisions take longer than what they place: they are left out where they can be. */
static inline int64_t hu_block_place(const hu_blocker *b, int64_t element) {
    return b->row_lines == 1 ? element : element % b->line;
}

static inline int64_t hu_block_over_length(const hu_blocker *b, int64_t place) {
    return b->shift >= 0 ? place >> b->shift : place / b->format.length;
}

/* Where the scale of the tile stands that holds an element of a row. */
static inline int64_t hu_block_tile_at(const hu_blocker *b, const hu_block_grid *grid,
                                       int64_t element) {
    int64_t line = b->row_lines == 1 ? 0 : element / b->line, place = element - line * b->line;
    int64_t down = b->format.lines == 1 ? line : line / b->format.lines;
    return (down - grid->down) * grid->across + hu_block_over_length(b, place - grid->place);
}

/* Units of tiles that stand side by side. */
typedef struct hu_block_units {
    int64_t first, count; /* of the grid; count 0: none yet */
    bool has_inverse;
    float unit[HU_BLOCK_PIECE], inverse[HU_BLOCK_PIECE];
} hu_block_units;

/* None yet; the arrays stay as they are. */
static inline void hu_block_units_clear(hu_block_units *units) {
    units->count = 0;
}

/* Lines `line` .. line+lines-1 of a row, elements `place` .. place+columns-1 of each: whole tiles,
 * and the grid of their scales. */
typedef struct hu_block_slab {
    int64_t line, lines, place, columns;
    size_t tiles;
} hu_block_slab;

/* What belongs to the rounding of one row. */
typedef struct hu_block_job {
    const hu_blocker *b;
    float tensor_scale;
    const float *x; /* [row_elements] */
    const hu_random_key *key;
    uint64_t index; /* of the row's first random word */
    hu_round_counts *counts;
} hu_block_job;

/* scale.c: stored scales as numbers, and back. */
void hu_block_read_scales(const hu_blocker *b, size_t tiles, const uint8_t *scales, float *c);
void hu_block_write_scales(const hu_blocker *b, size_t tiles, const float *c, uint8_t *scales);

/* pieces.c: the numbers first .. first+n-1 of the row, rotated if the format says so; they may be
 * in `room`, HU_BLOCK_PIECE of them. */
const float *hu_block_numbers(const hu_block_job *job, int64_t first, size_t n, float *room);

/* Those numbers x in units of their scales; loss may be NULL. */
void hu_block_divide(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                     int64_t first, size_t n, const float *x, float *y, hu_block_loss *loss);

/* Elements of them in units of their scales, rounded to y. */
void hu_block_elements(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                       int64_t first, size_t n, const float *x, float *y);

/* Elements times their units, in place. */
void hu_block_values(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                     int64_t first, size_t n, float *y);

/* Elements of a slab that are rounded in one go. */
typedef struct hu_block_piece {
    int64_t first;
    size_t n; /* 0: before the first piece */
} hu_block_piece;

/* The slab's first piece, and the next one; false: there is none. */
hu_block_piece hu_block_before(const hu_blocker *b, const hu_block_slab *slab);
bool hu_block_next(const hu_blocker *b, const hu_block_slab *slab, hu_block_piece *piece);

/* Of n elements of a row from one on, how many kernels take at a time: where tiles have several
 * lines, those of one. */
static inline size_t hu_block_run(const hu_blocker *b, int64_t first, size_t n) {
    if (b->format.lines == 1) return n;
    size_t left = (size_t)(b->line - hu_block_place(b, first));
    return n < left ? n : left;
}

/* The next slab of a row: to the right, then down; false: there is none. *slab = {0}: the first. */
bool hu_block_next_slab(const hu_blocker *b, hu_block_slab *slab);

/* The grid of a slab's own tiles, in `scales`. */
hu_block_grid hu_block_grid_of(const hu_blocker *b, const hu_block_slab *slab, uint8_t *scales);

/* Stored scales of a slab, which stand one after the other in the grid: it has whole lines or is
 * one row of tiles. *top is raised to the bits of its largest finite magnitude. */
void hu_block_make_scales(const hu_block_job *job, const hu_block_slab *slab,
                          const hu_block_grid *grid, uint32_t *top);

/* slab.c: a slab rounded to y, the row's first number. *top as above. */
void hu_block_round_slab(const hu_block_job *job, const hu_block_slab *slab, float *y,
                         uint32_t *top);

/* slab.c: codes of the elements from .. end-1 of a row whose scales stand in the grid already, from
 * a whole byte on. */
void hu_block_pack_elements(const hu_block_job *job, const hu_block_grid *grid, int64_t from,
                            int64_t end, uint8_t *row);

/* slab.c: elements first .. first+n-1 of a packed row, first a multiple of 8, at most a piece. */
void hu_block_unpack_elements(const hu_blocker *b, const uint8_t *row, int64_t first, size_t n,
                              float *y);

/* choose.c: takes the better of two scales of each tile of the slab. */
void hu_block_choose(const hu_block_job *job, const hu_block_slab *slab, const hu_block_grid *grid,
                     const uint32_t *tops);

/* Replaces the scales c of a slab by those of MS-EDEN, c t. */
void hu_block_turn_scales(const hu_block_job *job, const hu_block_slab *slab,
                          const hu_block_grid *grid);

#endif
