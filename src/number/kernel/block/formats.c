/* kernel/block/formats.c - block formats as data: the named ones, and what all of them have. */
#include <float.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "base/error.h"
#include "format/value.h"
#include "kernel/block/block.h"

#define F(e, m, bias_, specials_)                                                                  \
    {                                                                                              \
        .exp_bits = (e), .man_bits = (m), .specials = HU_SPECIALS_##specials_, .subnormals = 1,    \
        .overflow = HU_OVERFLOW_SAT, .bias = (bias_)                                               \
    }
#define SCALE_E8M0 .scale = HU_BLOCK_SCALE_E8M0
#define SCALE_E4M3                                                                                 \
    .scale = HU_BLOCK_SCALE_FORMAT, .scale_format = F(4, 3, 7, FN), .has_factor = true
#define HU_BLOCK(name_, element_, length_, scale_, description_)                                   \
    {.name = name_ SUFFIX,                                                                         \
     .description = description_,                                                                  \
     .element = element_,                                                                          \
     .length = length_,                                                                            \
     .lines = 1,                                                                                   \
     SCALE_##scale_,                                                                               \
     .power = POWER},

/* One list for each power: a row's name says which, unless it is the usual one. */
static const hu_block_format table[HU_BLOCK_POWERS][16] = {
#define SUFFIX ""
#define POWER HU_BLOCK_FLOOR
    {
#include "kernel/block/block.list"
    },
#undef SUFFIX
#undef POWER
#define SUFFIX ":scale=ceil"
#define POWER HU_BLOCK_CEIL
    {
#include "kernel/block/block.list"
    },
#undef SUFFIX
#undef POWER
#define SUFFIX ":scale=rceil"
#define POWER HU_BLOCK_RCEIL
    {
#include "kernel/block/block.list"
    },
#undef SUFFIX
#undef POWER
#define SUFFIX ":scale=even"
#define POWER HU_BLOCK_EVEN
    {
#include "kernel/block/block.list"
    },
#undef SUFFIX
#undef POWER
};
#undef HU_BLOCK
#undef F
#define HU_BLOCK(...) +1
enum {
    TABLE_COUNT = 0
#include "kernel/block/block.list"
};
#undef HU_BLOCK
_Static_assert(TABLE_COUNT <= 16, "rows of the table");

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
static bool is_name(const hu_block_format *format, const char *name) {
    size_t length = strlen(format->name);
    if (strcasecmp(format->name, name) == 0) return true;
    return format->scale == HU_BLOCK_SCALE_E8M0 && format->power == HU_BLOCK_FLOOR &&
           strncasecmp(format->name, name, length) == 0 &&
           strcasecmp(name + length, ":scale=floor") == 0;
}

/* The first row that fits. */
static const hu_block_format *first(bool (*fits)(const hu_block_format *, const void *),
                                    const void *what) {
    for (size_t i = 0; i < TABLE_COUNT; i++)
        for (int power = 0; power < HU_BLOCK_POWERS; power++) {
            const hu_block_format *format =
                power ? hu_block_format_with(i, (hu_block_power)power) : hu_block_format_at(i);
            if (format && fits(format, what)) return format;
        }
    return NULL;
}

static bool has_name(const hu_block_format *format, const void *name) {
    return is_name(format, name);
}

static bool is_like(const hu_block_format *format, const void *other) {
    return hu_block_format_equal(format, other);
}

const hu_block_format *hu_block_format_find(const char *name) {
    return first(has_name, name);
}

const hu_block_format *hu_block_format_like(const hu_block_format *format) {
    return first(is_like, format);
}

static bool same_scale(const hu_block_format *a, const hu_block_format *b) {
    if (a->scale != b->scale) return false;
    if (a->scale == HU_BLOCK_SCALE_E8M0) return a->power == b->power;
    if (a->way != b->way) return false;
    if (a->scale == HU_BLOCK_SCALE_F32) return a->least == b->least;
    return hu_format_equal(&a->scale_format, &b->scale_format) &&
           a->is_unsigned == b->is_unsigned && a->has_factor == b->has_factor &&
           a->choice == b->choice && a->group == b->group;
}

bool hu_block_format_equal(const hu_block_format *a, const hu_block_format *b) {
    return a->length == b->length && a->lines == b->lines && same_scale(a, b) &&
           a->hadamard == b->hadamard && (a->hadamard == 0 || a->signs == b->signs) &&
           hu_format_equal(&a->element, &b->element);
}

uint32_t hu_block_scale_bytes(const hu_block_format *format) {
    if (format->scale == HU_BLOCK_SCALE_E8M0) return 1;
    if (format->scale == HU_BLOCK_SCALE_F32) return sizeof(float);
    uint32_t bits = hu_format_bits(&format->scale_format) - format->is_unsigned;
    return bits <= 8 ? 1 : bits <= 16 ? 2 : sizeof(float);
}

int64_t hu_block_tiles(const hu_block_format *format, int64_t lines, int64_t line) {
    int64_t down = lines / format->lines + (lines % format->lines != 0);
    return down * (line / format->length + (line % format->length != 0));
}

hu_block_format hu_block_format_across(const hu_block_format *format) {
    hu_block_format across = *format;
    across.name = across.description = NULL;
    across.length = format->lines;
    across.lines = format->length;
    return across;
}

int64_t hu_block_step(const hu_block_format *format) {
    int64_t step = format->length;
    if (format->hadamard) step = hu_common_multiple(step, format->hadamard);
    return format->group ? hu_common_multiple(step, format->group) : step;
}

/* The largest number. */
static float most_of(const hu_format *format) {
    return (float)hu_format_limits_of(format).max_finite;
}

/* A NaN tile must be told by its scale's code, and no sign may be needed. */
static hu_status check_scale_format(const hu_block_format *format) {
    uint32_t code;
    hu_status st = hu_format_check(&format->scale_format);
    if (st != HU_OK) return st;
    bool has_nan =
        hu_format_encode(&format->scale_format, hu_f32_of_bits(HU_F32_NAN), &code) == HU_OK;
    if (!has_nan || most_of(&format->scale_format) < 1.0f)
        return hu_fail(HU_ERR_FORMAT,
                       "a scale needs a format with a code for NaN and numbers of at least 1");
    return HU_OK;
}

static hu_status check_choices(const hu_block_format *f) {
    bool is_nvfp4 = f->scale == HU_BLOCK_SCALE_FORMAT && most_of(&f->element) == 6.0f &&
                    most_of(&f->scale_format) == 448.0f && f->has_factor;
    if (f->choice && (!is_nvfp4 || f->way > HU_BLOCK_WAY_TE))
        return hu_fail(HU_ERR_FORMAT, "4/6 goes with elements of e2m1, scale=e4m3fn and a factor");
    if (f->way == HU_BLOCK_WAY_EDEN &&
        (!is_nvfp4 || f->lines != 1 || f->group < 1 || f->group % f->length != 0))
        return hu_fail(HU_ERR_FORMAT,
                       "eden goes with elements of e2m1, scale=e4m3fn, tiles of one line, and a "
                       "group of whole tiles: found %d numbers in groups, %d in tiles",
                       (int)f->group, (int)f->length);
    if (f->way == HU_BLOCK_WAY_AO && f->scale != HU_BLOCK_SCALE_FORMAT)
        return hu_fail(HU_ERR_FORMAT, "as=ao goes with a scale that is a number of a format");
    if (f->way != HU_BLOCK_WAY_OWN && f->scale == HU_BLOCK_SCALE_E8M0)
        return hu_fail(HU_ERR_FORMAT, "a power of two is found by floor, ceil, rceil or even");
    return HU_OK;
}

/* Only corrections of MS-EDEN reach so far. */
static hu_status check_step(const hu_block_format *f) {
    const int64_t tiles = hu_block_step(f) / f->length;
    if (tiles <= HU_BLOCK_STEP_TILES) return HU_OK;
    return hu_fail(HU_ERR_FORMAT,
                   "found eden=%d%s%.0d in tiles of %d, which begin together every %lld tiles, "
                   "expected at most %d",
                   (int)f->group, f->hadamard ? " and hadamard=" : "", (int)f->hadamard,
                   (int)f->length, (long long)tiles, HU_BLOCK_STEP_TILES);
}

hu_status hu_block_format_check(const hu_block_format *format) {
    hu_status st = HU_OK;
    HU_TRY(hu_format_check(&format->element));
    if (format->length < 1 || format->lines < 1 || format->length > HU_TILE_SIDE_MOST ||
        format->lines > HU_TILE_SIDE_MOST)
        HU_TRY(hu_fail(HU_ERR_FORMAT, "found a tile of %dx%d, expected sides of 1..%d",
                       (int)format->lines, (int)format->length, HU_TILE_SIDE_MOST));
    if (format->scale == HU_BLOCK_SCALE_FORMAT) HU_TRY(check_scale_format(format));
    HU_TRY(check_choices(format));
    if (format->hadamard && !hu_hadamard_is_size(format->hadamard))
        HU_TRY(hu_fail(HU_ERR_FORMAT, "found hadamard=%d, expected a power of two, 2..%d",
                       (int)format->hadamard, HU_HADAMARD_MOST));
    st = check_step(format);
done:
    return st;
}

bool hu_block_needs_tensor_scale(const hu_block_format *format) {
    return format->scale == HU_BLOCK_SCALE_FORMAT && format->has_factor;
}

/* T of block.h. */
static float most_scale_of(const hu_block_format *format) {
    const float half_again = 256.0f; /* leaves room for a scale that is larger by half */
    return format->choice ? half_again : most_of(&format->scale_format);
}

/* A / (T M), and with float32's operations where T M is none of its numbers. */
static float quotient_of(const hu_block_format *format, float top) {
    const float most = most_of(&format->element), scale = most_scale_of(format);
    const float product = scale * most;
    return product <= FLT_MAX ? top / product : top / most / scale;
}

/* T M / A. */
static float inverse_of(const hu_block_format *format, float top) {
    const float most = most_of(&format->element), scale = most_scale_of(format);
    const float product = scale * most;
    return product <= FLT_MAX ? product / top : scale / (top / most);
}

float hu_block_tensor_scale(const hu_block_format *format, uint32_t top_bits) {
    const float largest = hu_f32_of_bits(HU_F32_INFINITY - 1);
    if (!hu_block_needs_tensor_scale(format) || top_bits == 0) return 1.0f;
    float top = hu_f32_of_bits(top_bits), inverse, scale = quotient_of(format, top);
    switch (format->way) {
    case HU_BLOCK_WAY_TE:
        inverse = inverse_of(format, top);
        return inverse < largest ? inverse : largest;
    case HU_BLOCK_WAY_EDEN:
        scale = top / 255.99f / HU_BLOCK_EDEN;
        break;
    default:
        break;
    }
    return scale < 0x1p-126f ? 0x1p-126f : scale;
}
