#include "kernel/gemm/tensor_core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"

/* ---- the list ---- */

enum { FLOAT32_LEAST = -126, FP16_LEAST = -14, FLOAT32_BITS = 23 };

/* K, F, out, late, least exponent of a factor. A factor's least exponent is named where the unit
 * takes one format alone; fp16 and bf16, E4M3 and E5M2 share the others. */
static const hu_core cores[] = {
    {"v100-fp16", 4, 23, 23, false, FP16_LEAST, "V100, fp16 into float32"},
    {"a100", 8, 24, 23, false, FLOAT32_LEAST, "A100, fp16 and bf16; Ada the same"},
    {"a100-tf32", 4, 24, 23, false, FLOAT32_LEAST, "A100, tf32; Ada the same"},
    {"h100", 16, 25, 23, false, FLOAT32_LEAST, "H100 and H200, fp16 and bf16"},
    {"h100-tf32", 8, 25, 23, false, FLOAT32_LEAST, "H100 and H200, tf32"},
    {"ada-fp8", 16, 13, 13, false, FLOAT32_LEAST, "L40S, RTX 40, FP8"},
    {"h100-fp8", 32, 13, 13, false, FLOAT32_LEAST, "H100 and H200, FP8 by wgmma, as cuBLAS"},
    {"b200", 16, 25, 23, false, FLOAT32_LEAST, "B200, fp16 and bf16"},
    {"b200-tf32", 8, 25, 23, false, FLOAT32_LEAST, "B200, tf32"},
    {"b200-fp8", 32, 25, 23, false, FLOAT32_LEAST, "B200, FP8 by tcgen05; no words at hand"},
    {"b200-fp8-mma", 32, 25, 23, true, FLOAT32_LEAST, "B200, FP8 by mma.sync: a is added last"},
};

const hu_core *hu_core_at(size_t index) {
    return index < sizeof cores / sizeof cores[0] ? &cores[index] : NULL;
}

/* float32 with fewer fraction bits. */
static hu_format format_of_bits(int bits) {
    return (hu_format){.exp_bits = 8,
                       .man_bits = (uint8_t)bits,
                       .specials = HU_SPECIALS_IEEE,
                       .subnormals = 1,
                       .overflow = HU_OVERFLOW_INF,
                       .bias = 127};
}

static void set_core(const hu_core *core, hu_accumulator *accumulator) {
    accumulator->block = core->terms;
    accumulator->align_bits = core->align_bits;
    accumulator->format = format_of_bits(core->out_bits);
    accumulator->is_late = core->is_late;
    accumulator->least_exponent[0] = accumulator->least_exponent[1] = core->least_exponent;
}

/* ---- reading ---- */

/* One option under way: `word` is what stands after its "=". */
typedef struct reading {
    const char *text; /* the whole */
    hu_accumulator *accumulator;
    bool has_rounding, has_terms, has_bits, has_out_format, is_in_format;
    uint32_t given; /* options, a bit each */
    char out[64];   /* format of a step's result, with its own options */
} reading;

static hu_status read_number(const reading *r, const char *name, const char *word, int64_t least,
                             int64_t most, int64_t *value) {
    char *end;
    long long number = strtoll(word, &end, 10);
    if (end == word || *end != '\0')
        return hu_fail(HU_ERR_PARSE, "accumulator '%.160s': found %s=%.40s, expected a number",
                       r->text, name, word);
    if (number < least || number > most)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator '%.160s': %s=%.40s, allowed %lld..%lld",
                       r->text, name, word, (long long)least, (long long)most);
    *value = number;
    return HU_OK;
}

static hu_status read_terms(reading *r, const char *word) {
    r->has_terms = true;
    return read_number(r, "K", word, 1, HU_CORE_TERMS_MOST, &r->accumulator->block);
}

static hu_status read_bits(reading *r, const char *word) {
    int64_t bits = 0;
    hu_status st = read_number(r, "F", word, 1, HU_CORE_BITS_MOST, &bits);
    r->accumulator->align_bits = (int32_t)bits;
    r->has_bits = true;
    return st;
}

static hu_status read_out(reading *r, const char *word) {
    int64_t bits = 0;
    hu_status st = HU_OK;
    r->has_out_format = strspn(word, "0123456789") != strlen(word) || word[0] == '\0';
    snprintf(r->out, sizeof r->out, "%s", r->has_out_format ? word : "");
    if (r->has_out_format) return HU_OK;
    HU_TRY(read_number(r, "out", word, 0, FLOAT32_BITS, &bits));
    r->accumulator->format = format_of_bits((int)bits);
done:
    return st;
}

static hu_status read_rounding(reading *r, const char *word) {
    r->has_rounding = true;
    r->accumulator->rounding = HU_ROUND_TOWARD_ZERO;
    if (strcasecmp(word, "rz") == 0) return HU_OK;
    r->accumulator->rounding = HU_ROUND_NEAREST_EVEN;
    if (strcasecmp(word, "rne") == 0) return HU_OK;
    return hu_fail(HU_ERR_UNKNOWN, "accumulator '%.160s': round=%.40s, expected rz or rne", r->text,
                   word);
}

static hu_status read_late(reading *r, const char *word) {
    r->accumulator->is_late = strcasecmp(word, "late") == 0;
    if (r->accumulator->is_late || strcasecmp(word, "early") == 0) return HU_OK;
    return hu_fail(HU_ERR_UNKNOWN, "accumulator '%.160s': c=%.40s, expected late or early", r->text,
                   word);
}

static hu_status read_promote(reading *r, const char *word) {
    return read_number(r, "promote", word, 0, INT64_C(1) << 31, &r->accumulator->promote);
}

static hu_status read_least(reading *r, const char *word) {
    char first[16];
    int64_t a = 0, b = 0;
    hu_status st = HU_OK;
    size_t length = strcspn(word, "/");
    snprintf(first, sizeof first, "%.*s", (int)length, word);
    HU_TRY(read_number(r, "emin", first, -149, 127, &a));
    b = a;
    if (word[length]) HU_TRY(read_number(r, "emin", word + length + 1, -149, 127, &b));
    r->accumulator->least_exponent[0] = (int32_t)a;
    r->accumulator->least_exponent[1] = (int32_t)b;
done:
    return st;
}

static const struct {
    const char *name;
    hu_status (*read)(reading *r, const char *word);
} options[] = {{"K", read_terms},        {"F", read_bits}, {"out", read_out},
               {"round", read_rounding}, {"c", read_late}, {"promote", read_promote},
               {"emin", read_least}};

enum { OPTIONS = sizeof options / sizeof options[0], WORD_MOST = 63 };

static hu_status read_name(reading *r, const char *word) {
    char nearest[128];
    for (size_t i = 0; hu_core_at(i); i++)
        if (strcasecmp(word, cores[i].name) == 0) {
            set_core(&cores[i], r->accumulator);
            r->has_terms = r->has_bits = true;
            return HU_OK;
        }
    hu_nearest_row(word, cores, sizeof cores / sizeof cores[0], sizeof cores[0], nearest,
                   sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "accumulator '%.160s': unknown tensor core '%.40s'; the nearest are %s, or its "
                   "numbers: tc:K=32:F=13:out=13",
                   r->text, word, nearest);
}

/* Options of the format of a step's result may follow it. */
static hu_status read_option(reading *r, const char *word) {
    char nearest[128];
    size_t length = strcspn(word, "=");
    bool is_after_out = r->is_in_format;
    for (size_t i = 0; word[length] && i < OPTIONS; i++)
        if (strlen(options[i].name) == length && strncasecmp(word, options[i].name, length) == 0) {
            if (r->given >> i & 1)
                return hu_fail(HU_ERR_PARSE, "accumulator '%.160s': '%s=' is given twice", r->text,
                               options[i].name);
            r->given |= 1u << i;
            r->is_in_format = options[i].read == read_out;
            return options[i].read(r, word + length + 1);
        }
    if (is_after_out && strlen(r->out) + strlen(word) + 2 < sizeof r->out) {
        strcat(strcat(r->out, ":"), word);
        return HU_OK;
    }
    hu_nearest_row(word, options, OPTIONS, sizeof options[0], nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "accumulator '%.160s': unknown option '%.40s'; the nearest are %s (one of K=, "
                   "F=, out=, round=, c=late, promote=, emin=)",
                   r->text, word, nearest);
}

/* Characters up to the next colon or comma outside parentheses. */
static size_t word_length(const char *text) {
    size_t length = 0;
    int depth = 0;
    for (; text[length] && (depth > 0 || (text[length] != ',' && text[length] != ':')); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

static hu_status read_words(reading *r, const char *at) {
    hu_status st = HU_OK;
    for (int i = 0; *at; i++) {
        char word[WORD_MOST + 1];
        at += 1 + strspn(at + 1, " ");
        size_t length = word_length(at);
        snprintf(word, sizeof word, "%.*s", (int)(length < WORD_MOST ? length : WORD_MOST), at);
        if (i == 0 && !strchr(word, '='))
            HU_TRY(read_name(r, word));
        else
            HU_TRY(read_option(r, word));
        at += length;
    }
done:
    return st;
}

/* What options leave open: a format by name is rounded to nearest, as units of fp16 do. */
static hu_status finish_reading(reading *r) {
    hu_status st = HU_OK;
    if (!r->has_terms || !r->has_bits)
        return hu_fail(HU_ERR_PARSE,
                       "accumulator '%.160s': %s is missing, expected tc:K=TERMS:F=BITS, or the "
                       "name of a tensor core",
                       r->text, r->has_terms ? "F" : "K");
    if (r->has_out_format) st = hu_format_parse(r->out, &r->accumulator->format);
    if (st != HU_OK) return hu_fail_within(st, "accumulator '%.160s': ", r->text);
    if (!r->has_rounding)
        r->accumulator->rounding = r->has_out_format ? HU_ROUND_NEAREST_EVEN : HU_ROUND_TOWARD_ZERO;
    return hu_accumulator_check(r->accumulator);
}

hu_status hu_core_parse(const char *text, size_t length, hu_accumulator *accumulator) {
    hu_status st = HU_OK;
    reading r = {.text = text, .accumulator = accumulator};
    if (text[length] == '\0')
        return hu_fail(HU_ERR_PARSE,
                       "accumulator '%.160s', column %zu: found the end, expected ':' and the name "
                       "of a tensor core",
                       text, length + 1);
    accumulator->format = format_of_bits(FLOAT32_BITS);
    accumulator->least_exponent[0] = accumulator->least_exponent[1] = FLOAT32_LEAST;
    HU_TRY(read_words(&r, text + length));
    HU_TRY(finish_reading(&r));
done:
    return st;
}

/* ---- checking and printing ---- */

hu_status hu_core_check(const hu_accumulator *a) {
    if (a->block < 1 || a->block > HU_CORE_TERMS_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator tc: K is %lld terms, allowed 1..%d",
                       (long long)a->block, HU_CORE_TERMS_MOST);
    if (a->align_bits < 1 || a->align_bits > HU_CORE_BITS_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator tc: F is %d bits, allowed 1..%d",
                       a->align_bits, HU_CORE_BITS_MOST);
    if (a->promote < 0 || a->promote % a->block != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "accumulator tc: promote is %lld terms, expected a multiple of K = %lld",
                       (long long)a->promote, (long long)a->block);
    if (a->rounding != HU_ROUND_TOWARD_ZERO && a->rounding != HU_ROUND_NEAREST_EVEN)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator tc: rounding %d, expected rz or rne",
                       (int)a->rounding);
    for (int i = 0; i < 2; i++)
        if (a->least_exponent[i] < -149 || a->least_exponent[i] > 127)
            return hu_fail(HU_ERR_ARGUMENT, "accumulator tc: emin is %d, allowed -149..127",
                           a->least_exponent[i]);
    if (!a->format.subnormals)
        return hu_fail(HU_ERR_FORMAT,
                       "accumulator tc: the result of a step goes to a format without subnormals, "
                       "expected one with them (:sub=d)");
    return HU_OK;
}

static bool is_of_bits(const hu_format *format) {
    hu_format other = format_of_bits(format->man_bits);
    return hu_format_equal(format, &other);
}

/* The row that has all of the accumulator's numbers but promote and least_exponent. */
static const hu_core *core_of(const hu_accumulator *a) {
    for (size_t i = 0; hu_core_at(i); i++) {
        hu_accumulator named = *a;
        set_core(&cores[i], &named);
        bool is_same = named.block == a->block && named.align_bits == a->align_bits &&
                       named.is_late == a->is_late && a->rounding == HU_ROUND_TOWARD_ZERO &&
                       hu_format_equal(&named.format, &a->format) &&
                       named.least_exponent[0] == a->least_exponent[0] &&
                       named.least_exponent[1] == a->least_exponent[1];
        if (is_same) return &cores[i];
    }
    return NULL;
}

/* A text that grows; what does not fit is noticed at the end. */
typedef struct writing {
    char text[192];
    size_t length;
} writing;

static void put(writing *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writing *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(w->text + w->length, sizeof w->text - w->length, format, arguments);
    va_end(arguments);
    w->length += (size_t)length;
}

/* ":out=23" and what else differs from what a text without it means. */
static hu_status put_numbers(const hu_accumulator *a, writing *w) {
    char format[64];
    hu_status st = HU_OK;
    bool has_bits = is_of_bits(&a->format);
    HU_TRY(hu_format_print(&a->format, format, sizeof format));
    put(w, "K=%" PRId64 ":F=%d", a->block, a->align_bits);
    if (has_bits)
        put(w, ":out=%d", a->format.man_bits);
    else
        put(w, ":out=%s", format);
    if (has_bits != (a->rounding == HU_ROUND_TOWARD_ZERO))
        put(w, ":round=%s", has_bits ? "rne" : "rz");
    if (a->is_late) put(w, ":c=late");
    if (a->least_exponent[0] != a->least_exponent[1])
        put(w, ":emin=%d/%d", a->least_exponent[0], a->least_exponent[1]);
    else if (a->least_exponent[0] != FLOAT32_LEAST)
        put(w, ":emin=%d", a->least_exponent[0]);
done:
    return st;
}

hu_status hu_core_print(const hu_accumulator *a, char *text, uint32_t capacity) {
    hu_status st = HU_OK;
    writing w = {.text = "tc:", .length = 3};
    const hu_core *core = core_of(a);
    if (core)
        put(&w, "%s", core->name);
    else
        HU_TRY(put_numbers(a, &w));
    if (a->promote) put(&w, ":promote=%" PRId64, a->promote);
    if (w.length >= capacity)
        return hu_fail(HU_ERR_LIMIT,
                       "accumulator '%.90s...': its text has %zu characters, at most %u", w.text,
                       w.length, capacity - 1);
    memcpy(text, w.text, w.length + 1);
done:
    return st;
}
