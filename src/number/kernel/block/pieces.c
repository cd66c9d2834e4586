/* kernel/block/pieces.c - rows in slabs and pieces: their numbers, scales, elements and values. */
#include <float.h>
#include <math.h>

#include "kernel/block/internal.h"

enum { PIECE = HU_BLOCK_PIECE };

/* Of the numbers at .. end-1 of a row how many are whole groups of one line from the first on; 0:
 * the first is within a group, or its group goes on behind the last. */
static int64_t whole_groups(const hu_blocker *b, int64_t at, int64_t end) {
    int64_t place = at % b->line, left = b->line - place, size = b->format.hadamard;
    if (place % size != 0) return 0;
    return end - at >= left ? left : (end - at) / size * size;
}

const float *hu_block_numbers(const hu_block_job *job, int64_t first, size_t n, float *room) {
    const hu_blocker *b = job->b;
    float group[HU_HADAMARD_MOST];
    int32_t size = b->format.hadamard;
    if (!size) return job->x + first;
    for (int64_t at = first, end = first + (int64_t)n; at < end;) {
        int64_t count = whole_groups(b, at, end);
        float *to = room + (at - first);
        if (count > 0) {
            hu_hadamard_line(size, b->signs, (size_t)count, job->x + at, to, false);
        } else {
            int64_t from = hu_block_group_start(b, at);
            int64_t all = hu_block_least(b->line - from % b->line, size);
            count = hu_block_least(from + all, end) - at;
            hu_hadamard_line(size, b->signs, (size_t)all, job->x + from, group, false);
            memcpy(to, group + (at - from), (size_t)count * sizeof *to);
        }
        at += count;
    }
    return room;
}

/* ---- narrow lines ---- */

/* Where a tile takes one element of each of its lines, and these are short, kernels take several
 * lines at a time. */
enum { WIDE = HU_BLOCK_WIDE };

static bool is_folded(const hu_blocker *b) {
    return b->format.length == 1 && b->format.lines > 1 && 2 * b->line <= WIDE;
}

/* Of n elements of a row from the beginning of a line on, those in the lines of its tiles. */
static size_t left_in_tiles(const hu_blocker *b, int64_t first, size_t n) {
    int64_t lines = b->format.lines - first / b->line % b->format.lines;
    return (size_t)hu_block_least((int64_t)n, lines * b->line);
}

/* The first element behind the row of tiles that an element is in. */
static int64_t row_end(const hu_blocker *b, int64_t element) {
    int64_t row = b->format.lines * b->line;
    return (element / row + 1) * row;
}

hu_block_piece hu_block_before(const hu_blocker *b, const hu_block_slab *slab) {
    return (hu_block_piece){slab->line * b->line + slab->place, 0};
}

/* Where lines are rotated pieces begin with a group, and so end with the line. Else, where the slab
 * has whole lines, they go on into the next. */
bool hu_block_next(const hu_blocker *b, const hu_block_slab *slab, hu_block_piece *piece) {
    int64_t at = piece->first + (int64_t)piece->n, end = (slab->line + slab->lines) * b->line;
    bool is_linear = slab->columns == b->line && !b->format.hadamard;
    if (!is_linear) {
        int64_t line = piece->first / b->line * b->line, stop = line + slab->place + slab->columns;
        if (at == stop) {
            at = line + b->line + slab->place;
            stop += b->line;
        }
        if (at < end) end = stop;
    }
    if (at >= end) return false;
    /* The units of one row of tiles serve elements and values. */
    if (is_folded(b) && b->format.lines % 8 == 0) end = hu_block_least(end, row_end(b, at));
    *piece = (hu_block_piece){at, (size_t)hu_block_least(end - at, PIECE)};
    return true;
}

/* As hu_block_run, but for such lines. */
static size_t run_of(const hu_blocker *b, int64_t first, size_t n) {
    if (!is_folded(b) || first % b->line != 0) return hu_block_run(b, first, n);
    return (size_t)hu_block_least((int64_t)left_in_tiles(b, first, n), WIDE / b->line * b->line);
}

/* Units of a line again and again. */
static void repeat(const hu_blocker *b, float *unit) {
    for (int64_t at = b->line; at + b->line <= WIDE; at += b->line)
        memcpy(unit + at, unit, (size_t)b->line * sizeof *unit);
}

/* ---- elements and values ---- */

/* Units of the tiles that hold elements first .. first+n-1, from their stored scales. */
static void find_units(const hu_block_job *job, const hu_block_grid *grid, int64_t first, size_t n,
                       bool inverse, hu_block_units *units) {
    const hu_blocker *b = job->b;
    bool is_line = is_folded(b) && first % b->line == 0 && n >= (size_t)b->line;
    int64_t tile = hu_block_tile_at(b, grid, first);
    int64_t count =
        is_line ? b->line : hu_block_tile_at(b, grid, first + (int64_t)n - 1) - tile + 1;
    bool is_there = units->count == count && units->first == tile;
    if (is_there && (units->has_inverse || !inverse)) return;
    b->kernels->set_units(b, job->tensor_scale, (size_t)count,
                          grid->scales + (size_t)tile * b->scale_bytes, units->unit,
                          inverse ? units->inverse : NULL);
    if (is_line) repeat(b, units->unit);
    if (is_line && inverse && !b->divides) repeat(b, units->inverse);
    units->first = tile;
    units->count = count;
    units->has_inverse = inverse;
}

/* Elements of tiles without a scale came to the rounder as +0 and were counted as zeros; they are
 * NaNs. Those of tiles with the scale 0 came as zeros, and are underflow. Exponents of quotients
 * say nothing about x: hu_block_raise_exponent() notes those of the numbers. */
static void count_elements(hu_round_counts *counts, hu_round_counts *own, hu_block_loss loss) {
    own->zero -= loss.nan;
    own->nan += loss.nan;
    own->underflow += loss.vanished;
    own->max_exponent = own->min_exponent = HU_NO_EXPONENT;
    hu_round_counts_add(counts, own);
}

/* A quotient that float32 lacks is its largest number: posits and takums make NaN of infinities. */
static void bound(size_t n, float *y) {
    for (size_t i = 0; i < n; i++)
        if (isinf(y[i])) y[i] = copysignf(FLT_MAX, y[i]);
}

void hu_block_divide(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                     int64_t first, size_t n, const float *x, float *y, hu_block_loss *loss) {
    const hu_blocker *b = job->b;
    hu_block_loss unread = {0, 0};
    for (size_t at = 0, count; at < n; at += count) {
        int64_t element = first + (int64_t)at;
        count = run_of(b, element, n - at);
        find_units(job, grid, element, count, true, units);
        hu_block_part part = {hu_block_place(b, element), count, units->unit, units->inverse};
        b->kernels->divide(b, &part, x + at, y + at, loss ? loss : &unread);
    }
    if (b->bounds) bound(n, y);
}

void hu_block_elements(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                       int64_t first, size_t n, const float *x, float *y) {
    hu_block_loss loss = {0, 0};
    hu_round_counts own;
    hu_block_divide(job, grid, units, first, n, x, y, &loss);
    hu_round_counts_clear(&own);
    hu_rounder_run(&job->b->rounder, n, y, y, job->key, job->index + (uint64_t)first,
                   job->counts ? &own : NULL);
    if (job->counts) count_elements(job->counts, &own, loss);
}

void hu_block_values(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                     int64_t first, size_t n, float *y) {
    const hu_blocker *b = job->b;
    for (size_t at = 0, count; at < n; at += count) {
        int64_t element = first + (int64_t)at;
        count = run_of(b, element, n - at);
        find_units(job, grid, element, count, false, units);
        hu_block_part part = {hu_block_place(b, element), count, units->unit, units->inverse};
        b->kernels->multiply(b, &part, y + at, y + at);
    }
}

/* ---- scales of a slab ---- */

bool hu_block_next_slab(const hu_blocker *b, hu_block_slab *slab) {
    int64_t line = slab->line, place = slab->place + slab->columns;
    if (slab->lines && place >= b->line) {
        line += slab->lines;
        place = 0;
    }
    if (line >= b->row_lines) return false;
    slab->line = line;
    slab->place = place;
    slab->lines = hu_block_least(b->slab_lines, b->row_lines - line);
    slab->columns = hu_block_least(b->slab_columns, b->line - place);
    slab->tiles = (size_t)hu_block_tiles(&b->format, slab->lines, slab->columns);
    return true;
}

/* The grid of a slab's own tiles, in `scales`. */
hu_block_grid hu_block_grid_of(const hu_blocker *b, const hu_block_slab *slab, uint8_t *scales) {
    return (hu_block_grid){scales, slab->line / b->format.lines, slab->place,
                           hu_block_tiles(&b->format, 1, slab->columns)};
}

/* Stored scales of a slab, which stand one after the other in the grid: it has whole lines or is
 * one row of tiles. */
void hu_block_make_scales(const hu_block_job *job, const hu_block_slab *slab,
                          const hu_block_grid *grid, uint32_t *top) {
    const hu_blocker *b = job->b;
    uint32_t tops[HU_BLOCK_SLAB_TILES];
    float room[PIECE];
    hu_block_piece piece = hu_block_before(b, slab);
    int64_t zero = hu_block_tile_at(b, grid, piece.first);
    memset(tops, 0, slab->tiles * sizeof *tops);
    while (hu_block_next(b, slab, &piece)) {
        const float *x = hu_block_numbers(job, piece.first, piece.n, room);
        for (size_t at = 0, count; at < piece.n; at += count) {
            int64_t element = piece.first + (int64_t)at;
            uint32_t *of = tops + (hu_block_tile_at(b, grid, element) - zero), most;
            if (is_folded(b) && element % b->line == 0) {
                count = left_in_tiles(b, element, piece.n - at);
                most = b->kernels->tops(b, 0, count, x + at, of);
            } else {
                count = hu_block_run(b, element, piece.n - at);
                most = b->kernels->tops(b, hu_block_place(b, element), count, x + at, of);
            }
            if (most > *top) *top = most;
        }
    }
    uint8_t *scales = grid->scales + (size_t)zero * b->scale_bytes;
    b->kernels->set_scales(b, job->tensor_scale, 1.0f, slab->tiles, tops, scales);
    if (b->format.choice) hu_block_choose(job, slab, grid, tops);
}

uint32_t hu_blocker_top(const hu_blocker *blocker, int64_t n, const float *x) {
    float room[PIECE];
    uint32_t top = 0;
    hu_block_job job = {.b = blocker, .x = x};
    if (!blocker->format.hadamard) return blocker->kernels->top((size_t)n, x);
    for (int64_t first = 0; first < n; first += PIECE) {
        size_t count = (size_t)hu_block_least(n - first, PIECE);
        uint32_t more = blocker->kernels->top(count, hu_block_numbers(&job, first, count, room));
        if (more > top) top = more;
    }
    return top;
}
