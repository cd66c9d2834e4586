/* kernel/block/lines.c - rows that passes serve, line by line. */
#include "kernel/block/lines.h"
#include "kernel/block/pass.h"

/* Lines of at most so many elements are filled up as wholes: a batch has several of them. */
enum { SHORT_LINE = 512 };

/* Lines of a job and where they end within a tile. Whole tiles know nothing of the end of a line:
 * such lines are one. */
typedef struct lines {
    int64_t line, count, tiles; /* elements of a line, lines, tiles of a line */
    int64_t place, columns;     /* what is filled up: elements from `place` on; 0: nothing */
    int64_t padded, most;       /* elements of that, filled up; lines of a batch */
} lines;

static lines lines_of(const hu_blocker *b, int64_t all) {
    const int64_t length = b->format.length, inside = b->line & (length - 1);
    const int64_t line = inside ? b->line : all;
    lines l = {line, line ? all / line : 0, hu_block_tiles(&b->format, 1, line), line, 0, 0, 0};
    if (!inside) return l;
    l.place = line <= SHORT_LINE ? 0 : line - inside;
    l.columns = line - l.place;
    l.padded = hu_block_tiles(&b->format, 1, l.columns) * length;
    l.most = HU_PASS_MOST / l.padded;
    return l;
}

static int64_t padded_tiles(const hu_blocker *b, const lines *l) {
    return l->padded >> b->shift;
}

static size_t batch_of(int64_t all, int64_t first) {
    return (size_t)hu_block_least(all - first, HU_PASS_MOST);
}

/* Elements of a line as a slab. */
static hu_block_slab slab_of(const hu_blocker *b, int64_t line, int64_t place, int64_t n) {
    return (hu_block_slab){line, 1, place, n, (size_t)hu_block_tiles(&b->format, 1, n)};
}

/* ---- filled up ---- */

/* What is left of the lines first .. first+count-1 of x, side by side. */
static void gather(const lines *l, int64_t first, int64_t count, const float *x, float *room) {
    const size_t columns = (size_t)l->columns, zeros = (size_t)l->padded - columns;
    for (int64_t i = 0; i < count; i++, room += l->padded) {
        memcpy(room, x + (first + i) * l->line + l->place, columns * sizeof *room);
        memset(room + columns, 0, zeros * sizeof *room);
    }
}

static void scatter(const lines *l, int64_t first, int64_t count, const float *room, float *y) {
    for (int64_t i = 0; i < count; i++, room += l->padded)
        memcpy(y + (first + i) * l->line + l->place, room, (size_t)l->columns * sizeof *room);
}

/* The zeros of `count` lines were counted as what they are. */
static void uncount(const lines *l, int64_t count, hu_round_counts *counts) {
    uint64_t zeros = (uint64_t)(count * (l->padded - l->columns));
    if (!counts) return;
    counts->elements -= zeros;
    counts->zero -= zeros;
}

/* ---- rounding ---- */

/* A part of a line that its pass has left, the general way. */
static void round_left(const hu_block_job *job, const lines *l, int64_t line, int64_t place,
                       int64_t n, float *y, uint32_t *top) {
    hu_blocker whole = *job->b;
    hu_block_job own = *job;
    hu_block_slab slab = slab_of(&whole, line, place, n);
    whole.line = l->line;
    whole.row_lines = l->count;
    whole.row_elements = l->count * l->line;
    own.b = &whole;
    hu_block_round_slab(&own, &slab, y, top);
}

static void round_tiles(const hu_block_job *job, const lines *l, int64_t line, float *y,
                        uint32_t *top) {
    for (int64_t place = 0, n; place < l->place; place += n) {
        int64_t first = line * l->line + place;
        n = (int64_t)batch_of(l->place, place);
        if (!hu_block_pass_round(job, first, (size_t)n, y + first, top))
            round_left(job, l, line, place, n, y, top);
    }
}

static void round_ends(const hu_block_job *job, const lines *l, int64_t line, int64_t count,
                       float *y, uint32_t *top) {
    float room[HU_PASS_MOST];
    hu_block_job own = *job;
    own.x = room;
    gather(l, line, count, job->x, room);
    if (hu_block_pass_round(&own, 0, (size_t)(count * l->padded), room, top)) {
        uncount(l, count, job->counts);
        scatter(l, line, count, room, y);
        return;
    }
    for (int64_t i = 0; i < count; i++) round_left(job, l, line + i, l->place, l->columns, y, top);
}

void hu_block_lines_round(const hu_block_job *job, int64_t all, float *y, uint32_t *top) {
    const lines l = lines_of(job->b, all);
    for (int64_t i = 0; i < l.count && l.place > 0; i++) round_tiles(job, &l, i, y, top);
    for (int64_t i = 0, n; i < l.count && l.columns > 0; i += n) {
        n = hu_block_least(l.count - i, l.most);
        round_ends(job, &l, i, n, y, top);
    }
}

/* ---- bytes ---- */

/* A row of bytes that is written: its lines, and where its scales stand. */
typedef struct bytes {
    uint8_t *row;
    hu_block_grid grid;
} bytes;

static uint8_t *scales_at(const hu_blocker *b, uint8_t *scales, int64_t tile) {
    return scales + (size_t)tile * b->scale_bytes;
}

/* A part of a line, the general way. */
static void pack_left(const hu_block_job *job, const lines *l, int64_t line, int64_t place,
                      int64_t n, const bytes *to, uint32_t *top) {
    int64_t first = line * l->line + place;
    hu_block_slab slab = slab_of(job->b, line, place, n);
    hu_block_make_scales(job, &slab, &to->grid, top);
    hu_block_pack_elements(job, &to->grid, first, first + n, to->row);
}

static void pack_tiles(const hu_block_job *job, const lines *l, int64_t line, const bytes *to,
                       uint32_t *top) {
    const hu_blocker *b = job->b;
    for (int64_t place = 0, n; place < l->place; place += n) {
        int64_t first = line * l->line + place, tile = line * l->tiles + (place >> b->shift);
        n = (int64_t)batch_of(l->place, place);
        if (!hu_block_pass_pack(job, first, (size_t)n, to->row + hu_block_dense_bytes(b, first),
                                scales_at(b, to->grid.scales, tile), top))
            pack_left(job, l, line, place, n, to, top);
    }
}

/* Codes and scales of `count` lines that were filled up, to where they belong. */
static void put_ends(const hu_blocker *b, const lines *l, int64_t line, int64_t count,
                     const uint8_t *codes, const uint8_t *scales, const bytes *to) {
    const size_t code_bytes = hu_block_dense_bytes(b, l->columns);
    const size_t scale_bytes = (size_t)padded_tiles(b, l) * b->scale_bytes;
    for (int64_t i = 0; i < count; i++) {
        int64_t first = (line + i) * l->line + l->place;
        int64_t tile = (line + i) * l->tiles + (l->place >> b->shift);
        memcpy(to->row + hu_block_dense_bytes(b, first), codes, code_bytes);
        memcpy(scales_at(b, to->grid.scales, tile), scales, scale_bytes);
        codes += hu_block_dense_bytes(b, l->padded);
        scales += scale_bytes;
    }
}

static void pack_ends(const hu_block_job *job, const lines *l, int64_t line, int64_t count,
                      const bytes *to, uint32_t *top) {
    float room[HU_PASS_MOST];
    uint8_t codes[HU_PASS_MOST], scales[HU_PASS_TILES * sizeof(float)];
    hu_block_job own = *job;
    own.x = room;
    gather(l, line, count, job->x, room);
    if (hu_block_pass_pack(&own, 0, (size_t)(count * l->padded), codes, scales, top)) {
        uncount(l, count, job->counts);
        put_ends(job->b, l, line, count, codes, scales, to);
        return;
    }
    for (int64_t i = 0; i < count; i++) pack_left(job, l, line + i, l->place, l->columns, to, top);
}

void hu_block_lines_pack(const hu_block_job *job, uint8_t *row, uint32_t *top) {
    const hu_blocker *b = job->b;
    const lines l = lines_of(b, b->row_elements);
    const bytes to = {row, {row + b->code_bytes, 0, 0, b->line_blocks}};
    for (int64_t i = 0; i < l.count && l.place > 0; i++) pack_tiles(job, &l, i, &to, top);
    for (int64_t i = 0, n; i < l.count && l.columns > 0; i += n) {
        n = hu_block_least(l.count - i, l.most);
        pack_ends(job, &l, i, n, &to, top);
    }
}

/* ---- values of bytes ---- */

static void unpack_ends(const hu_blocker *b, float tensor_scale, const lines *l, int64_t line,
                        int64_t count, const uint8_t *row, float *y) {
    float room[HU_PASS_MOST];
    uint8_t codes[HU_PASS_MOST] = {0}, scales[HU_PASS_TILES * sizeof(float)] = {0};
    const size_t code_bytes = hu_block_dense_bytes(b, l->columns);
    const size_t padded_bytes = hu_block_dense_bytes(b, l->padded);
    const size_t scale_bytes = (size_t)padded_tiles(b, l) * b->scale_bytes;
    for (int64_t i = 0; i < count; i++) {
        int64_t first = (line + i) * l->line + l->place;
        size_t tile = (size_t)((line + i) * l->tiles + (l->place >> b->shift));
        memcpy(codes + (size_t)i * padded_bytes, row + hu_block_dense_bytes(b, first), code_bytes);
        memcpy(scales + (size_t)i * scale_bytes, row + b->code_bytes + tile * b->scale_bytes,
               scale_bytes);
    }
    hu_block_pass_unpack(b, tensor_scale, (size_t)(count * l->padded), codes, scales, room);
    scatter(l, 0, count, room, y);
}

/* Whole tiles from one on. */
static void unpack_tiles(const hu_blocker *b, float tensor_scale, const uint8_t *row, int64_t first,
                         int64_t tile, size_t n, float *y) {
    hu_block_pass_unpack(b, tensor_scale, n, row + hu_block_dense_bytes(b, first),
                         row + b->code_bytes + (size_t)tile * b->scale_bytes, y);
}

/* Whole lines that end within a tile. */
static void unpack_lines(const hu_blocker *b, float tensor_scale, const lines *l, int64_t line,
                         int64_t count, const uint8_t *row, float *y) {
    for (int64_t i = 0; i < count && l->place > 0; i++)
        unpack_tiles(b, tensor_scale, row, (line + i) * l->line, (line + i) * l->tiles,
                     (size_t)l->place, y + i * l->line);
    for (int64_t i = 0, n; i < count; i += n) {
        n = hu_block_least(count - i, l->most);
        unpack_ends(b, tensor_scale, l, line + i, n, row, y + i * l->line);
    }
}

size_t hu_block_lines_unpack(const hu_blocker *b, float tensor_scale, const uint8_t *row,
                             int64_t first, size_t n, float *y) {
    const lines l = lines_of(b, b->row_elements);
    const int64_t begin = l.columns ? l.line : b->format.length;
    if (first % begin != 0) return 0;
    if (l.columns) {
        int64_t count = (int64_t)n / l.line;
        unpack_lines(b, tensor_scale, &l, first / l.line, count, row, y);
        return (size_t)(count * l.line);
    }
    size_t whole = n >> b->shift << b->shift;
    unpack_tiles(b, tensor_scale, row, first, first >> b->shift, whole, y);
    return whole;
}
