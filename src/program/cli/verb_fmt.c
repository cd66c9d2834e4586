#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <halfulp/format.h>
#include <halfulp/gemm.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "cli/verb.h"
#include "format/value.h"
#include "kernel/block/block.h"
#include "precision/precision.h"
#include "render/json.h"
#include "render/table.h"
#include "report/formats.h"
#include "report/report.h"
#include "tensor/quantizer.h"
#include "tensor/tile_text.h"

/* ---- Numbers of stdin through a format ---- */

enum { LINE_BYTES = 512 };

/* How the numbers of stdin are treated. */
typedef struct stream_job {
    hu_format format;
    const hu_block_format *block; /* NULL: numbers one by one */
    hu_rounding rounding;
    bool is_decoding, is_encoding;
    hu_random_key random; /* word i serves line i + 1 */
} stream_job;

static hu_status bad_line(uint64_t line, const char *text, const char *expected) {
    return hu_fail(HU_ERR_PARSE, "stdin:%llu: found '%.60s', expected %s", (unsigned long long)line,
                   text, expected);
}

/* Several on a line, and a comma for the point, are told as such; else the last error. what:
 * "number" or "code". */
static hu_status bad_entry(hu_status status, uint64_t line, const char *text, const char *what) {
    char point[HU_DECIMAL_BYTES], expected[64];
    if (strcmp(what, "number") == 0 && hu_decimal_has_comma(text, point))
        snprintf(expected, sizeof expected, "a number with a point: %s", point);
    else if (*text && strpbrk(text, " \t,;"))
        snprintf(expected, sizeof expected, "one %s a line", what);
    else
        return hu_fail_within(status, "stdin:%llu: ", (unsigned long long)line);
    return bad_line(line, text, expected);
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
        return bad_entry(hu_fail(HU_ERR_PARSE, "found '%.60s', expected a hexadecimal code", text),
                         line, text, "code");
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
    uint32_t word = hu_rounding_mode(job->rounding) == HU_ROUND_STOCHASTIC
                        ? hu_random_word(&job->random, line - 1)
                        : 0;
    hu_status st = hu_format_round_text(&job->format, job->rounding, text, word, &value);
    if (st != HU_OK) return bad_entry(st, line, text, "number");
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

/* A line with its end, or as much of it as there is room for; how many bytes. 0: there is none. */
static size_t read_line(char buffer[LINE_BYTES]) {
    size_t length = 0;
    for (int c = 0; c != '\n' && length < LINE_BYTES - 1 && (c = getc_unlocked(stdin)) != EOF;)
        buffer[length++] = (char)c;
    buffer[length] = '\0';
    return length;
}

/* The next line without blanks at its ends, NULL after the last. */
static hu_status next_line(uint64_t line, char buffer[LINE_BYTES], char **text) {
    *text = NULL;
    size_t length = read_line(buffer);
    if (length == 0 || ferror(stdin))
        return ferror(stdin) ? hu_fail(HU_ERR_IO, "stdin: %s", strerror(errno)) : HU_OK;
    if (strlen(buffer) < length) return bad_line(line, buffer, "a line without a zero byte");
    *text = trimmed(buffer);
    return *text ? HU_OK : bad_line(line, buffer, "a line of less than 511 characters");
}

/* Line by line: the first bad one ends the stream, with its number in the message. */
static hu_status treat_stream(const stream_job *job) {
    hu_status st = HU_OK;
    char buffer[LINE_BYTES], *text;
    for (uint64_t line = 1;; line++) {
        HU_TRY(next_line(line, buffer, &text));
        if (!text) break;
        HU_TRY(treat_line(job, line, text));
    }
done:
    return st;
}

/* ---- blocks ---- */

/* All numbers of stdin: the scale of a tensor looks at the last one before the first is rounded. */
typedef struct numbers {
    float *x;
    size_t count, room;
} numbers;

static hu_status make_room(numbers *n) {
    enum { FIRST = 1024 };
    size_t room = n->room ? 2 * n->room : FIRST;
    float *x = NULL;
    hu_status st;
    if (n->count < n->room) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&x, room));
    if (n->count) memcpy(x, n->x, n->count * sizeof *x);
    hu_free(n->x);
    n->x = x;
    n->room = room;
done:
    return st;
}

/* Blocks are defined for float32. What is none is rounded to odd: in the narrow elements, by a
 * scale that is a power of two, it becomes what the number itself would. */
static hu_status read_numbers(numbers *n) {
    hu_format carrier;
    hu_status st = hu_format_parse("fp32", &carrier);
    char buffer[LINE_BYTES], *text;
    if (st != HU_OK) return st;
    for (uint64_t line = 1;; line++) {
        HU_TRY(next_line(line, buffer, &text));
        if (!text) break;
        HU_TRY(make_room(n));
        st = hu_format_round_text(&carrier, HU_ROUND_TO_ODD, text, 0, &n->x[n->count]);
        if (st != HU_OK) return bad_entry(st, line, text, "number");
        n->count++;
    }
done:
    return st;
}

/* Element i of a stream of codes, the least significant bit first. */
static unsigned element_code(const uint8_t *bytes, size_t i, uint32_t width) {
    unsigned code = 0;
    for (uint32_t k = 0; k < width; k++) {
        size_t bit = i * width + k;
        code |= (unsigned)(bytes[bit / 8] >> bit % 8 & 1) << k;
    }
    return code;
}

/* A line for each number: the code of the element, that of its scale, the scale of all. */
static hu_status print_codes(const stream_job *job, const hu_blocker *blocker, float tensor_scale,
                             const numbers *n) {
    uint8_t *bytes = NULL;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&bytes, blocker->row_bytes));
    hu_blocker_pack(blocker, tensor_scale, 1, n->x, bytes, &job->random, 0, NULL);
    for (size_t i = 0; i < n->count; i++) {
        uint32_t scale = 0;
        size_t tile = i / (size_t)job->block->length, scale_bytes = blocker->scale_bytes;
        memcpy(&scale, bytes + blocker->code_bytes + tile * scale_bytes, scale_bytes);
        printf("0x%0*x 0x%0*x", (int)(blocker->width + 3) / 4,
               element_code(bytes, i, blocker->width), (int)(2 * scale_bytes), scale);
        if (hu_block_needs_tensor_scale(job->block)) printf(" %.9g", (double)tensor_scale);
        putchar('\n');
    }
done:
    hu_free(bytes);
    return st;
}

/* The numbers as one line of a tensor. */
static hu_status treat_blocks(const stream_job *job) {
    numbers n = {0};
    hu_blocker blocker;
    hu_status st;
    HU_TRY(read_numbers(&n));
    if (n.count == 0) goto done;
    HU_TRY(
        hu_blocker_init(&blocker, job->block, job->rounding, (int64_t)n.count, (int64_t)n.count));
    uint32_t signs[HU_HADAMARD_MOST];
    if (job->block->hadamard && job->block->signs == HU_SIGNS_RANDOM) {
        hu_hadamard_draw(&job->random, job->block->hadamard, signs);
        blocker.signs = signs;
    }
    float tensor_scale =
        hu_block_tensor_scale(job->block, hu_blocker_top(&blocker, (int64_t)n.count, n.x));
    if (job->is_encoding) HU_TRY(print_codes(job, &blocker, tensor_scale, &n));
    if (job->is_encoding) goto done;
    hu_blocker_round(&blocker, tensor_scale, 1, n.x, n.x, &job->random, 0, NULL);
    for (size_t i = 0; i < n.count; i++) write_number(n.x[i]);
done:
    hu_free(n.x);
    return st;
}

/* What --round, --encode and --decode ask for: a line on stdout for each number or code on stdin.
 * Numbers are rounded as they are written; blocks take them in their order. --decode stands
 * alone. */
static hu_status fmt_stream(const hu_config *config, const hu_named_format *named) {
    const char *mode = NULL;
    stream_job job = {.format = named->format, .rounding = HU_ROUND_NEAREST_EVEN};
    hu_status st;
    hu_config_flag(config, "round", &mode);
    job.is_encoding = hu_config_flag(config, "encode", NULL);
    job.is_decoding = hu_config_flag(config, "decode", NULL);
    if (job.is_decoding && (job.is_encoding || hu_config_flag(config, "round", NULL)))
        return hu_fail(HU_ERR_ARGUMENT, "found --decode with --encode or --round, expected one");
    if (mode) HU_TRY(hu_rounding_parse(mode, &job.rounding));
    HU_TRY(hu_config_u64(config, "seed", &job.random.seed));
    job.random.stream = hu_stream_id("fmt", "");
    if (named->is_element) job.block = &named->block;
    if (job.block && job.is_decoding)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found --decode for %s, expected --round or --encode: a code of blocks is "
                       "no number without its scale",
                       named->typed);
    st = job.block ? treat_blocks(&job) : treat_stream(&job);
done:
    return st;
}

/* ---- The verb ---- */

/* ---- Block formats as the verb fmt shows them ---- */

/* hu_format_print needs at least 64. */
enum { NAME_BYTES = HU_FORMAT_TEXT_BYTES };

static bool has_tensor_scale(const hu_block_format *block) {
    return hu_block_needs_tensor_scale(block) != 0;
}

/* A power of two without sign (OCP MX 1.0), float32, or a number of a format. */
static const char *scale_name(const hu_block_format *block, char name[NAME_BYTES]) {
    if (block->scale == HU_BLOCK_SCALE_E8M0) return "ue8m0";
    if (block->scale == HU_BLOCK_SCALE_F32) return "float32";
    hu_format format = block->scale_format;
    format.overflow = HU_OVERFLOW_NAN; /* as e4m3fn is named */
    hu_format_print(&format, name, NAME_BYTES);
    if (block->is_unsigned) snprintf(name, NAME_BYTES, "ue%dm%d", format.exp_bits, format.man_bits);
    return name;
}

/* Bits of an element with its share of the scale of a full tile. */
static double bits_per_element(const hu_block_format *block) {
    double count = (double)block->length * (double)block->lines;
    return (double)hu_format_bits(&block->element) + 8.0 * hu_block_scale_bytes(block) / count;
}

/* What a tile is, and how it is named. */
static const char *description_of(const hu_block_format *block) {
    return block->description ? block->description : "tiles with scales of their own";
}

/* The power of two of a block's scale. */
static void print_power(const hu_block_format *block, const hu_format_limits *limits) {
    static const char *const of_largest[] = {
        [HU_BLOCK_FLOOR] = "floor(log2 of the block's largest magnitude)",
        [HU_BLOCK_CEIL] = "ceil(log2 of the block's largest magnitude)",
        [HU_BLOCK_EVEN] = "floor(log2 of the largest magnitude, rounded as an element)"};
    printf("scale         ue8m0: 2^k, k = ");
    if (block->power == HU_BLOCK_RCEIL)
        printf("ceil(log2(the block's largest magnitude / %.9g))", limits->max_finite);
    else
        printf("%s - %d", of_largest[block->power], limits->emax);
    printf(", at least -127%s\n",
           block->power == HU_BLOCK_FLOOR ? "; :scale=ceil, rceil or even: another power" : "");
}

/* Of the largest magnitude of a tensor that is 1. */
static void print_tensor_scale(const hu_block_format *block) {
    float scale = hu_block_tensor_scale(block, hu_f32_bits(1.0f));
    if (!has_tensor_scale(block))
        printf("tensor scale  none\n");
    else if (block->way == HU_BLOCK_WAY_TE)
        printf("tensor scale  float32: %.6g / the tensor's largest magnitude\n", (double)scale);
    else
        printf("tensor scale  float32: the tensor's largest magnitude / %.6g\n",
               1.0 / (double)scale);
}

/* Element format, block and scale of a block format, as text on stdout. */
static hu_status fmt_block_print(const hu_block_format *block) {
    char element[NAME_BYTES];
    hu_format_limits limits = hu_format_limits_of(&block->element);
    hu_status st = hu_format_print(&block->element, element, sizeof element);
    if (st != HU_OK) return st;
    char name[HU_QUANTIZER_BYTES], scale[NAME_BYTES];
    hu_block_format_print(block, name, sizeof name);
    printf("%s: %s\n\n", name, description_of(block));
    printf("elements      %s: %u bits, 0 and %.9g .. %.9g in units of the scale; saturating\n",
           element, hu_format_bits(&block->element), limits.min_subnormal, limits.max_finite);
    if (block->lines == 1)
        printf("block         %d elements along the last extent, a shorter one at the end of a "
               "line\n",
               block->length);
    else
        printf("tile          %d lines, %d elements of each; smaller ones at the ends\n",
               block->lines, block->length);
    if (block->scale == HU_BLOCK_SCALE_E8M0)
        print_power(block, &limits);
    else
        printf("scale         %s: the block's largest magnitude / %s%.9g%s\n",
               scale_name(block, scale), has_tensor_scale(block) ? "(" : "", limits.max_finite,
               has_tensor_scale(block) ? " x tensor scale)" : "");
    print_tensor_scale(block);
    if (block->hadamard)
        printf("rotation      lines in groups of %d, what is left in smaller powers of two, before "
               "and back after\n",
               block->hadamard);
    printf("storage       %.9g bits an element\n", bits_per_element(block));
    return HU_OK;
}

/* The same as an object. element: what fmt says of the element format. */
static json_t *fmt_block_json(const hu_block_format *block, json_t *element) {
    bool is_power = block->scale == HU_BLOCK_SCALE_E8M0;
    char name[HU_QUANTIZER_BYTES], scale[NAME_BYTES];
    hu_block_format_print(block, name, sizeof name);
    return json_pack("{s:s, s:s, s:o, s:i, s:i, s:s, s:s, s:s, s:o}", "name", name, "description",
                     description_of(block), "element", element, "block_length", block->length,
                     "block_lines", block->lines, "scale", scale_name(block, scale),
                     "scale_rounding", is_power ? hu_block_power_name(block->power) : "nearest",
                     "tensor_scale", has_tensor_scale(block) ? "float32" : "none",
                     "bits_per_element", hu_json_number(bits_per_element(block)));
}

/* One row of the list: name, element, elements of a block, scale, bits of an element, what it
 * is. */
static hu_status add_row(hu_table *table, const hu_block_format *block) {
    char element[NAME_BYTES], scale[NAME_BYTES];
    hu_status st;
    HU_TRY(hu_format_print(&block->element, element, sizeof element));
    HU_TRY(hu_table_cell(table, "%s", block->name));
    HU_TRY(hu_table_cell(table, "%s", element));
    HU_TRY(hu_table_cell(table, "%d", block->length));
    HU_TRY(hu_table_cell(table, "%s", scale_name(block, scale)));
    HU_TRY(hu_table_cell(table, "%.4g", bits_per_element(block)));
    HU_TRY(hu_table_cell(table, "%s", block->description));
done:
    return st;
}

/* All block formats, a line each, on stdout.
 *
 * The list follows that of the plain formats, hence the blank line before it. */
static hu_status fmt_block_list(void) {
    static const char *const titles[] = {"name", "element", "block", "scale", "bits", "what"};
    hu_table *table;
    char *text = NULL;
    const hu_block_format *block;
    hu_status st = hu_table_create(titles, sizeof titles / sizeof *titles, &table);
    if (st != HU_OK) return st;
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++) HU_TRY(add_row(table, block));
    HU_TRY(hu_table_print(table, &text));
    printf("\n%s", text);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}

/* ---- Halfulp fmt: what a number format can hold, and numbers through it ---- */

/* All named formats, then the block formats. */
static hu_status print_list(void) {
    hu_status st = hu_formats_list();
    return st == HU_OK ? fmt_block_list() : st;
}

static json_t *block_json(const hu_block_format *block) {
    hu_named_format element;
    char name[HU_QUANTIZER_BYTES];
    hu_block_format_print(block, name, sizeof name);
    if (hu_named_format_parse(name, &element) != HU_OK) return NULL;
    snprintf(element.typed, sizeof element.typed, "%s", element.name);
    return fmt_block_json(block, hu_format_json(&element));
}

static hu_status print_list_json(void) {
    json_t *rows = json_array(), *blocks = json_array();
    const hu_block_format *block;
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++)
        json_array_append_new(blocks, block_json(block));
    for (uint32_t i = 0; i < hu_format_named_count(); i++) {
        hu_named_format named;
        const char *description, *name = hu_format_named(i, NULL, &description);
        json_t *row = hu_named_format_parse(name, &named) == HU_OK ? hu_format_json(&named) : NULL;
        if (row) json_object_set_new(row, "description", json_string(description));
        json_array_append_new(rows, row);
    }
    return hu_json_print(json_pack("{s:o, s:o}", "formats", rows, "block_formats", blocks));
}

/* ---- pictures ---- */

/* run=RUN tensor=NAME, which belong together. HU_ERR_ARGUMENT if only one is present. */
static hu_status read_sample(const hu_config *config, hu_report_tensor *tensor) {
    const char *folder, *name;
    int64_t step = -1; /* the last one */
    hu_status st;
    *tensor = (hu_report_tensor){0};
    HU_TRY(hu_config_text(config, "comm.run", &folder));
    HU_TRY(hu_config_text(config, "fmt.tensor", &name));
    if (!hu_config_is_auto(config, "comm.step")) HU_TRY(hu_config_i64(config, "comm.step", &step));
    if (!*folder != !*name)
        return hu_fail(HU_ERR_ARGUMENT, "found %s alone, expected run=RUN and tensor=NAME",
                       *folder ? "run=" : "tensor=");
    if (*folder) HU_TRY(hu_report_tensor_read(folder, name, step, tensor));
done:
    return st;
}

static hu_status draw(const hu_config *config, const hu_named_format *named, int count,
                      const char *path) {
    hu_report_tensor tensor;
    hu_status st = read_sample(config, &tensor);
    if (st != HU_OK) return st;
    const hu_formats_sample sample = {tensor.words, tensor.exponents};
    HU_TRY(hu_formats_page(named, count, tensor.exponents ? &sample : NULL, path));
    fprintf(stderr, "drawn: %s\n", path);
done:
    hu_report_tensor_free(&tensor);
    return st;
}

/* ---- what is shown ---- */

static bool has_flag(const hu_config *config, const char *name) {
    return hu_config_flag(config, name, NULL);
}

/* Whether numbers wait on stdin that nobody asked to read. A terminal or /dev/null has none; a pipe
 * gets a moment, in which its writer starts. */
static bool has_waiting_numbers(void) {
    enum { MOMENT_MS = 50 };
    struct stat facts;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    if (fstat(STDIN_FILENO, &facts) != 0 || !(S_ISFIFO(facts.st_mode) || S_ISREG(facts.st_mode)))
        return false;
    if (S_ISREG(facts.st_mode)) return lseek(STDIN_FILENO, 0, SEEK_CUR) < facts.st_size;
    return poll(&in, 1, MOMENT_MS) == 1 && in.revents & POLLIN;
}

/* Names that others use for another format; JSON has its own place for that. */
static void tell_notes(const hu_named_format *named, int count) {
    char text[256];
    for (int i = 0; i < count; i++)
        if (hu_named_format_warns(&named[i], text, sizeof text)) printf("\nnote: %s\n", text);
}

static hu_status show_json(const hu_named_format *named, int count) {
    const hu_block_format *block = named->is_element ? &named->block : NULL;
    if (count == 1) return hu_json_print(block ? block_json(block) : hu_format_json(named));
    json_t *all = json_array();
    for (int i = 0; i < count; i++) {
        block = named[i].is_element ? &named[i].block : NULL;
        json_array_append_new(all, block ? block_json(block) : hu_format_json(&named[i]));
    }
    return hu_json_print(json_pack("{s:o}", "formats", all));
}

static hu_status show_text(const hu_named_format *named, int count) {
    hu_status st = count > 1           ? hu_formats_show(named, count)
                   : named->is_element ? fmt_block_print(&named->block)
                                       : hu_format_show(named);
    if (st == HU_OK) tell_notes(named, count);
    return st;
}

static hu_status show(const hu_config *config, const hu_named_format *named, int count) {
    bool as_json = has_flag(config, "json");
    const char *path;
    hu_status st;
    HU_TRY(hu_config_text(config, "out.file", &path));
    if (strcmp(path, "auto") != 0) HU_TRY(draw(config, named, count, path));
    if (has_flag(config, "csv")) return hu_codes_csv(named, count);
    if (has_flag(config, "table"))
        return as_json ? hu_codes_json(named, count) : hu_codes_show(named, count);
    return as_json ? show_json(named, count) : show_text(named, count);
done:
    return st;
}

/* ---- the verb ---- */

/* What other keys take is no format. */
static hu_status read_format(const char *word, hu_named_format *named) {
    hu_precision precision;
    hu_accumulator accumulator;
    hu_status st = hu_named_format_parse(word, named);
    if (st != HU_ERR_UNKNOWN) return st;
    if (hu_accumulator_parse(word, &accumulator) == HU_OK)
        return hu_fail(st,
                       "format '%.100s' is an accumulator, expected a number format: "
                       "accumulator=%.100s; `halfulp help accumulators`",
                       word, word);
    if (hu_precision_parse(word, &precision) != HU_OK) return hu_named_format_parse(word, named);
    hu_precision_free(&precision);
    return hu_fail(st,
                   "format '%.100s' is a precision, expected a number format: precision=%.100s; "
                   "`halfulp help %.100s` says which formats it has",
                   word, word, word);
}

static hu_status read_formats(const hu_config *config, hu_named_format *named, int *count) {
    hu_status st = HU_OK;
    *count = hu_config_subjects(config);
    for (int i = 0; i < *count; i++) HU_TRY(read_format(hu_config_subject(config, i), &named[i]));
done:
    return st;
}

/* Combinations that make no sense are refused before anything is printed. */
static hu_status check_flags(const hu_config *config, bool is_stream, int subjects) {
    bool has_table = has_flag(config, "table") || has_flag(config, "csv");
    if (has_flag(config, "list") && (subjects > 0 || is_stream || has_table))
        return hu_fail(HU_ERR_ARGUMENT, "found --list with a format, a table or a stream flag, "
                                        "expected --list alone or with --json");
    if (has_flag(config, "list")) return HU_OK;
    if (subjects == 0)
        return hu_fail(HU_ERR_ARGUMENT, "found no format, expected halfulp fmt NAME or --list");
    if (has_flag(config, "csv") && has_flag(config, "json"))
        return hu_fail(HU_ERR_ARGUMENT, "found --csv with --json, expected one of them");
    if (is_stream && (has_flag(config, "json") || has_table))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found --json, --table or --csv with --round, --encode or --decode, "
                       "expected one of them: streams are lines of numbers");
    return HU_OK;
}

/* Whether a word would be one of the lines of stdin: a number, or with --decode a code. point: a
 * number with a comma as it should be. */
static bool is_line(const char *word, bool is_code, char point[HU_DECIMAL_BYTES]) {
    hu_wide number;
    size_t prefix = strncmp(word, "0x", 2) == 0 ? 2 : 0;
    snprintf(point, HU_DECIMAL_BYTES, "%s", word);
    if (is_code) return word[strspn(word + prefix, "0123456789abcdefABCDEF") + prefix] == '\0';
    return hu_wide_read(word, &number) || hu_decimal_has_comma(word, point);
}

/* Numbers are lines of stdin; in place of formats they are told how. */
static hu_status check_subjects(const hu_config *config, bool is_stream) {
    bool is_code = has_flag(config, "decode");
    const char *what = is_code ? "code" : "number", *format = "e4m3fn";
    const char *flag = is_code ? "decode" : has_flag(config, "encode") ? "encode" : "round";
    for (int i = 0; i < hu_config_subjects(config); i++) {
        const char *word = hu_config_subject(config, i);
        char point[HU_DECIMAL_BYTES];
        hu_named_format named;
        bool is_format = hu_named_format_parse(word, &named) == HU_OK;
        if (is_format && i == 0) format = word;
        if (is_format || !is_line(word, is_code, point)) continue;
        return hu_fail(HU_ERR_ARGUMENT,
                       "found the %s '%.100s', expected formats alone: %ss come on standard input, "
                       "one a line: echo %s | halfulp fmt %.100s --%s",
                       what, word, what, point, format, flag);
    }
    if (is_stream && hu_config_subjects(config) > 1)
        return hu_fail(HU_ERR_ARGUMENT, "found a stream of numbers for %d formats, expected one",
                       hu_config_subjects(config));
    return HU_OK;
}

static hu_status run_fmt(hu_config *config, int *exit_code) {
    hu_named_format named[HU_FORMATS_MOST];
    int count = 0;
    hu_status st;
    bool is_stream =
        has_flag(config, "round") || has_flag(config, "encode") || has_flag(config, "decode");
    (void)exit_code;
    HU_TRY(check_flags(config, is_stream, hu_config_subjects(config)));
    if (has_flag(config, "list"))
        return has_flag(config, "json") ? print_list_json() : print_list();
    HU_TRY(check_subjects(config, is_stream));
    HU_TRY(read_formats(config, named, &count));
    if (is_stream) return fmt_stream(config, named);
    HU_TRY(show(config, named, count));
    if (has_waiting_numbers())
        fprintf(stderr, "note: stdin is not read: --round, --encode or --decode pass its numbers "
                        "through the format\n");
done:
    return st;
}

static const char *const flags[] = {"json",   "table",  "csv",    "list",
                                    "round=", "encode", "decode", NULL};

static const char *const fmt_keys[] = {"run.seed",  "fmt.tensor", "comm.run",
                                       "comm.step", "out.file",   NULL};

const hu_verb hu_verb_fmt = {
    .name = "fmt",
    .group = HU_VERBS_FORMATS,
    .help = "show number formats, or pass numbers through one",
    .usage = "NAME... [--json | --table | --csv | --round[=MODE] | --encode | --decode] "
             "[out=FILE.html] | --list [--json]",
    .details =
        "NAME: a named format (--list), or a block format (an MX one also with\n"
        "      :scale=floor|ceil|rceil|even behind it), or E exponent and M mantissa bits as\n"
        "  eEmM         with :bias=B (subtracted from the exponent field; usual: 2^(E-1) - 1)\n"
        "               :specials=ieee|fin|fn|fnuz (which codes are no numbers) :sub=d|n|nearest\n"
        "               (subnormals, none: flushed, none: to zero or the smallest normal number)\n"
        "               :ovf=inf|sat|nan|propagate (what is too large becomes; propagate:\n"
        "               sat, but infinities stay) :nan=ovf (fin: NaNs too)\n"
        "  1/E/M/d      the same as eEmM, 1/E/M/n without subnormals\n"
        "  fp(E,M,EXTRA) all codes are numbers, overflow saturates; EXTRA is added to the usual\n"
        "               bias: fp(4,3,4) is e4m3:bias=11:specials=fin (7 + 4), its numbers 2^4\n"
        "               times smaller\n"
        "  e4m3 is as IEEE 754 would have it; OCP's E4M3 is e4m3fn, with the codes of PyTorch's\n"
        "  float8_e4m3fn, whose cast saturates: e4m3fn:ovf=sat\n\n"
        "  --list          all named formats and block formats\n"
        "  --table         all codes of formats of up to 8 bits, with class and value\n"
        "                  (--json as JSON; --csv as lines of format, code, bits, class, value)\n"
        "  --round[=MODE]  numbers on stdin, one a line, decimal or as C's hexadecimal floats,\n"
        "                  rounded once, with all their digits; MODE: rne rna rz ru rd rodd sr\n"
        "                  sr:bits=N[:kind=a|b|c] (these draw from seed=N and the line number)\n"
        "  --encode        numbers on stdin, rounded (--round=MODE, else rne), as codes\n"
        "                  Block formats cut the numbers into blocks in their order, and print\n"
        "                  the code of an element, that of its scale, and the tensor's scale\n"
        "  --decode        hexadecimal codes on stdin as numbers\n\n"
        "Several formats stand side by side. out=FILE.html or out=FILE.svg draws them: their\n"
        "numbers on a line, the error against the magnitude, bits of precision per binade; with\n"
        "run=RUN tensor=NAME what they lose of that tensor, by the run's last histogram of it\n"
        "(step=K: that of step K).\n",
    .flags = flags,
    .min_subjects = 0,
    .max_subjects = HU_FORMATS_MOST,
    .keys = fmt_keys,
    .examples = {{"fmt e4m3fn --table", "every code of a format with its class and value"},
                 {"fmt e4m3fn e5m2 fp16 out=formats.html", "three beside each other, and drawn"},
                 {"fmt 1/6/9 --round < FILE", "the numbers of a file, one a line, rounded"}},
    .run = run_fmt,
};
