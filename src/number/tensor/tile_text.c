#include "tensor/tile_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"

/* ---- words of a text ---- */

static const struct {
    const char *name;
    bool may_be_bare, may_have_value;
} rows[HU_WORD_COUNT] = {
    [HU_WORD_TILE] = {"tile", false, true},     [HU_WORD_SCALE] = {"scale", false, true},
    [HU_WORD_FACTOR] = {"factor", false, true}, [HU_WORD_AS] = {"as", false, true},
    [HU_WORD_LEAST] = {"least", false, true},   [HU_WORD_FOUR] = {"4/6", true, true},
    [HU_WORD_EDEN] = {"eden", true, true},      [HU_WORD_HADAMARD] = {"hadamard", false, true},
    [HU_WORD_RANDOM] = {"random", true, false}, [HU_WORD_PLAIN] = {"plain", true, false},
};

/* The word that an option of `length` characters is; HU_WORD_COUNT: none. */
static hu_tile_word word_of(const char *option, size_t length, const char **value) {
    for (int w = 0; w < HU_WORD_COUNT; w++) {
        size_t name = strlen(rows[w].name);
        if (length < name || strncasecmp(option, rows[w].name, name) != 0) continue;
        *value = option[name] == '=' ? option + name + 1 : option + length;
        if (option[name] == '=' && length > name && rows[w].may_have_value) return (hu_tile_word)w;
        if (length == name && rows[w].may_be_bare) return (hu_tile_word)w;
    }
    return HU_WORD_COUNT;
}

static hu_status keep_value(const char *text, hu_tile_words *words, hu_tile_word word,
                            const char *value, size_t length, int column) {
    if (words->has[word])
        return hu_fail(HU_ERR_PARSE, "format '%s': '%s%s' is given twice", text, rows[word].name,
                       rows[word].may_be_bare ? "" : "=");
    if (length >= HU_TILE_VALUE_BYTES)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s', column %d: found '%.20s...', expected at most "
                       "%d characters",
                       text, column, value, HU_TILE_VALUE_BYTES - 1);
    words->has[word] = true;
    words->column[word] = column;
    for (size_t i = 0; i < length; i++)
        words->value[word][i] = (char)tolower((unsigned char)value[i]);
    return HU_OK;
}

hu_status hu_tile_words_cut(const char *text, char *format, hu_tile_words *words) {
    hu_status st = HU_OK;
    int moved = 0; /* characters that are gone before the present place */
    *words = (hu_tile_words){0};
    for (char *at = strchr(format, ':'); at; at = strchr(at, ':')) {
        const char *option = at + 1, *value = NULL;
        size_t length = strcspn(option, ":");
        hu_tile_word word = word_of(option, length, &value);
        if (word == HU_WORD_COUNT) {
            at++;
            continue;
        }
        bool is_bare = memchr(option, '=', length) == NULL;
        int column = (int)((is_bare ? option : value) - format) + 1 + moved;
        HU_TRY(keep_value(text, words, word, value, (size_t)(option + length - value), column));
        memmove(at, option + length, strlen(option + length) + 1);
        moved += (int)length + 1;
    }
done:
    return st;
}

bool hu_tile_words_make_blocks(const hu_tile_words *words) {
    for (int w = 0; w < HU_WORD_COUNT; w++)
        if (w != HU_WORD_SCALE && words->has[w]) return true;
    return false;
}

/* ---- from words to a block format ---- */

typedef struct reading {
    const char *text, *format;
    const hu_tile_words *words;
    hu_block_format *block;
    bool is_named;
} reading;

static hu_status fail_expected(const reading *r, hu_tile_word word, const char *expected) {
    const char *value = r->words->value[word];
    return hu_fail(HU_ERR_PARSE, "format '%s', column %d: found '%.30s', expected %s", r->text,
                   r->words->column[word], value[0] ? value : rows[word].name, expected);
}

/* Digits of a number in least..most; *end behind them. */
static bool read_number(const char *text, long least, long most, int32_t *number, char **end) {
    *end = (char *)(uintptr_t)text;
    if (!isdigit((unsigned char)*text)) return false;
    long value = strtol(text, end, 10);
    *number = (int32_t)value;
    return value >= least && value <= most;
}

static bool read_whole(const char *text, long least, long most, int32_t *number) {
    char *end;
    return read_number(text, least, most, number, &end) && *end == '\0';
}

static hu_status read_tile(const reading *r) {
    char *end, expected[96];
    const char *value = r->words->value[HU_WORD_TILE];
    if (!r->words->has[HU_WORD_TILE]) return HU_OK;
    if (read_number(value, 1, HU_TILE_SIDE_MOST, &r->block->lines, &end) && *end == 'x' &&
        read_whole(end + 1, 1, HU_TILE_SIDE_MOST, &r->block->length))
        return HU_OK;
    snprintf(expected, sizeof expected,
             "RxC: lines and elements of a line, 1..%d each, as in 1x128", HU_TILE_SIDE_MOST);
    return fail_expected(r, HU_WORD_TILE, expected);
}

/* "ueXmY": the magnitudes of a format whose last code is NaN. */
static bool read_unsigned(const char *value, hu_format *format) {
    char name[HU_TILE_VALUE_BYTES + 16];
    if (value[0] != 'u' || value[1] != 'e' || !isdigit((unsigned char)value[2])) return false;
    snprintf(name, sizeof name, "%s:specials=fn", value + 1);
    return hu_format_parse(name, format) == HU_OK;
}

/* A scale that is a number of a format. */
static bool read_scale_format(const reading *r, const char *value) {
    hu_block_format *b = r->block;
    b->is_unsigned = read_unsigned(value, &b->scale_format);
    if (!b->is_unsigned && hu_format_parse(value, &b->scale_format) != HU_OK) return false;
    b->scale = HU_BLOCK_SCALE_FORMAT;
    b->scale_format.overflow = HU_OVERFLOW_SAT;
    b->has_factor = true;
    return true;
}

/* Words that are no formats. */
static const struct {
    const char *name;
    hu_block_scale scale;
    hu_block_power power;
} scales[] = {
    {"f32", HU_BLOCK_SCALE_F32, HU_BLOCK_FLOOR},    {"fp32", HU_BLOCK_SCALE_F32, HU_BLOCK_FLOOR},
    {"ue8m0", HU_BLOCK_SCALE_E8M0, HU_BLOCK_FLOOR}, {"floor", HU_BLOCK_SCALE_E8M0, HU_BLOCK_FLOOR},
    {"pow2", HU_BLOCK_SCALE_E8M0, HU_BLOCK_RCEIL},  {"rceil", HU_BLOCK_SCALE_E8M0, HU_BLOCK_RCEIL},
    {"ceil", HU_BLOCK_SCALE_E8M0, HU_BLOCK_CEIL},   {"even", HU_BLOCK_SCALE_E8M0, HU_BLOCK_EVEN},
};
enum { SCALES = sizeof scales / sizeof *scales };

static hu_status fail_scale(const reading *r) {
    const char *names[SCALES + 256];
    const char *value = r->words->value[HU_WORD_SCALE];
    char nearest[128], expected[320];
    size_t count = 0;
    for (; count < SCALES; count++) names[count] = scales[count].name;
    names[count++] = "ue5m3";
    names[count++] = "ue4m3";
    for (uint32_t i = 0; i < 240 && i < hu_format_named_count(); i++)
        names[count++] = hu_format_named(i, NULL, NULL);
    hu_nearest(value, names, count, nearest, sizeof nearest);
    bool is_of_tensor = strcmp(value, "current") == 0 || strcmp(value, "bias") == 0 ||
                        strncmp(value, "delayed", 7) == 0 || strncmp(value, "2^", 2) == 0;
    if (is_of_tensor)
        snprintf(expected, sizeof expected,
                 "f32, ue8m0, floor, ceil, rceil, even or a number format: tiles have scales of "
                 "their own, and %s is of a whole tensor",
                 value);
    else
        snprintf(expected, sizeof expected,
                 "f32, ue8m0, floor, ceil, rceil, even or a number format; nearest: %s", nearest);
    return fail_expected(r, HU_WORD_SCALE, expected);
}

/* A named block format keeps its kind of scale: words only say how a power of two is found. */
static hu_status read_scale(const reading *r) {
    const char *value = r->words->value[HU_WORD_SCALE];
    hu_block_format *b = r->block;
    if (!r->words->has[HU_WORD_SCALE]) return HU_OK;
    if (r->is_named)
        return fail_expected(r, HU_WORD_SCALE,
                             "no scale: a block format has its own, and its elements with tile= "
                             "may have another");
    for (size_t i = 0; i < SCALES; i++) {
        if (strcmp(scales[i].name, value) != 0) continue;
        b->scale = scales[i].scale;
        b->power = scales[i].power;
        return HU_OK;
    }
    return read_scale_format(r, value) ? HU_OK : fail_scale(r);
}

static hu_status read_factor(const reading *r) {
    const char *value = r->words->value[HU_WORD_FACTOR];
    if (!r->words->has[HU_WORD_FACTOR]) return HU_OK;
    bool is_none = strcmp(value, "none") == 0;
    if (r->block->scale != HU_BLOCK_SCALE_FORMAT)
        return fail_expected(r, HU_WORD_FACTOR, "scale=FORMAT beside it: others need no factor");
    if (!is_none && strcmp(value, "tensor") != 0)
        return fail_expected(r, HU_WORD_FACTOR, "tensor or none");
    r->block->has_factor = !is_none;
    return HU_OK;
}

static hu_status read_way(const reading *r) {
    const char *value = r->words->value[HU_WORD_AS];
    if (!r->words->has[HU_WORD_AS]) return HU_OK;
    bool is_te = strcmp(value, "te") == 0;
    if (!is_te && strcmp(value, "ao") != 0) return fail_expected(r, HU_WORD_AS, "te or ao");
    r->block->way = is_te ? HU_BLOCK_WAY_TE : HU_BLOCK_WAY_AO;
    return HU_OK;
}

static hu_status read_least(const reading *r) {
    const char *value = r->words->value[HU_WORD_LEAST];
    char *end;
    if (!r->words->has[HU_WORD_LEAST]) return HU_OK;
    float least = strtof(value, &end);
    if (r->block->scale != HU_BLOCK_SCALE_F32)
        return fail_expected(r, HU_WORD_LEAST, "scale=f32 beside it");
    if (end == value || *end || !(least > 0.0f) || least > 3e38f)
        return fail_expected(r, HU_WORD_LEAST, "a number above 0, as in 1e-4");
    r->block->least = least;
    return HU_OK;
}

static hu_status read_choice(const reading *r) {
    const char *value = r->words->value[HU_WORD_FOUR];
    if (!r->words->has[HU_WORD_FOUR]) return HU_OK;
    if (value[0] && strcmp(value, "square") != 0)
        return fail_expected(r, HU_WORD_FOUR, "square or nothing");
    r->block->choice = value[0] ? HU_BLOCK_CHOICE_FOUR_SQUARES : HU_BLOCK_CHOICE_FOUR;
    return HU_OK;
}

static hu_status read_eden(const reading *r) {
    enum { USUAL_GROUP = 32 };
    const char *value = r->words->value[HU_WORD_EDEN];
    if (!r->words->has[HU_WORD_EDEN]) return HU_OK;
    if (r->words->has[HU_WORD_AS])
        return fail_expected(r, HU_WORD_EDEN, "eden or as=, which are ways of the same thing");
    r->block->way = HU_BLOCK_WAY_EDEN;
    r->block->group = USUAL_GROUP;
    if (value[0] && !read_whole(value, 1, HU_TILE_SIDE_MOST, &r->block->group))
        return fail_expected(r, HU_WORD_EDEN, "numbers that share a correction, as in eden=32");
    return HU_OK;
}

static hu_status read_hadamard(const reading *r) {
    bool is_random = r->words->has[HU_WORD_RANDOM], is_plain = r->words->has[HU_WORD_PLAIN];
    hu_tile_word signs = is_random ? HU_WORD_RANDOM : HU_WORD_PLAIN;
    if (!r->words->has[HU_WORD_HADAMARD] && (is_random || is_plain))
        return fail_expected(r, signs, "hadamard= beside it, whose signs it tells");
    if (!r->words->has[HU_WORD_HADAMARD]) return HU_OK;
    if (is_random && is_plain) return fail_expected(r, HU_WORD_PLAIN, "random or plain alone");
    r->block->signs = is_random ? HU_SIGNS_RANDOM : is_plain ? HU_SIGNS_PLAIN : HU_SIGNS_FIXED;
    if (!read_whole(r->words->value[HU_WORD_HADAMARD], 1, INT32_MAX, &r->block->hadamard) ||
        !hu_hadamard_is_size(r->block->hadamard))
        return fail_expected(r, HU_WORD_HADAMARD, "a power of two, 2..1024");
    return HU_OK;
}

/* A free format needs both: what shares a scale, and what kind of scale it is. */
static hu_status check_complete(const reading *r) {
    if (r->is_named) return HU_OK;
    for (int w = 0; w < HU_WORD_COUNT; w++) {
        bool lacks = !r->words->has[HU_WORD_TILE] || !r->words->has[HU_WORD_SCALE];
        if (lacks && r->words->has[w])
            return hu_fail(HU_ERR_PARSE,
                           "format '%s': found '%s' without '%s=', expected both tile=RxC and "
                           "scale=, as in e4m3fn:tile=1x128:scale=f32",
                           r->text, rows[w].name, r->words->has[HU_WORD_TILE] ? "scale" : "tile");
    }
    return HU_OK;
}

/* The option of a format that says what too large numbers become; NULL: none. */
static const char *says_overflow(const char *format) {
    return strstr(format, ":ovf=") ? "ovf=" : strstr(format, ":sat=") ? "sat=" : NULL;
}

hu_status hu_tile_words_read(const char *text, const char *format, const hu_tile_words *words,
                             const hu_block_format *base, const hu_format *element,
                             hu_block_format *block) {
    hu_status st = HU_OK;
    const hu_block_format empty = {.length = 1, .lines = 1};
    *block = base ? *base : empty;
    if (!base) block->element = *element;
    reading r = {text, format, words, block, base != NULL};
    HU_TRY(check_complete(&r));
    if (!base && says_overflow(format) && element->overflow != HU_OVERFLOW_SAT)
        HU_TRY(hu_fail(HU_ERR_PARSE,
                       "format '%s': found %s, expected none: elements of tiles saturate", text,
                       says_overflow(format)));
    if (!base) block->element.overflow = HU_OVERFLOW_SAT;
    block->name = block->description = NULL;
    HU_TRY(read_tile(&r));
    HU_TRY(read_scale(&r));
    HU_TRY(read_factor(&r));
    HU_TRY(read_way(&r));
    HU_TRY(read_least(&r));
    HU_TRY(read_choice(&r));
    HU_TRY(read_eden(&r));
    HU_TRY(read_hadamard(&r));
    st = hu_block_format_check(block);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "format '%s': ", text));
    const hu_block_format *like = hu_block_format_like(block);
    if (like) *block = *like;
done:
    return st;
}

/* ---- and back ---- */

/* The element without what every tile brings with it: saturation. */
static void print_element(const hu_format *element, char *text, size_t capacity) {
    char shortest[HU_FORMAT_TEXT_BYTES] = "";
    for (int overflow = HU_OVERFLOW_INF; overflow <= HU_OVERFLOW_NONE; overflow++) {
        char name[HU_FORMAT_TEXT_BYTES];
        hu_format format = *element;
        format.overflow = (uint8_t)overflow;
        if (hu_format_check(&format) != HU_OK ||
            hu_format_print(&format, name, sizeof name) != HU_OK)
            continue;
        if (says_overflow(name)) continue;
        if (!shortest[0] || strlen(name) < strlen(shortest)) strcpy(shortest, name);
    }
    if (!shortest[0]) hu_format_print(element, shortest, sizeof shortest);
    snprintf(text, capacity, "%s", shortest);
}

static void print_scale(const hu_block_format *b, char *text, size_t capacity) {
    if (b->scale == HU_BLOCK_SCALE_F32)
        snprintf(text, capacity, "f32");
    else if (b->scale == HU_BLOCK_SCALE_E8M0)
        snprintf(text, capacity, "%s",
                 b->power == HU_BLOCK_FLOOR ? "ue8m0" : hu_block_power_name(b->power));
    else if (b->is_unsigned)
        snprintf(text, capacity, "ue%dm%d", b->scale_format.exp_bits, b->scale_format.man_bits);
    else
        print_element(&b->scale_format, text, capacity);
}

/* Appends to a text what fits. */
static void append(char *text, size_t capacity, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, capacity - used, "%s", more);
}

/* The least digits that read back as the number. */
static void print_least(float least, char *text, size_t capacity) {
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, capacity, ":least=%.*g", digits, (double)least);
        if (strtof(text + sizeof ":least=" - 1, NULL) == least) return;
    }
}

void hu_block_format_print(const hu_block_format *block, char *text, uint32_t capacity) {
    static const char *const ways[] = {"", ":as=te", ":as=ao", ""};
    static const char *const choices[] = {"", ":4/6", ":4/6=square"};
    static const char *const signs[] = {"", ":random", ":plain"};
    char element[HU_FORMAT_TEXT_BYTES], scale[HU_FORMAT_TEXT_BYTES], piece[64];
    if (block->name) {
        snprintf(text, capacity, "%s", block->name);
        return;
    }
    print_element(&block->element, element, sizeof element);
    print_scale(block, scale, sizeof scale);
    snprintf(text, capacity, "%s:tile=%dx%d:scale=%s", element, (int)block->lines,
             (int)block->length, scale);
    if (block->scale == HU_BLOCK_SCALE_FORMAT && !block->has_factor)
        append(text, capacity, ":factor=none");
    append(text, capacity, ways[block->way]);
    append(text, capacity, choices[block->choice]);
    if (block->way == HU_BLOCK_WAY_EDEN) {
        snprintf(piece, sizeof piece, ":eden=%d", (int)block->group);
        append(text, capacity, piece);
    }
    if (block->least > 0.0f) {
        print_least(block->least, piece, sizeof piece);
        append(text, capacity, piece);
    }
    if (!block->hadamard) return;
    snprintf(piece, sizeof piece, ":hadamard=%d%s", (int)block->hadamard, signs[block->signs]);
    append(text, capacity, piece);
}
