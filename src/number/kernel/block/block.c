/* kernel/block/block.c - rows of tiles: scales, rounded elements, bytes. */
#include "kernel/block/block.h"

#include "base/checked.h"
#include "base/error.h"
#include "format/value.h"
#include "kernel/block/internal.h"

enum { PIECE = HU_BLOCK_PIECE };

extern const hu_block_kernels HU_OF_ISA(hu_block_kernels);
static const hu_block_kernels *const kernels[HU_ISA_COUNT] = {HU_AT_ISA(hu_block_kernels)};

uint32_t hu_top_f32(size_t n, const float *x) {
    return kernels[hu_cpu_isa()]->top(n, x);
}

float hu_block_sum(const hu_block_sums *sums) {
    const float *s = sums->lane;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* ---- a blocker ---- */

/* 2^(code - 127); code 0 is a binary32 subnormal. */
static void set_power_values(float value[256]) {
    for (uint32_t code = 0; code < 255; code++)
        value[code] = hu_f32_of_bits(code ? code << 23 : 1u << 22);
    value[255] = hu_f32_of_bits(HU_F32_NAN);
}

/* The values of all codes of a byte, and what rounds and packs a scale of a format. */
static hu_status prepare_scales(hu_blocker *b, hu_isa isa) {
    const hu_format *format = &b->format.scale_format;
    hu_status st = HU_OK;
    b->scale_bytes = hu_block_scale_bytes(&b->format);
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) set_power_values(b->scale_value);
    if (b->format.scale != HU_BLOCK_SCALE_FORMAT) return HU_OK;
    hu_format_limits limits = hu_format_limits_of(format);
    b->scale_most = (float)limits.max_finite;
    b->scale_least = (float)limits.min_normal;
    HU_TRY(hu_rounder_init(&b->scale_rounder, format, HU_ROUND_NEAREST_EVEN));
    if (b->format.way == HU_BLOCK_WAY_EDEN)
        HU_TRY(hu_rounder_init(&b->scale_chance, format, HU_ROUND_STOCHASTIC));
    if (b->scale_bytes < sizeof(float))
        HU_TRY(hu_packer_init_isa(&b->scale_packer, format, hu_format_bits(format) <= 8 ? 8 : 16,
                                  isa));
    for (uint32_t code = 0; b->scale_bytes == 1 && code < 256; code++)
        if (code < limits.codes) hu_format_decode(format, code, &b->scale_value[code]);
done:
    return st;
}

/* Bytes of n element codes as a dense stream. */
static size_t dense_bytes(const hu_blocker *b, int64_t n) {
    return (size_t)n / 8 * b->width + ((size_t)n % 8 * b->width + 7) / 8;
}

/* Lines and columns of what gets its scales at a time: whole tiles and whole rotated groups, small
 * enough to be read again from the cache, and no more tiles than a slab has. */
static void set_slab(hu_blocker *b) {
    enum { SLAB = 8192 };
    const hu_block_format *f = &b->format;
    int64_t step = f->length, group = f->hadamard > f->group ? f->hadamard : f->group;
    while (group > 0 && step % group != 0) step += f->length; /* the least multiple of both */
    int64_t row = f->lines < b->row_lines ? f->lines : b->row_lines;
    if (b->line_blocks <= HU_BLOCK_SLAB_TILES && (step >= b->line || row * b->line <= SLAB)) {
        int64_t of_tiles = HU_BLOCK_SLAB_TILES / b->line_blocks, of_size = SLAB / (row * b->line);
        int64_t rows = of_tiles < of_size ? of_tiles : of_size;
        b->slab_columns = b->line;
        b->slab_lines = f->lines * (rows > 1 ? rows : 1);
        return;
    }
    int64_t of_tiles = HU_BLOCK_SLAB_TILES / (step / f->length), of_size = SLAB / (row * step);
    int64_t steps = of_tiles < of_size ? of_tiles : of_size;
    b->slab_columns = step * (steps > 1 ? steps : 1);
    b->slab_lines = f->lines;
}

/* Tiles of a line and a row, and the bytes of a row: a dense run of codes, then the scales. */
hu_status hu_blocker_set_row(hu_blocker *b, int64_t row_elements, int64_t line) {
    size_t bytes;
    b->line = line;
    b->row_elements = row_elements;
    b->row_lines = row_elements / line;
    b->line_blocks = hu_block_tiles(&b->format, 1, line);
    b->row_blocks = hu_block_tiles(&b->format, b->row_lines, line);
    b->code_bytes = dense_bytes(b, row_elements);
    if (!hu_mul_size((size_t)row_elements, 2 * sizeof(float), &bytes))
        return hu_fail(HU_ERR_SHAPE, "%lld elements of a sample do not fit the address space",
                       (long long)row_elements);
    b->row_bytes = b->code_bytes + (size_t)b->row_blocks * b->scale_bytes;
    set_slab(b);
    return HU_OK;
}

/* The largest significand of a, one at bit 23, with which k = floor(log2 a) - emax. */
static uint32_t top_limit_of(const hu_blocker *b) {
    const uint32_t one = 1u << 23;
    switch (b->format.power) {
    case HU_BLOCK_CEIL:
        return one;
    case HU_BLOCK_RCEIL:
        return (hu_f32_bits(b->most) & (one - 1)) | one;
    case HU_BLOCK_EVEN: /* half a unit of the last bit below 2 */
        return 2 * one - (1u << (22 - b->format.element.man_bits)) - 1;
    default:
        return 2 * one - 1;
    }
}

/* MXINT8's integers, which are stored as two's complements. */
static bool is_integer(const hu_format *element) {
    static const hu_format integer = {.exp_bits = 1,
                                      .man_bits = 6,
                                      .specials = HU_SPECIALS_FNUZ,
                                      .subnormals = 1,
                                      .overflow = HU_OVERFLOW_SAT,
                                      .bias = 1};
    return hu_format_equal(element, &integer);
}

/* Of elements: 8 and 16 bits as units, 4 and 6 bits as bytes that are joined, others dense. */
static hu_status prepare_elements(hu_blocker *b, hu_rounding rounding, hu_isa isa) {
    const hu_format *element = &b->format.element;
    hu_status st = HU_OK;
    b->width = hu_format_bits(element);
    b->is_joined = b->width == 4 || b->width == 6;
    HU_TRY(hu_rounder_init(&b->rounder, element, rounding));
    HU_TRY(hu_packer_init_isa(&b->packer, element,
                              b->is_joined || b->width == 8 ? 8
                              : b->width == 16              ? 16
                                                            : 0,
                              isa));
done:
    return st;
}

hu_status hu_blocker_init_isa(hu_blocker *blocker, const hu_block_format *format,
                              hu_rounding rounding, int64_t row_elements, int64_t line,
                              hu_isa isa) {
    hu_status st = HU_OK;
    memset(blocker, 0, sizeof *blocker);
    HU_TRY(hu_block_format_check(format));
    blocker->format = *format;
    blocker->kernels = kernels[isa];
    hu_format_limits limits = hu_format_limits_of(&format->element);
    blocker->emax = limits.emax;
    blocker->most = (float)limits.max_finite;
    blocker->top_limit = top_limit_of(blocker);
    blocker->is_integer = is_integer(&format->element);
    blocker->divides = format->scale == HU_BLOCK_SCALE_FORMAT &&
                       (format->way == HU_BLOCK_WAY_OWN || format->way == HU_BLOCK_WAY_EDEN);
    blocker->signs = hu_hadamard_fixed(format->signs);
    HU_TRY(prepare_elements(blocker, rounding, isa));
    HU_TRY(prepare_scales(blocker, isa));
    HU_TRY(hu_blocker_set_row(blocker, row_elements, line));
done:
    return st;
}

hu_status hu_blocker_init(hu_blocker *blocker, const hu_block_format *format, hu_rounding rounding,
                          int64_t row_elements, int64_t line) {
    return hu_blocker_init_isa(blocker, format, rounding, row_elements, line, hu_cpu_isa());
}

/* ---- numbers and pieces ---- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The first number of the group that is rotated together with an element. */
static int64_t group_start(const hu_blocker *b, int64_t element) {
    return element - element % b->line % b->format.hadamard;
}

const float *hu_block_numbers(const hu_block_job *job, int64_t first, size_t n, float *room) {
    const hu_blocker *b = job->b;
    float group[HU_HADAMARD_MOST];
    if (!b->format.hadamard) return job->x + first;
    for (int64_t at = first, end = first + (int64_t)n; at < end;) {
        int64_t from = group_start(b, at), left = b->line - from % b->line;
        int64_t size = least(left, b->format.hadamard), count = least(from + size, end) - at;
        bool is_whole = count == size;
        float *to = is_whole ? room + (at - first) : group;
        hu_hadamard_line(b->format.hadamard, b->signs, (size_t)size, job->x + from, to, false);
        if (!is_whole) memcpy(room + (at - first), group + (at - from), (size_t)count * sizeof *to);
        at += count;
    }
    return room;
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
    *piece = (hu_block_piece){at, (size_t)least(end - at, PIECE)};
    return true;
}

/* Units of the tiles that hold elements first .. first+n-1, from their stored scales. */
static void find_units(const hu_block_job *job, const hu_block_grid *grid, int64_t first, size_t n,
                       hu_block_units *units) {
    const hu_blocker *b = job->b;
    int64_t tile = hu_block_tile_at(b, grid, first);
    int64_t count = hu_block_tile_at(b, grid, first + (int64_t)n - 1) - tile + 1;
    if (units->count == count && units->first == tile) return;
    hu_block_set_units(b, job->tensor_scale, (size_t)count,
                       grid->scales + (size_t)tile * b->scale_bytes, units->unit, units->inverse);
    units->first = tile;
    units->count = count;
}

/* Elements of tiles without a scale came to the rounder as +0 and were counted as zeros; they are
 * NaNs. Those of tiles with the scale 0 came as zeros, and are underflow. Exponents of quotients
 * say nothing about x: raise_exponent() notes those of the numbers. */
static void count_elements(hu_round_counts *counts, hu_round_counts *own, hu_block_loss loss) {
    own->zero -= loss.nan;
    own->nan += loss.nan;
    own->underflow += loss.vanished;
    own->max_exponent = own->min_exponent = HU_NO_EXPONENT;
    hu_round_counts_add(counts, own);
}

void hu_block_divide(const hu_block_job *job, const hu_block_grid *grid, hu_block_units *units,
                     int64_t first, size_t n, const float *x, float *y, hu_block_loss *loss) {
    const hu_blocker *b = job->b;
    hu_block_loss unread = {0, 0};
    for (size_t at = 0, count; at < n; at += count) {
        int64_t element = first + (int64_t)at;
        count = hu_block_run(b, element, n - at);
        find_units(job, grid, element, count, units);
        hu_block_part part = {element % b->line, count, units->unit, units->inverse};
        b->kernels->divide(b, &part, x + at, y + at, loss ? loss : &unread);
    }
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
        count = hu_block_run(b, element, n - at);
        find_units(job, grid, element, count, units);
        hu_block_part part = {element % b->line, count, units->unit, units->inverse};
        b->kernels->multiply(b, &part, y + at, y + at);
    }
}

static void raise_exponent(hu_round_counts *counts, uint32_t top) {
    if (!counts || top == 0) return;
    int32_t exponent = top >> 23 ? (int32_t)(top >> 23) - 127 : -118 - __builtin_clz(top);
    if (exponent > counts->max_exponent) counts->max_exponent = exponent;
}

/* ---- scales of a slab ---- */

/* The next slab of a row: to the right, then down. *slab = {0}: the first. */
static bool next_slab(const hu_blocker *b, hu_block_slab *slab) {
    int64_t line = slab->line, place = slab->place + slab->columns;
    if (slab->lines && place >= b->line) {
        line += slab->lines;
        place = 0;
    }
    if (line >= b->row_lines) return false;
    slab->line = line;
    slab->place = place;
    slab->lines = least(b->slab_lines, b->row_lines - line);
    slab->columns = least(b->slab_columns, b->line - place);
    slab->tiles = (size_t)hu_block_tiles(&b->format, slab->lines, slab->columns);
    return true;
}

/* The grid of a slab's own tiles, in `scales`. */
static hu_block_grid grid_of(const hu_blocker *b, const hu_block_slab *slab, uint8_t *scales) {
    return (hu_block_grid){scales, slab->line / b->format.lines, slab->place,
                           hu_block_tiles(&b->format, 1, slab->columns)};
}

/* Stored scales of a slab, which stand one after the other in the grid: it has whole lines or is
 * one row of tiles. */
static void make_scales(const hu_block_job *job, const hu_block_slab *slab,
                        const hu_block_grid *grid, uint32_t *top) {
    const hu_blocker *b = job->b;
    uint32_t tops[HU_BLOCK_SLAB_TILES] = {0};
    float room[PIECE];
    hu_block_piece piece = hu_block_before(b, slab);
    int64_t zero = hu_block_tile_at(b, grid, piece.first);
    while (hu_block_next(b, slab, &piece)) {
        const float *x = hu_block_numbers(job, piece.first, piece.n, room);
        for (size_t at = 0, count; at < piece.n; at += count) {
            int64_t element = piece.first + (int64_t)at;
            count = hu_block_run(b, element, piece.n - at);
            uint32_t most = b->kernels->tops(b, element % b->line, count, x + at,
                                             tops + (hu_block_tile_at(b, grid, element) - zero));
            if (most > *top) *top = most;
        }
    }
    uint8_t *scales = grid->scales + (size_t)zero * b->scale_bytes;
    hu_block_set_scales(b, job->tensor_scale, 1.0f, slab->tiles, tops, scales);
    if (b->format.choice) hu_block_choose(job, slab, grid, tops);
}

uint32_t hu_blocker_top(const hu_blocker *blocker, int64_t n, const float *x) {
    float room[PIECE];
    uint32_t top = 0;
    hu_block_job job = {.b = blocker, .x = x};
    if (!blocker->format.hadamard) return blocker->kernels->top((size_t)n, x);
    for (int64_t first = 0; first < n; first += PIECE) {
        size_t count = (size_t)least(n - first, PIECE);
        uint32_t more = blocker->kernels->top(count, hu_block_numbers(&job, first, count, room));
        if (more > top) top = more;
    }
    return top;
}

/* ---- rounding ---- */

/* Values of a piece of a slab: where they are rotated back pieces are whole groups. */
static void turn_back(const hu_blocker *b, size_t n, float *y) {
    if (b->format.hadamard && !b->stays_rotated)
        hu_hadamard_line(b->format.hadamard, b->signs, n, y, y, true);
}

/* A slab at a time: scales, elements in units of these, back to numbers. MS-EDEN has other scales
 * for the way back. */
static void round_row(const hu_block_job *job, float *y) {
    const hu_blocker *b = job->b;
    uint8_t scales[HU_BLOCK_SLAB_TILES * sizeof(float)], turned[HU_BLOCK_SLAB_TILES];
    float room[PIECE];
    hu_block_slab slab = {0};
    uint32_t top = 0;
    bool is_eden = b->format.way == HU_BLOCK_WAY_EDEN;
    while (next_slab(b, &slab)) {
        hu_block_grid grid = grid_of(b, &slab, scales), back = grid;
        hu_block_units there = {0}, units = {0};
        make_scales(job, &slab, &grid, &top);
        if (is_eden) {
            memcpy(turned, scales, slab.tiles);
            back.scales = turned;
            hu_block_turn_scales(job, &slab, &back);
        }
        hu_block_piece piece = hu_block_before(b, &slab);
        while (hu_block_next(b, &slab, &piece)) {
            const float *x = hu_block_numbers(job, piece.first, piece.n, room);
            float *to = y + piece.first;
            hu_block_elements(job, &grid, &units, piece.first, piece.n, x, to);
            hu_block_values(job, &back, is_eden ? &there : &units, piece.first, piece.n, to);
            turn_back(b, piece.n, to);
        }
    }
    raise_exponent(job->counts, top);
}

void hu_blocker_round(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                      float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts) {
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

/* A stream of codes of 4 or 6 bits, the least significant bit first; up to 7 codes of 0 after
 * the last are written as well. */
static void join(uint32_t width, size_t n, const uint8_t *restrict codes, uint8_t *restrict bytes) {
    if (width == 4)
        for (size_t i = 0; i < (n + 1) / 2; i++)
            bytes[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
    else
        for (size_t i = 0; i < (n + 3) / 4; i++) {
            const uint8_t *c = codes + 4 * i;
            uint32_t word =
                c[0] | (uint32_t)c[1] << 6 | (uint32_t)c[2] << 12 | (uint32_t)c[3] << 18;
            size_t left = (n - 4 * i) * 6;
            for (size_t k = 0; k < 3 && 8 * k < left; k++)
                bytes[3 * i + k] = (uint8_t)(word >> 8 * k);
        }
}

/* The codes that join wrote. Reads no byte after the last code's. */
static void split_block(uint32_t width, size_t n, const uint8_t *restrict bytes,
                        uint8_t *restrict codes) {
    size_t i = 0;
    if (width == 4) {
        for (size_t k = 0; k < n / 2; k++) {
            codes[2 * k] = bytes[k] & 0xF;
            codes[2 * k + 1] = bytes[k] >> 4;
        }
        if (n % 2) codes[n - 1] = bytes[n / 2] & 0xF;
        return;
    }
    for (; i + 4 <= n; i += 4) {
        const uint8_t *b = bytes + i / 4 * 3;
        uint32_t word = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
        for (uint32_t k = 0; k < 4; k++) codes[i + k] = word >> 6 * k & 0x3F;
    }
    for (size_t bit = 6 * i; i < n; i++, bit += 6) {
        uint32_t word = bytes[bit / 8];
        if (bit % 8 > 2) word |= (uint32_t)bytes[bit / 8 + 1] << 8;
        codes[i] = word >> bit % 8 & 0x3F;
    }
}

/* Element codes of a row whose scales stand after them already. Pieces are cut without regard to
 * tiles: they may begin and end within one. */
static void pack_elements(const hu_block_job *job, const hu_block_grid *grid, uint8_t *row) {
    const hu_blocker *b = job->b;
    float y[PIECE], room[PIECE];
    uint8_t joined[PIECE + 8];
    hu_block_units units = {0};
    for (int64_t first = 0; first < b->row_elements; first += PIECE) {
        size_t n = (size_t)least(b->row_elements - first, PIECE);
        uint8_t *bytes = row + dense_bytes(b, first);
        const float *x = hu_block_numbers(job, first, n, room);
        hu_block_elements(job, grid, &units, first, n, x, y);
        if (!b->is_joined) {
            hu_packer_pack(&b->packer, n, y, bytes, NULL);
            if (b->is_integer) complement(n, bytes);
            continue;
        }
        hu_packer_pack(&b->packer, n, y, joined, NULL);
        memset(joined + n, 0, 8);
        join(b->width, n, joined, bytes);
    }
}

/* One row into its bytes: codes, then scales. The scales of the whole row come first: pieces of
 * elements need not end where tiles do. Those of MS-EDEN are turned at last. */
static void pack_row(const hu_block_job *job, uint8_t *row) {
    const hu_blocker *b = job->b;
    hu_block_grid grid = {row + b->code_bytes, 0, 0, b->line_blocks};
    hu_block_slab slab = {0}, again = {0};
    uint32_t top = 0;
    while (next_slab(b, &slab)) make_scales(job, &slab, &grid, &top);
    pack_elements(job, &grid, row);
    while (b->format.way == HU_BLOCK_WAY_EDEN && next_slab(b, &again))
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
    const uint8_t *codes = row + dense_bytes(b, first);
    uint8_t units[PIECE];
    if (b->is_integer) memcpy(units, codes, n);
    if (b->is_integer) complement(n, units);
    if (b->is_joined) split_block(b->width, n, codes, units);
    hu_packer_unpack(&b->packer, n, b->is_integer || b->is_joined ? units : codes, y);
}

/* Numbers of a row that are rotated back: whole groups are read, and what is asked for is taken. */
static void unpack_rotated(const hu_block_job *job, const hu_block_grid *grid, const uint8_t *row,
                           int64_t first, size_t n, float *y) {
    enum { BYTE = 8 };
    const hu_blocker *b = job->b;
    float room[HU_HADAMARD_MOST + BYTE];
    hu_block_units units = {0};
    for (int64_t at = first, end = first + (int64_t)n; at < end;) {
        int64_t from = group_start(b, at), byte = from / BYTE * BYTE;
        int64_t size = least(b->line - from % b->line, b->format.hadamard);
        int64_t count = least(from + size, end) - at;
        for (int64_t a = byte; a < from + size; a += PIECE)
            unpack_elements(b, row, a, (size_t)least(from + size - a, PIECE), room + (a - byte));
        float *group = room + (from - byte);
        for (int64_t a = 0; a < size; a += PIECE)
            hu_block_values(job, grid, &units, from + a, (size_t)least(size - a, PIECE), group + a);
        hu_hadamard_line(b->format.hadamard, b->signs, (size_t)size, group, group, true);
        memcpy(y + (at - first), group + (at - from), (size_t)count * sizeof *y);
        at += count;
    }
}

void hu_blocker_unpack(const hu_blocker *blocker, float tensor_scale, const void *row,
                       int64_t first, size_t n, float *y) {
    /* The grid is only read. */
    hu_block_grid grid = {(uint8_t *)(uintptr_t)row + blocker->code_bytes, 0, 0,
                          blocker->line_blocks};
    hu_block_job job = {.b = blocker, .tensor_scale = tensor_scale};
    hu_block_units units = {0};
    if (blocker->format.hadamard && !blocker->stays_rotated) {
        unpack_rotated(&job, &grid, row, first, n, y);
        return;
    }
    for (size_t at = 0; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        unpack_elements(blocker, row, first + (int64_t)at, count, y + at);
        hu_block_values(&job, &grid, &units, first + (int64_t)at, count, y + at);
    }
}
