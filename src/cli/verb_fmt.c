/* halfulp fmt: what a number format can hold, and numbers through it. */
#include <ctype.h>
#include <errno.h>
#include <halfulp/format.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "cli/fmt_block.h"
#include "cli/verb.h"
#include "format/draft.h"
#include "show/json.h"
#include "show/stdout.h"
#include "show/table.h"
#include "tensor/quantizer.h"

enum { LINE_BYTES = 512, NAME_BYTES = 80 };

static const char *const specials_names[] = {"ieee", "fin", "fn", "fnuz"};
static const char *const overflow_names[] = {"inf", "sat", "nan"};

/* Fields and limits of a format. */
static json_t *format_json(const char *name, const hu_format *format) {
    hu_format_limits limits = hu_format_limits_of(format);
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:b, s:s, s:s, s:s}", "name", name, "bits",
                  (int)hu_format_bits(format), "exp_bits", (int)format->exp_bits, "man_bits",
                  (int)format->man_bits, "bias", (int)format->bias, "specials",
                  specials_names[format->specials], "subnormals", (int)format->subnormals,
                  "overflow", overflow_names[format->overflow], "sub",
                  hu_format_subnormals_name(format), "nan", hu_nan_name(format->nan));
    if (!object) return NULL;
    int failed =
        json_object_set_new(object, "max", hu_json_number(limits.max_finite)) |
        json_object_set_new(object, "min_normal", hu_json_number(limits.min_normal)) |
        json_object_set_new(object, "min_subnormal", hu_json_number(limits.min_subnormal)) |
        json_object_set_new(object, "overflow_threshold",
                            hu_json_number(limits.overflow_threshold)) |
        json_object_set_new(object, "underflow_threshold",
                            hu_json_number(limits.underflow_threshold)) |
        json_object_set_new(object, "codes", json_integer((json_int_t)limits.codes));
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

/* "1.5 x 2^-14" or the like is what people compare; the exact power is printed beside the number.
 */
static hu_status add_number(hu_table *table, const char *what, double value, const char *note) {
    int exponent;
    double fraction = 2 * frexp(value, &exponent);
    hu_status st;
    HU_TRY(hu_table_cell(table, "%s", what));
    HU_TRY(hu_table_cell(table, "%.9g", value));
    if (fraction == 1)
        HU_TRY(hu_table_cell(table, "2^%d", exponent - 1));
    else
        HU_TRY(hu_table_cell(table, "%.9g x 2^%d", fraction, exponent - 1));
    HU_TRY(hu_table_cell(table, "%s", note));
done:
    return st;
}

/* The limits as a table: number, power of two, meaning. */
static hu_status print_limits(const char *name, const hu_format *format) {
    static const char *const titles[] = {"limit", "value", "exactly", "meaning"};
    hu_format_limits limits = hu_format_limits_of(format);
    hu_table *table;
    hu_status st = hu_table_create(titles, 4, &table);
    if (st != HU_OK) return st;
    HU_TRY(add_number(table, "max", limits.max_finite, "largest finite number"));
    HU_TRY(add_number(table, "min_normal", limits.min_normal, "smallest normal number"));
    HU_TRY(add_number(table, "min_subnormal", limits.min_subnormal, "smallest nonzero number"));
    HU_TRY(add_number(table, "overflow_threshold", limits.overflow_threshold,
                      format->specials == HU_SPECIALS_FN ? "above it: overflow (nearest-even)"
                                                         : "from it on: overflow (nearest-even)"));
    HU_TRY(add_number(table, "underflow_threshold", limits.underflow_threshold,
                      "below it: zero (nearest-even)"));
    printf("%s: %u bits = 1 sign + %d exponent + %d mantissa, bias %d, specials %s, "
           "subnormals %s, overflow %s%s, %llu codes\n\n",
           name, hu_format_bits(format), format->exp_bits, format->man_bits, (int)format->bias,
           specials_names[format->specials],
           format->subnormals                          ? "kept"
           : format->underflow == HU_UNDERFLOW_NEAREST ? "none, what is below goes to the nearest"
                                                       : "flushed",
           overflow_names[format->overflow],
           format->nan == HU_NAN_OVERFLOWS ? ", NaN as an infinity" : "",
           (unsigned long long)limits.codes);
    st = hu_show_table(table);
done:
    hu_table_free(table);
    return st;
}

static hu_status add_list_row(hu_table *table, uint32_t index) {
    hu_format format;
    const char *description;
    const char *name = hu_format_named(index, &format, &description);
    hu_format_limits limits = hu_format_limits_of(&format);
    hu_status st;
    HU_TRY(hu_table_cell(table, "%s", name));
    HU_TRY(hu_table_cell(table, "%u", hu_format_bits(&format)));
    HU_TRY(hu_table_cell(table, "%d", format.exp_bits));
    HU_TRY(hu_table_cell(table, "%d", format.man_bits));
    HU_TRY(hu_table_cell(table, "%d", (int)format.bias));
    HU_TRY(hu_table_cell(table, "%s", specials_names[format.specials]));
    HU_TRY(hu_table_cell(table, "%s", hu_format_subnormals_name(&format)));
    HU_TRY(hu_table_cell(table, "%s", overflow_names[format.overflow]));
    HU_TRY(hu_table_cell(table, "%.6g", limits.max_finite));
    HU_TRY(hu_table_cell(table, "%.6g", limits.min_subnormal));
    HU_TRY(hu_table_cell(table, "%s", description));
done:
    return st;
}

/* All named formats, then the block formats. */
static hu_status print_list(void) {
    static const char *const titles[] = {"name", "bits", "exp", "man",      "bias", "specials",
                                         "sub",  "ovf",  "max", "smallest", "what"};
    hu_table *table;
    hu_status st = hu_table_create(titles, sizeof titles / sizeof *titles, &table);
    if (st != HU_OK) return st;
    for (uint32_t i = 0; i < hu_format_named_count(); i++) HU_TRY(add_list_row(table, i));
    HU_TRY(hu_show_table(table));
    st = hu_fmt_block_list();
done:
    hu_table_free(table);
    return st;
}

static json_t *block_json(const hu_block_format *block) {
    char element[NAME_BYTES] = "";
    hu_format_print(&block->element, element, sizeof element);
    return hu_fmt_block_json(block, format_json(element, &block->element));
}

static hu_status print_list_json(void) {
    json_t *rows = json_array(), *blocks = json_array();
    const hu_block_format *block;
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++)
        json_array_append_new(blocks, block_json(block));
    for (uint32_t i = 0; i < hu_format_named_count(); i++) {
        hu_format format;
        const char *description;
        const char *name = hu_format_named(i, &format, &description);
        json_t *row = format_json(name, &format);
        if (row) json_object_set_new(row, "description", json_string(description));
        json_array_append_new(rows, row);
    }
    return hu_json_print(json_pack("{s:o, s:o}", "formats", rows, "block_formats", blocks));
}

/* How the numbers of stdin are treated. */
typedef struct stream_job {
    hu_format format;
    hu_rounding rounding;
    bool is_decoding, is_encoding;
    hu_random_key random; /* word i serves line i + 1 */
} stream_job;

static hu_status bad_line(uint64_t line, const char *text, const char *expected) {
    return hu_fail(HU_ERR_PARSE, "stdin:%llu: found '%.60s', expected %s", (unsigned long long)line,
                   text, expected);
}

/* A number as C writes it; hexadecimal ones are exact. */
static hu_status read_number(const char *text, uint64_t line, float *value) {
    char *end;
    *value = strtof(text, &end);
    if (end == text || *end)
        return bad_line(line, text, "a decimal or hexadecimal number, inf or nan");
    return HU_OK;
}

/* Nine digits give every float32 back. */
static void write_number(float value) {
    if (isnan(value))
        puts("nan");
    else
        printf("%.9g\n", (double)value);
}

/* As many hexadecimal digits as the format's bits need. */
static hu_status write_code(const stream_job *job, uint64_t line, float value) {
    uint32_t code;
    hu_status st = hu_format_encode(&job->format, value, &code);
    if (st != HU_OK) return hu_fail_within(st, "stdin:%llu: ", (unsigned long long)line);
    printf("0x%0*x\n", (int)(hu_format_bits(&job->format) + 3) / 4, code);
    return HU_OK;
}

/* A code to its number; codes beyond the format's bits are errors. */
static hu_status decode_line(const stream_job *job, uint64_t line, const char *text) {
    char *end;
    errno = 0;
    unsigned long long code = strtoull(text, &end, 16);
    if (!isxdigit((unsigned char)*text) || end == text || *end || errno || code > UINT32_MAX)
        return bad_line(line, text, "a hexadecimal code");
    float value;
    hu_status st = hu_format_decode(&job->format, (uint32_t)code, &value);
    if (st != HU_OK) return hu_fail_within(HU_ERR_PARSE, "stdin:%llu: ", (unsigned long long)line);
    write_number(value);
    return HU_OK;
}

/* One line of stdin: a code, or a number that is rounded and maybe encoded. */
static hu_status treat_line(const stream_job *job, uint64_t line, const char *text) {
    if (job->is_decoding) return decode_line(job, line, text);
    float value;
    hu_status st = read_number(text, line, &value);
    if (st != HU_OK) return st;
    uint32_t word =
        job->rounding == HU_ROUND_STOCHASTIC ? hu_random_word(&job->random, line - 1) : 0;
    value = hu_format_round(&job->format, job->rounding, value, word);
    if (job->is_encoding) return write_code(job, line, value);
    write_number(value);
    return HU_OK;
}

/* Cuts blanks and the line end off; NULL if the line is too long for the buffer. */
static char *trimmed(char *line) {
    size_t length = strlen(line);
    if (length == LINE_BYTES - 1 && line[length - 1] != '\n') return NULL;
    while (length > 0 && isspace((unsigned char)line[length - 1])) line[--length] = 0;
    return line + strspn(line, " \t");
}

/* Line by line: the first bad one ends the stream, with its number in the message. */
static hu_status treat_stream(const stream_job *job) {
    char buffer[LINE_BYTES];
    for (uint64_t line = 1; fgets(buffer, sizeof buffer, stdin); line++) {
        char *text = trimmed(buffer);
        hu_status st = text ? treat_line(job, line, text)
                            : bad_line(line, buffer, "a line of less than 511 characters");
        if (st != HU_OK) return st;
    }
    if (ferror(stdin)) return hu_fail(HU_ERR_IO, "stdin: %s", strerror(errno));
    return HU_OK;
}

/* What the flags ask for; --decode stands alone. */
static hu_status run_stream(const hu_config *config, const hu_format *format) {
    const char *mode = NULL;
    stream_job job = {.format = *format, .rounding = HU_ROUND_NEAREST_EVEN};
    hu_status st;
    hu_config_flag(config, "round", &mode);
    job.is_encoding = hu_config_flag(config, "encode", NULL);
    job.is_decoding = hu_config_flag(config, "decode", NULL);
    if (job.is_decoding && (job.is_encoding || hu_config_flag(config, "round", NULL)))
        return hu_fail(HU_ERR_PARSE, "found --decode with --encode or --round, expected one");
    if (mode) HU_TRY(hu_rounding_parse(mode, &job.rounding));
    HU_TRY(hu_config_u64(config, "seed", &job.random.seed));
    job.random.stream = hu_stream_id("fmt", "");
    st = treat_stream(&job);
done:
    return st;
}

/* Combinations that make no sense are refused before anything is printed. */
static hu_status run_fmt(hu_config *config, int *exit_code) {
    (void)exit_code;
    bool as_json = hu_config_flag(config, "json", NULL);
    bool is_stream = hu_config_flag(config, "round", NULL) ||
                     hu_config_flag(config, "encode", NULL) ||
                     hu_config_flag(config, "decode", NULL);
    const char *name = hu_config_subject(config, 0);
    if (hu_config_flag(config, "list", NULL)) {
        if (name || is_stream)
            return hu_fail(HU_ERR_PARSE, "found --list with a format or a stream flag, expected "
                                         "--list alone or with --json");
        return as_json ? print_list_json() : print_list();
    }
    if (!name) return hu_fail(HU_ERR_PARSE, "found no format, expected halfulp fmt NAME or --list");
    if (is_stream && as_json)
        return hu_fail(HU_ERR_PARSE, "found --json with --round, --encode or --decode, expected "
                                     "one of them: streams are lines of numbers");
    hu_format format;
    char canonical[NAME_BYTES];
    hu_status st;
    const hu_block_format *block = hu_block_format_find(name);
    if (block && is_stream)
        return hu_fail(
            HU_ERR_PARSE,
            "found a stream of numbers for %s, expected a format without blocks, such as "
            "its elements'",
            block->name);
    if (block) return as_json ? hu_json_print(block_json(block)) : hu_fmt_block_print(block);
    st = hu_plain_format_parse(name, &format);
    if (st == HU_ERR_UNKNOWN) { /* names the nearest of all formats */
        hu_quantizer quantizer;
        return hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer);
    }
    if (st != HU_OK) return st;
    HU_TRY(hu_format_print(&format, canonical, sizeof canonical));
    if (is_stream) return run_stream(config, &format);
    st =
        as_json ? hu_json_print(format_json(canonical, &format)) : print_limits(canonical, &format);
done:
    return st;
}

static const char *const flags[] = {"json", "list", "round=", "encode", "decode", NULL};

const hu_verb hu_verb_fmt = {
    .name = "fmt",
    .help = "show a number format, or pass numbers through it",
    .usage = "NAME [--json | --round[=MODE] | --encode | --decode] | --list [--json]",
    .details =
        "NAME: a named format (--list), or a block format, or E exponent and M mantissa bits as\n"
        "  eEmM         with :bias=B (subtracted from the exponent field; usual: 2^(E-1) - 1)\n"
        "               :specials=ieee|fin|fn|fnuz (which codes are no numbers) :sub=d|n|nearest\n"
        "               (subnormals, none: flushed, none: to zero or the smallest normal number)\n"
        "               :ovf=inf|sat|nan (what is too large becomes) :nan=ovf (fin: NaNs too)\n"
        "  1/E/M/d      the same as eEmM, 1/E/M/n without subnormals\n"
        "  fp(E,M,BIAS) all codes are numbers, overflow saturates; BIAS is added to the usual "
        "bias:\n"
        "               fp(4,3,4) is e4m3:bias=11:specials=fin, its numbers 2^4 times smaller\n\n"
        "  --list          all named formats and block formats\n"
        "  --round[=MODE]  numbers on stdin, one a line, rounded; MODE: rne rna rz ru rd rodd sr\n"
        "                  (sr draws from seed=N and the line number)\n"
        "  --encode        numbers on stdin, rounded (--round=MODE, else rne), as codes\n"
        "  --decode        hexadecimal codes on stdin as numbers\n",
    .flags = flags,
    .min_subjects = 0,
    .max_subjects = 1,
    .run = run_fmt,
};
