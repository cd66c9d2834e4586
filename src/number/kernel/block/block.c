#include "kernel/block/block.h"

#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "base/error.h"
#include "format/value.h"

/* ---- scale ---- */

/* power-of-two scales of whole tensors: x is rounded to the numbers 2^k f of
 * a format's numbers f, which are those of the same format with the bias lowered by k. So scaled
 * rounding and packing are the plain kernels with another bias, exact wherever binary32 is.
 */

/* floor(log2) of a nonzero magnitude, and its significand with the leading one at bit 23. */
static int32_t split(uint32_t bits, uint32_t *significand) {
    if (bits >> 23) {
        *significand = (bits & 0x007FFFFFu) | 0x00800000u;
        return (int32_t)(bits >> 23) - 127;
    }
    int up = __builtin_clz(bits) - 8;
    *significand = bits << up;
    return -126 - up;
}

static int32_t ceil_log2(uint32_t bits) {
    uint32_t significand;
    int32_t floor = split(bits, &significand);
    return floor + (significand != 0x00800000u);
}

/* Least k with magnitude <= 2^k max. */
static int32_t fitting(const hu_format *format, uint32_t bits) {
    uint32_t max = hu_f32_bits((float)hu_format_limits_of(format).max_finite), top, most;
    int32_t top_exponent = split(bits, &top), most_exponent = split(max, &most);
    return top_exponent - most_exponent + (top > most);
}

int32_t hu_scale_clamp(const hu_format *format, int32_t k) {
    int32_t least, most;
    hu_format_scales(format, &least, &most);
    if (k > most) k = most;
    return k < least ? least : k;
}

int32_t hu_scale_exponent(const hu_format *format, hu_scale_rule rule, uint32_t top_bits) {
    enum { LEAST_BITS = (127 - 100) << 23 }; /* of 2^-100 */
    if (rule == HU_SCALE_NONE || (rule != HU_SCALE_BIAS && top_bits == 0)) return 0;
    if (rule != HU_SCALE_BIAS) return hu_scale_clamp(format, fitting(format, top_bits));
    uint32_t bits = top_bits < LEAST_BITS ? LEAST_BITS : top_bits;
    int32_t half = 1 << (format->exp_bits - 1);
    int32_t total_bias = half - 1 + half - ceil_log2(bits);
    return hu_scale_clamp(format, format->bias - total_bias);
}

hu_format hu_format_scaled(const hu_format *format, int32_t k) {
    hu_format scaled = *format;
    scaled.bias -= k;
    return scaled;
}

/* ---- block ---- */

#define F(e, m, bias_, specials_)                                                                  \
    {                                                                                              \
        .exp_bits = (e), .man_bits = (m), .specials = HU_SPECIALS_##specials_, .subnormals = 1,    \
        .overflow = HU_OVERFLOW_SAT, .bias = (bias_)                                               \
    }

/* One list for each power: a row's name says which, unless it is the usual one. */
static const hu_block_format table[HU_BLOCK_POWERS][16] = {
#define HU_BLOCK(name, element, length, scale, description)                                        \
    {name, description, element, length, HU_BLOCK_SCALE_##scale, HU_BLOCK_FLOOR},
    {
#include "kernel/block/block.list"
    },
#undef HU_BLOCK
#define HU_BLOCK(name, element, length, scale, description)                                        \
    {name ":scale=ceil", description, element, length, HU_BLOCK_SCALE_##scale, HU_BLOCK_CEIL},
    {
#include "kernel/block/block.list"
    },
#undef HU_BLOCK
#define HU_BLOCK(name, element, length, scale, description)                                        \
    {name ":scale=rceil", description, element, length, HU_BLOCK_SCALE_##scale, HU_BLOCK_RCEIL},
    {
#include "kernel/block/block.list"
    },
#undef HU_BLOCK
#define HU_BLOCK(name, element, length, scale, description)                                        \
    {name ":scale=even", description, element, length, HU_BLOCK_SCALE_##scale, HU_BLOCK_EVEN},
    {
#include "kernel/block/block.list"
    },
#undef HU_BLOCK
};
#undef F
#define HU_BLOCK(...) +1
enum {
    TABLE_COUNT = 0
#include "kernel/block/block.list"
};
#undef HU_BLOCK
_Static_assert(TABLE_COUNT <= 16, "rows of the table");

/* Elements of a piece: a multiple of 8, so that dense pieces end at whole bytes. */
enum { PIECE = 1024 };

extern const hu_block_kernels HU_OF_ISA(hu_block_kernels);
static const hu_block_kernels *const kernels[HU_ISA_COUNT] = {HU_AT_ISA(hu_block_kernels)};

const char *hu_block_power_name(hu_block_power power) {
    static const char *const names[] = {[HU_BLOCK_FLOOR] = "floor",
                                        [HU_BLOCK_CEIL] = "ceil",
                                        [HU_BLOCK_RCEIL] = "rceil",
                                        [HU_BLOCK_EVEN] = "even"};
    return names[power];
}

const hu_block_format *hu_block_format_at(size_t index) {
    return index < TABLE_COUNT ? &table[HU_BLOCK_FLOOR][index] : NULL;
}

const hu_block_format *hu_block_format_with(size_t index, hu_block_power power) {
    if (index >= TABLE_COUNT || table[power][index].scale != HU_BLOCK_SCALE_E8M0) return NULL;
    return &table[power][index];
}

/* The usual power may be named, too. */
static int is_name(const hu_block_format *format, const char *name) {
    size_t length = strlen(format->name);
    if (strcasecmp(format->name, name) == 0) return 1;
    return format->scale == HU_BLOCK_SCALE_E8M0 && format->power == HU_BLOCK_FLOOR &&
           strncasecmp(format->name, name, length) == 0 &&
           strcasecmp(name + length, ":scale=floor") == 0;
}

const hu_block_format *hu_block_format_find(const char *name) {
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (is_name(hu_block_format_at(i), name)) return hu_block_format_at(i);
        for (int power = 0; power < HU_BLOCK_POWERS; power++) {
            const hu_block_format *format = hu_block_format_with(i, (hu_block_power)power);
            if (format && is_name(format, name)) return format;
        }
    }
    return NULL;
}

int hu_block_format_equal(const hu_block_format *a, const hu_block_format *b) {
    return a->length == b->length && a->scale == b->scale && a->power == b->power &&
           hu_format_equal(&a->element, &b->element);
}

int hu_block_needs_tensor_scale(const hu_block_format *format) {
    return format->scale == HU_BLOCK_SCALE_E4M3;
}

float hu_block_tensor_scale(const hu_block_format *format, uint32_t top_bits) {
    if (!hu_block_needs_tensor_scale(format) || top_bits == 0) return 1.0f;
    float scale = hu_f32_of_bits(top_bits) / 2688.0f; /* 448 * 6 */
    return scale < 0x1p-126f ? 0x1p-126f : scale;
}

uint32_t hu_top_f32(size_t n, const float *x) {
    return kernels[hu_cpu_isa()]->top(n, x);
}

/* 2^(code - 127); code 0 is a binary32 subnormal. */
static void set_powers(float value[256]) {
    for (uint32_t code = 0; code < 255; code++)
        value[code] = hu_f32_of_bits(code ? code << 23 : 1u << 22);
    value[255] = hu_f32_of_bits(HU_F32_NAN);
}

/* The values of all 256 scale codes, and for E4M3 what rounds and packs a scale. */
static hu_status set_scales(hu_blocker *b, hu_isa isa) {
    static const hu_format e4m3 = {.exp_bits = 4,
                                   .man_bits = 3,
                                   .bias = 7,
                                   .specials = HU_SPECIALS_FN,
                                   .subnormals = 1,
                                   .overflow = HU_OVERFLOW_SAT};
    hu_status st = HU_OK;
    if (b->format->scale == HU_BLOCK_SCALE_E8M0) {
        set_powers(b->scale_value);
        return HU_OK;
    }
    HU_TRY(hu_rounder_init(&b->scale_rounder, &e4m3, HU_ROUND_NEAREST_EVEN));
    HU_TRY(hu_packer_init_isa(&b->scale_packer, &e4m3, 8, isa));
    for (uint32_t code = 0; code < 256; code++)
        hu_format_decode(&e4m3, code, &b->scale_value[code]);
done:
    return st;
}

/* Bytes of n element codes as a dense stream. */
static size_t dense_bytes(const hu_blocker *b, int64_t n) {
    return (size_t)n / 8 * b->width + ((size_t)n % 8 * b->width + 7) / 8;
}

/* Blocks of a line and a row, and the bytes of a row: a dense run of codes, then a byte per block.
 */
static hu_status set_sizes(hu_blocker *b, int64_t row_elements, int64_t line) {
    int64_t length = b->format->length;
    b->line = line;
    b->line_blocks = (line + length - 1) / length;
    b->row_elements = row_elements;
    b->row_blocks = row_elements / line * b->line_blocks;
    b->code_bytes = dense_bytes(b, row_elements);
    size_t bytes;
    if (!hu_mul_size((size_t)row_elements, sizeof(float), &bytes))
        return hu_fail(HU_ERR_SHAPE, "%lld elements of a sample do not fit the address space",
                       (long long)row_elements);
    b->row_bytes = b->code_bytes + (size_t)b->row_blocks;
    return HU_OK;
}

/* The largest significand of a, one at bit 23, with which k = floor(log2 a) - emax. */
static uint32_t top_limit_of(const hu_block_format *format) {
    const uint32_t one = 1u << 23;
    uint32_t most = hu_f32_bits((float)hu_format_limits_of(&format->element).max_finite);
    switch (format->power) {
    case HU_BLOCK_CEIL:
        return one;
    case HU_BLOCK_RCEIL:
        return (most & (one - 1)) | one;
    case HU_BLOCK_EVEN: /* half a unit of the last bit below 2 */
        return 2 * one - (1u << (22 - format->element.man_bits)) - 1;
    default:
        return 2 * one - 1;
    }
}

hu_status hu_blocker_init_isa(hu_blocker *blocker, const hu_block_format *format,
                              hu_rounding rounding, int64_t row_elements, int64_t line,
                              hu_isa isa) {
    hu_status st = HU_OK;
    memset(blocker, 0, sizeof *blocker);
    blocker->format = format;
    blocker->kernels = kernels[isa];
    blocker->emax = hu_format_limits_of(&format->element).emax;
    blocker->top_limit = top_limit_of(format);
    blocker->is_integer = format->element.specials == HU_SPECIALS_FNUZ;
    HU_TRY(hu_rounder_init(&blocker->rounder, &format->element, rounding));
    HU_TRY(hu_packer_init_isa(&blocker->packer, &format->element, 8, isa));
    blocker->width = hu_format_bits(&format->element);
    HU_TRY(set_scales(blocker, isa));
    HU_TRY(set_sizes(blocker, row_elements, line));
done:
    return st;
}

hu_status hu_blocker_init(hu_blocker *blocker, const hu_block_format *format, hu_rounding rounding,
                          int64_t row_elements, int64_t line) {
    return hu_blocker_init_isa(blocker, format, rounding, row_elements, line, hu_cpu_isa());
}

/* Scale codes of blocks from the bits of their largest magnitudes, tops[blocks]. MX: the code of
 * 2^k is k + 127 = (floor(log2 a) + 127) - emax, and the sum is the exponent field of a, raised by
 * 1 where its significand is above the limit. A subnormal a has the field 0 and its significand
 * at twice its fraction: below 2^-127 it is above no limit. */
static void power_codes(const hu_blocker *b, size_t blocks, const uint32_t *tops, uint8_t *codes) {
    const int32_t most = 254 - b->emax;
    for (size_t i = 0; i < blocks; i++) {
        uint32_t field = tops[i] >> 23, fraction = tops[i] & 0x7FFFFFu;
        uint32_t significand = field ? fraction | 1u << 23 : 2 * fraction;
        int32_t code = (int32_t)(field + (significand > b->top_limit)) - b->emax;
        code = code < 0 ? 0 : code > most ? most : code;
        codes[i] = tops[i] >= HU_F32_INFINITY ? 255 : (uint8_t)code;
    }
}

/* NVFP4: c = R(a / (6 s)). A block with a NaN or an infinity gets the quotient NaN, and so the
 * scale NaN. */
static void fraction_codes(const hu_blocker *b, float tensor_scale, size_t blocks,
                           const uint32_t *tops, uint8_t *codes) {
    float q[PIECE], six = 6.0f * tensor_scale;
    for (size_t i = 0; i < blocks; i++) {
        float top = hu_f32_of_bits(tops[i]);
        q[i] = hu_f32_of_bits(tops[i] < HU_F32_INFINITY ? hu_f32_bits(top / six) : HU_F32_NAN);
    }
    hu_rounder_run(&b->scale_rounder, blocks, q, q, NULL, 0, NULL);
    hu_packer_pack(&b->scale_packer, blocks, q, codes, NULL);
}

/* Elements of as many whole blocks from element first of a row on as fit into a piece. */
static size_t span_at(const hu_blocker *b, int64_t first, size_t *blocks) {
    int64_t length = b->format->length, place = first % b->line, left = b->row_elements - first;
    size_t n = 0;
    *blocks = 0;
    while (n < (size_t)left) {
        int64_t in_line = b->line - place, count = in_line < length ? in_line : length;
        if (n + (size_t)count > PIECE) break;
        n += (size_t)count;
        place = place + count < b->line ? place + count : 0;
        ++*blocks;
    }
    return n;
}

/* Scale codes of a span of whole blocks; x as it stands in the row from element first on. */
static void make_scales(const hu_blocker *b, float tensor_scale, int64_t first, size_t n,
                        size_t blocks, const float *x, uint8_t *codes, uint32_t *top) {
    uint32_t tops[PIECE];
    uint32_t most = b->kernels->tops(b, first, n, x, tops);
    if (most > *top) *top = most;
    if (b->format->scale == HU_BLOCK_SCALE_E8M0)
        power_codes(b, blocks, tops, codes);
    else
        fraction_codes(b, tensor_scale, blocks, tops, codes);
}

/* Elements of a part, in units of their scales, rounded. */
static void make_elements(const hu_blocker *b, const hu_block_part *part, const float *x, float *y,
                          const hu_random_key *key, uint64_t index, hu_round_counts *counts) {
    hu_block_loss loss = {0, 0};
    hu_round_counts own;
    b->kernels->divide(b, part, x, y, &loss);
    hu_round_counts_clear(&own);
    hu_rounder_run(&b->rounder, part->n, y, y, key, index, counts ? &own : NULL);
    if (!counts) return;
    /* Elements of NaN blocks were rounded as +0 and counted as zeros; they are NaNs. Those of
     * blocks with the scale 0 came to the rounder as zeros; they are underflow. Exponents of
     * quotients say nothing about x: raise_exponent() notes those of the numbers. */
    own.zero -= loss.nan;
    own.nan += loss.nan;
    own.underflow += loss.vanished;
    own.max_exponent = own.min_exponent = HU_NO_EXPONENT;
    hu_round_counts_add(counts, &own);
}

static void raise_exponent(hu_round_counts *counts, uint32_t top) {
    if (!counts || top == 0) return;
    int32_t exponent = top >> 23 ? (int32_t)(top >> 23) - 127 : -118 - __builtin_clz(top);
    if (exponent > counts->max_exponent) counts->max_exponent = exponent;
}

/* Whole blocks at a time: scales, elements in units of these, back to numbers. A span ends where a
 * block does, so nothing is kept between spans. */
static void round_row(const hu_blocker *b, float tensor_scale, const float *x, float *y,
                      const hu_random_key *key, uint64_t index, hu_round_counts *counts) {
    uint8_t codes[PIECE];
    uint32_t top = 0;
    for (int64_t first = 0; first < b->row_elements;) {
        size_t blocks, n = span_at(b, first, &blocks);
        hu_block_part part = {first, n, codes, tensor_scale};
        make_scales(b, tensor_scale, first, n, blocks, x + first, codes, &top);
        make_elements(b, &part, x + first, y + first, key, index + (uint64_t)first, counts);
        b->kernels->multiply(b, &part, y + first, y + first);
        first += (int64_t)n;
    }
    raise_exponent(counts, top);
}

void hu_blocker_round(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                      float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts) {
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r * blocker->row_elements;
        round_row(blocker, tensor_scale, x + at, y + at, key, first_index + (uint64_t)at, counts);
    }
}

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

/* Block that holds element first of a row. */
static int64_t block_at(const hu_blocker *b, int64_t first) {
    return first / b->line * b->line_blocks + first % b->line / b->format->length;
}

/* Element codes of a row whose scales stand after them already. Pieces are cut without regard to
 * blocks: a part may begin and end within one. */
static void pack_elements(const hu_blocker *b, float tensor_scale, const float *x, uint8_t *row,
                          const hu_random_key *key, uint64_t index, hu_round_counts *counts) {
    float y[PIECE];
    uint8_t units[PIECE + 8];
    const uint8_t *scales = row + b->code_bytes;
    for (int64_t first = 0; first < b->row_elements; first += PIECE) {
        int64_t left = b->row_elements - first, n = left < PIECE ? left : PIECE;
        hu_block_part part = {first, (size_t)n, scales + block_at(b, first), tensor_scale};
        uint8_t *bytes = row + dense_bytes(b, first), *codes = b->width == 8 ? bytes : units;
        make_elements(b, &part, x + first, y, key, index + (uint64_t)first, counts);
        hu_packer_pack(&b->packer, (size_t)n, y, codes, NULL);
        if (b->is_integer) complement((size_t)n, codes);
        if (b->width == 8) continue;
        memset(units + n, 0, 8);
        join(b->width, (size_t)n, units, bytes);
    }
}

/* One row into its bytes: codes, then scales. */
static void pack_row(const hu_blocker *b, float tensor_scale, const float *x, uint8_t *row,
                     const hu_random_key *key, uint64_t index, hu_round_counts *counts) {
    /* The scales of the whole row come first: pieces of elements need not end where blocks do. */
    uint8_t *scales = row + b->code_bytes;
    uint32_t top = 0;
    for (int64_t first = 0; first < b->row_elements;) {
        size_t blocks, n = span_at(b, first, &blocks);
        make_scales(b, tensor_scale, first, n, blocks, x + first, scales, &top);
        first += (int64_t)n;
        scales += blocks;
    }
    pack_elements(b, tensor_scale, x, row, key, index, counts);
    raise_exponent(counts, top);
}

void hu_blocker_pack(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                     void *data, const hu_random_key *key, uint64_t first_index,
                     hu_round_counts *counts) {
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r * blocker->row_elements;
        pack_row(blocker, tensor_scale, x + at, (uint8_t *)data + (size_t)r * blocker->row_bytes,
                 key, first_index + (uint64_t)at, counts);
    }
}

void hu_blocker_unpack(const hu_blocker *blocker, float tensor_scale, const void *row,
                       int64_t first, size_t n, float *y) {
    const uint8_t *bytes = row;
    uint8_t units[PIECE];
    for (size_t at = 0; at < n; at += PIECE) {
        int64_t place = first + (int64_t)at;
        size_t count = n - at < PIECE ? n - at : PIECE;
        const uint8_t *codes = bytes + dense_bytes(blocker, place);
        hu_block_part part = {place, count, bytes + blocker->code_bytes + block_at(blocker, place),
                              tensor_scale};
        if (blocker->is_integer) memcpy(units, codes, count);
        if (blocker->is_integer) complement(count, units);
        if (blocker->width != 8) split_block(blocker->width, count, codes, units);
        if (blocker->is_integer || blocker->width != 8) codes = units;
        hu_packer_unpack(&blocker->packer, count, codes, y + at);
        blocker->kernels->multiply(blocker, &part, y + at, y + at);
    }
}
