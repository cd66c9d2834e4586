#include "tensor/quantizer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "format/draft.h"
#include "format/value.h"
#include "tensor/storage.h"
#include "tensor/tile_text.h"

uint32_t hu_quantizer_code_bits(const hu_quantizer *quantizer) {
    enum { FLOAT32_BITS = 32 };
    if (quantizer->kind != HU_QUANTIZER_FLOAT) return hu_quantizer_bits(quantizer);
    if (quantizer->is_real) return FLOAT32_BITS; /* its numbers are no format's */
    const hu_format coded = hu_storage_format(&quantizer->format);
    if (hu_format_equal(&coded, &quantizer->format)) return hu_quantizer_bits(quantizer);
    return quantizer->scale == HU_SCALE_NONE ? hu_format_bits(&coded) : FLOAT32_BITS;
}

/* Delayed scales do not: the maxima of the steps before are known when the step begins. */
bool hu_quantizer_needs_maximum(const hu_quantizer *quantizer) {
    switch (quantizer->kind) {
    case HU_QUANTIZER_FLOAT:
        return quantizer->scale == HU_SCALE_CURRENT || quantizer->scale == HU_SCALE_BIAS;
    case HU_QUANTIZER_BLOCK:
        return hu_block_needs_tensor_scale(&quantizer->block);
    default:
        return false;
    }
}

bool hu_quantizer_knows_mode(const hu_quantizer *quantizer, hu_rounding rounding) {
    return quantizer->kind != HU_QUANTIZER_UNIFORM || rounding == HU_ROUND_NEAREST_EVEN ||
           rounding == HU_ROUND_STOCHASTIC;
}

/* The rounding mode does not matter: it chooses among the same numbers. */
bool hu_quantizer_same_numbers(const hu_quantizer *a, const hu_quantizer *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == HU_QUANTIZER_BLOCK) return hu_block_format_equal(&a->block, &b->block);
    if (a->kind == HU_QUANTIZER_UNIFORM)
        return a->bits == b->bits && a->per_channel == b->per_channel &&
               a->keeps_range == b->keeps_range;
    return hu_format_equal(&a->format, &b->format) && a->scale == b->scale &&
           a->history == b->history && a->is_real == b->is_real;
}

/* Rounding a float32 to it changes nothing. */
static bool is_float32(const hu_format *format) {
    return format->exp_bits == 8 && format->man_bits == 23 && format->bias == 127 &&
           format->subnormals && format->overflow == HU_OVERFLOW_INF;
}

/* The texts of one quantizer: "FORMAT:scale=VALUE:MORE MODE" taken apart. */
typedef struct parts {
    char format[HU_QUANTIZER_BYTES]; /* without scale and tile words */
    const char *scale;               /* of the words */
    char mode[24];                   /* "sr:bits=32:kind=a" */
    int column;                      /* of the scale's value, from 1 */
    bool has_scale;
    hu_tile_words words;
} parts;

/* Case does not count in formats and options. */
static bool begins(const char *text, const char *word) {
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* True if the format says itself what becomes of what is too large. */
static bool says_overflow(const char *format) {
    for (const char *at = format; (at = strchr(at, ':')) != NULL; at++)
        if (begins(at, ":ovf=") || begins(at, ":sat=")) return true;
    return false;
}

/* The rounding mode is the last word, unless a bracket of the format stands in it. */
static hu_status take_apart(const char *text, parts *p) {
    const char *space = strrchr(text, ' ');
    *p = (parts){0};
    if (strlen(text) >= sizeof p->format)
        return hu_fail(HU_ERR_PARSE, "format '%.40s...' is longer than %zu characters", text,
                       sizeof p->format - 1);
    strcpy(p->format, text);
    if (space && !strchr(space, ')') && strlen(space + 1) < sizeof p->mode) {
        strcpy(p->mode, space + 1);
        p->format[space - text] = '\0';
    }
    hu_status st = hu_tile_words_cut(text, p->format, &p->words);
    p->scale = p->words.value[HU_WORD_SCALE];
    p->column = p->words.column[HU_WORD_SCALE];
    p->has_scale = p->words.has[HU_WORD_SCALE];
    return st;
}

/* Whole text as a number in least..most. */
static bool read_whole(const char *text, long least, long most, int32_t *number) {
    char *end;
    bool has_digit = isdigit((unsigned char)text[text[0] == '-' || text[0] == '+']);
    long value = strtol(text, &end, 10);
    if (!has_digit || *end || value < least || value > most) return false;
    *number = (int32_t)value;
    return true;
}

/* "delayed", a power of two, or "real": of the steps before; H of them behind the word. */
static hu_status read_history(const char *text, const parts *p, const char *word, int32_t usual,
                              hu_quantizer *quantizer) {
    const char *steps = p->scale + strlen(word);
    quantizer->scale = HU_SCALE_DELAYED;
    quantizer->history = usual;
    if (!*steps || read_whole(steps, 1, HU_HISTORY_MOST, &quantizer->history)) return HU_OK;
    return hu_fail(HU_ERR_PARSE,
                   "format '%s', column %d: found '%s%.20s', expected a number of steps 1..%d "
                   "behind %s",
                   text, p->column, word, steps, HU_HISTORY_MOST, word);
}

/* A fixed scale becomes a part of the format; the others stay a rule that the step evaluates. */
static hu_status read_scale(const char *text, const parts *p, hu_quantizer *quantizer) {
    hu_status st = HU_OK;
    int32_t k;
    quantizer->scale = HU_SCALE_NONE;
    if (strcmp(p->scale, "current") == 0) {
        quantizer->scale = HU_SCALE_CURRENT;
    } else if (strcmp(p->scale, "bias") == 0) {
        if (hu_format_is_table(&quantizer->format))
            return hu_fail(HU_ERR_PARSE,
                           "format '%s', column %d: found 'bias', which is made of exponent bits, "
                           "expected current, delayed, delayedH or 2^K for a format by table",
                           text, p->column);
        quantizer->scale = HU_SCALE_BIAS;
    } else if (strncmp(p->scale, "delayed", 7) == 0) {
        HU_TRY(read_history(text, p, "delayed", HU_HISTORY_USUAL, quantizer));
    } else if (strncmp(p->scale, "real", 4) == 0) {
        quantizer->is_real = true;
        HU_TRY(read_history(text, p, "real", HU_HISTORY_MOST, quantizer));
    } else if (strncmp(p->scale, "2^", 2) == 0 && read_whole(p->scale + 2, -300, 300, &k)) {
        quantizer->format = hu_format_scaled(&quantizer->format, k);
        st = hu_format_check(&quantizer->format);
        if (st != HU_OK)
            return hu_fail_within(st, "format '%s', column %d: scale %s: ", text, p->column,
                                  p->scale);
        return HU_OK;
    } else {
        return hu_fail(HU_ERR_PARSE,
                       "format '%s', column %d: found '%.20s', expected current, delayed, "
                       "delayedH (H steps), realH, bias or 2^K, or :tile=RxC with it for a scale "
                       "of each tile, as e4m3fn:tile=1x128:scale=f32",
                       text, p->column, p->scale);
    }
    /* A delayed scale may come too late for numbers that grow: they then lose precision, and do
     * not become infinite. */
    if (!says_overflow(p->format)) quantizer->format.overflow = HU_OVERFLOW_SAT;
done:
    return st;
}

/* The nearest names of number formats, block formats and uniform integers together. */
static hu_status unknown(const char *name) {
    const char *names[256];
    char nearest[256];
    size_t count = 0;
    const char *format;
    const hu_block_format *block;
    if (hu_format_meant(name)) return hu_format_fail_unknown(name);
    for (uint32_t i = 0; count < 256 && (format = hu_format_named(i, NULL, NULL)) != NULL; i++)
        names[count++] = format;
    for (size_t i = 0; count < 256 && (block = hu_block_format_at(i)) != NULL; i++)
        names[count++] = block->name;
    if (count < 256) names[count++] = "uniform8";
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "format '%.64s' is unknown; nearest: %s", name, nearest);
}

/* The format of the elements is kept beside the blocks: widths are asked of it. A scale after the
 * name says how that of the blocks is rounded. */
static hu_status read_block(const char *text, const parts *p, const hu_block_format *known,
                            hu_quantizer *quantizer) {
    char name[2 * HU_QUANTIZER_BYTES];
    quantizer->kind = HU_QUANTIZER_BLOCK;
    if (p->has_scale && known->scale != HU_BLOCK_SCALE_E8M0)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s', column %d: found a scale, expected none: the blocks of %s "
                       "have their own",
                       text, p->column, known->name);
    snprintf(name, sizeof name, "%s%s%s", known->name, p->has_scale ? ":scale=" : "", p->scale);
    const hu_block_format *found = hu_block_format_find(name);
    if (!found)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s', column %d: found '%.20s', expected floor, ceil, rceil or "
                       "even: the blocks of %s have their own scale, a power of two",
                       text, p->column, p->scale, known->name);
    quantizer->block = *found;
    quantizer->format = quantizer->block.element;
    return HU_OK;
}

/* Tiles of a named block format's elements, or of any number format's. */
static hu_status read_tiles(const char *text, const parts *p, const hu_block_format *known,
                            hu_quantizer *quantizer) {
    hu_status st = HU_OK;
    hu_tile_words words = p->words;
    hu_quantizer named = {0};
    hu_format element = {0};
    if (known) {
        HU_TRY(read_block(text, p, known, &named));
        words.has[HU_WORD_SCALE] = false;
    } else {
        st = hu_format_parse(p->format, &element);
        if (st == HU_ERR_UNKNOWN) HU_TRY(unknown(p->format));
        HU_TRY(st);
        if (is_float32(&element))
            HU_TRY(hu_fail(HU_ERR_PARSE, "format '%s': found tiles of fp32, which is not rounded",
                           text));
    }
    HU_TRY(hu_tile_words_read(text, p->format, &words, known ? &named.block : NULL, &element,
                              &quantizer->block));
    quantizer->kind = HU_QUANTIZER_BLOCK;
    quantizer->format = quantizer->block.element;
done:
    return st;
}

static const char uniform_name[] = "uniform";

/* "uniformB" and what may follow. */
static bool is_uniform(const char *format) {
    const char *behind = format + sizeof uniform_name - 1;
    return begins(format, uniform_name) && (isdigit((unsigned char)*behind) || *behind == ':');
}

/* Bits, then one option at most. */
static hu_status read_uniform(const char *text, const parts *p, hu_quantizer *quantizer) {
    enum { LEAST_BITS = 2 };
    const char *number = p->format + sizeof uniform_name - 1, *option = strchr(number, ':');
    char *end;
    long bits = strtol(number, &end, 10);
    if (p->has_scale)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s', column %d: found a scale, expected none: uniform integers "
                       "have the tensor's range",
                       text, p->column);
    if (hu_tile_words_make_blocks(&p->words))
        return hu_fail(HU_ERR_PARSE,
                       "format '%s': found words of tiles, expected none: uniform integers have "
                       "the tensor's range",
                       text);
    if ((*end && end != option) || bits < LEAST_BITS || bits > HU_UNIFORM_BITS_MOST)
        return hu_fail(HU_ERR_PARSE, "format '%s', column %zu: found '%.20s', expected bits %d..%d",
                       text, sizeof uniform_name, number, LEAST_BITS, HU_UNIFORM_BITS_MOST);
    quantizer->kind = HU_QUANTIZER_UNIFORM;
    quantizer->bits = (uint32_t)bits;
    if (!option) return HU_OK;
    quantizer->per_channel = strcasecmp(option, ":channel") == 0;
    quantizer->keeps_range = strcasecmp(option, ":running") == 0;
    if (quantizer->per_channel || quantizer->keeps_range) return HU_OK;
    return hu_fail(HU_ERR_PARSE,
                   "format '%s', column %d: found '%.20s', expected channel or running", text,
                   (int)(option - p->format) + 2, option + 1);
}

/* fp32 becomes "no rounding" here, so that no other file has to know which format passes. */
static hu_status read_float(const char *text, const parts *p, hu_quantizer *quantizer) {
    hu_status st = hu_format_parse(p->format, &quantizer->format);
    if (st == HU_ERR_UNKNOWN) return unknown(p->format);
    if (st != HU_OK) return st;
    bool passes = is_float32(&quantizer->format);
    quantizer->kind = passes ? HU_QUANTIZER_NONE : HU_QUANTIZER_FLOAT;
    if (!p->has_scale) return HU_OK;
    if (passes)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s', column %d: found a scale, expected none: fp32 is not rounded",
                       text, p->column);
    return read_scale(text, p, quantizer);
}

hu_status hu_quantizer_parse(const char *text, hu_rounding usual, hu_quantizer *quantizer) {
    hu_status st = HU_OK;
    parts p;
    hu_quantizer made = {.rounding = usual};
    *quantizer = (hu_quantizer){0};
    HU_TRY(take_apart(text, &p));
    const hu_block_format *known = hu_block_format_find(p.format);
    bool has_tiles = hu_tile_words_make_blocks(&p.words) && !is_uniform(p.format);
    st = has_tiles              ? read_tiles(text, &p, known, &made)
         : known                ? read_block(text, &p, known, &made)
         : is_uniform(p.format) ? read_uniform(text, &p, &made)
                                : read_float(text, &p, &made);
    if (st != HU_OK) return st;
    if (p.mode[0]) HU_TRY(hu_rounding_parse(p.mode, &made.rounding));
    if (!hu_quantizer_knows_mode(&made, made.rounding))
        HU_TRY(hu_fail(HU_ERR_PARSE, "format '%s': found rounding mode %s, expected rne or sr",
                       text, hu_rounding_name(made.rounding)));
    *quantizer = made;
done:
    return st;
}

void hu_quantizer_print(const hu_quantizer *quantizer, char *text, uint32_t capacity) {
    static const char *const rules[] = {[HU_SCALE_NONE] = "",
                                        [HU_SCALE_CURRENT] = ":scale=current",
                                        [HU_SCALE_DELAYED] = ":scale=delayed",
                                        [HU_SCALE_BIAS] = ":scale=bias"};
    /* Saturation is what a scale brings with it, so the text says only what differs. */
    static const char *const overflows[] = {":ovf=inf", "", ":ovf=nan", ":ovf=propagate",
                                            ":ovf=none"};
    char format[HU_FORMAT_TEXT_BYTES + 16] = "";
    if (quantizer->kind == HU_QUANTIZER_FLOAT)
        hu_format_print(&quantizer->format, format, HU_FORMAT_TEXT_BYTES);
    if (quantizer->scale != HU_SCALE_NONE && !says_overflow(format))
        strcat(format, overflows[quantizer->format.overflow]);
    if (quantizer->kind == HU_QUANTIZER_NONE)
        snprintf(text, capacity, "float32");
    else if (quantizer->kind == HU_QUANTIZER_BLOCK)
        hu_block_format_print(&quantizer->block, text, capacity);
    else if (quantizer->kind == HU_QUANTIZER_UNIFORM)
        snprintf(text, capacity, "%s%u%s%s", uniform_name, (unsigned)quantizer->bits,
                 quantizer->per_channel ? ":channel" : "",
                 quantizer->keeps_range ? ":running" : "");
    else if (quantizer->scale == HU_SCALE_DELAYED)
        snprintf(text, capacity, "%s:scale=%s%d", format, quantizer->is_real ? "real" : "delayed",
                 (int)quantizer->history);
    else
        snprintf(text, capacity, "%s%s", format, rules[quantizer->scale]);
}

hu_status hu_plain_format_parse(const char *text, hu_format *format) {
    /* The text is read twice with different usual modes: equal modes mean that the text names one.
     */
    hu_quantizer quantizer, other;
    hu_status st = hu_format_parse(text, format);
    if (st == HU_OK) return HU_OK;
    st = hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &quantizer);
    if (st == HU_OK) st = hu_quantizer_parse(text, HU_ROUND_STOCHASTIC, &other);
    if (st != HU_OK && (strstr(text, ":scale=") || strstr(text, ":tile=") || is_uniform(text)))
        return st;
    if (st != HU_OK) return hu_format_parse(text, format);
    if (quantizer.kind == HU_QUANTIZER_BLOCK)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s': found a block format, expected the format of single numbers",
                       text);
    if (quantizer.kind == HU_QUANTIZER_UNIFORM)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s': found uniform integers, whose numbers depend on a tensor, "
                       "expected the format of single numbers",
                       text);
    if (quantizer.rounding == other.rounding)
        return hu_fail(HU_ERR_PARSE, "format '%s': found a rounding mode, expected a format alone",
                       text);
    if (quantizer.scale != HU_SCALE_NONE)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s': found a scale that depends on a tensor, expected a format "
                       "alone or scale=2^K",
                       text);
    *format = quantizer.format;
    return HU_OK;
}
