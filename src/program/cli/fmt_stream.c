/* cli/fmt_stream.c - numbers of stdin through a format. */
#include "cli/fmt_stream.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "format/text.h"
#include "kernel/block/block.h"

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
    uint32_t word =
        job->rounding == HU_ROUND_STOCHASTIC ? hu_random_word(&job->random, line - 1) : 0;
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

/* The next line without blanks at its ends, NULL behind the last. */
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
        size_t block = i / (size_t)job->block->length;
        printf("0x%0*x 0x%02x", (int)(blocker->width + 3) / 4,
               element_code(bytes, i, blocker->width), bytes[blocker->code_bytes + block]);
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
    float tensor_scale = hu_block_tensor_scale(job->block, hu_top_f32(n.count, n.x));
    if (job->is_encoding) HU_TRY(print_codes(job, &blocker, tensor_scale, &n));
    if (job->is_encoding) goto done;
    hu_blocker_round(&blocker, tensor_scale, 1, n.x, n.x, &job->random, 0, NULL);
    for (size_t i = 0; i < n.count; i++) write_number(n.x[i]);
done:
    hu_free(n.x);
    return st;
}

/* What the flags ask for; --decode stands alone. */
hu_status hu_fmt_stream(const hu_config *config, const hu_named_format *named) {
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
    if (named->is_element) job.block = hu_block_format_find(named->typed);
    if (job.block && job.is_decoding)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found --decode for %s, expected --round or --encode: a code of blocks is "
                       "no number without its scale",
                       named->typed);
    st = job.block ? treat_blocks(&job) : treat_stream(&job);
done:
    return st;
}
