/* halfulp fmt: what a number format can hold, and numbers through it. */
#include <ctype.h>
#include <errno.h>
#include <halfulp/format.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "cli/fmt_block.h"
#include "cli/verb.h"
#include "format/text.h"
#include "report/formats.h"
#include "report/recorded_tensor.h"
#include "show/stdout.h"

enum { LINE_BYTES = 512 };

/* All named formats, then the block formats. */
static hu_status print_list(void) {
    hu_status st = hu_formats_list();
    return st == HU_OK ? hu_fmt_block_list() : st;
}

static json_t *block_json(const hu_block_format *block) {
    hu_named_format element;
    if (hu_named_format_parse(block->name, &element) != HU_OK) return NULL;
    snprintf(element.typed, sizeof element.typed, "%s", element.name);
    return hu_fmt_block_json(block, hu_format_json(&element));
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
    uint32_t word =
        job->rounding == HU_ROUND_STOCHASTIC ? hu_random_word(&job->random, line - 1) : 0;
    hu_status st = hu_format_round_text(&job->format, job->rounding, text, word, &value);
    if (st != HU_OK) return hu_fail_within(st, "stdin:%llu: ", (unsigned long long)line);
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
        return hu_fail(HU_ERR_ARGUMENT, "found --decode with --encode or --round, expected one");
    if (mode) HU_TRY(hu_rounding_parse(mode, &job.rounding));
    HU_TRY(hu_config_u64(config, "seed", &job.random.seed));
    job.random.stream = hu_stream_id("fmt", "");
    st = treat_stream(&job);
done:
    return st;
}

/* ---- pictures ---- */

/* run=RUN tensor=NAME, which belong together. HU_ERR_ARGUMENT if only one is there. */
static hu_status read_sample(const hu_config *config, hu_recorded_tensor *tensor) {
    const char *folder, *name;
    int64_t step = -1; /* the last one */
    hu_status st;
    *tensor = (hu_recorded_tensor){0};
    HU_TRY(hu_config_text(config, "comm.run", &folder));
    HU_TRY(hu_config_text(config, "fmt.tensor", &name));
    if (!hu_config_is_auto(config, "comm.step")) HU_TRY(hu_config_i64(config, "comm.step", &step));
    if (!*folder != !*name)
        return hu_fail(HU_ERR_ARGUMENT, "found %s alone, expected run=RUN and tensor=NAME",
                       *folder ? "run=" : "tensor=");
    if (*folder) HU_TRY(hu_recorded_tensor_read(folder, name, step, tensor));
done:
    return st;
}

static hu_status draw(const hu_config *config, const hu_named_format *named, int count,
                      const char *path) {
    hu_recorded_tensor tensor;
    hu_status st = read_sample(config, &tensor);
    if (st != HU_OK) return st;
    const hu_formats_sample sample = {tensor.words, tensor.exponents};
    HU_TRY(hu_formats_page(named, count, tensor.exponents ? &sample : NULL, path));
    fprintf(stderr, "drawn: %s\n", path);
done:
    hu_recorded_tensor_free(&tensor);
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
    const hu_block_format *block = hu_block_format_find(named->typed);
    if (count == 1) return hu_json_print(block ? block_json(block) : hu_format_json(named));
    json_t *all = json_array();
    for (int i = 0; i < count; i++) {
        block = hu_block_format_find(named[i].typed);
        json_array_append_new(all, block ? block_json(block) : hu_format_json(&named[i]));
    }
    return hu_json_print(json_pack("{s:o}", "formats", all));
}

static hu_status show_text(const hu_named_format *named, int count) {
    hu_status st = count > 1           ? hu_formats_show(named, count)
                   : named->is_element ? hu_fmt_block_print(hu_block_format_find(named->typed))
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

static hu_status read_formats(const hu_config *config, hu_named_format *named, int *count) {
    hu_status st = HU_OK;
    *count = hu_config_subjects(config);
    for (int i = 0; i < *count; i++)
        HU_TRY(hu_named_format_parse(hu_config_subject(config, i), &named[i]));
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
    if (is_stream && subjects > 1)
        return hu_fail(HU_ERR_ARGUMENT, "found a stream of numbers for %d formats, expected one",
                       subjects);
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
    HU_TRY(read_formats(config, named, &count));
    if (is_stream && named->is_element)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a stream of numbers for %s, expected a format without blocks, such "
                       "as its elements'",
                       named->typed);
    if (is_stream) return run_stream(config, &named->format);
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
    .help = "show number formats, or pass numbers through one",
    .usage = "NAME... [--json | --table | --csv | --round[=MODE] | --encode | --decode] "
             "[out=FILE.html] | --list [--json]",
    .details =
        "NAME: a named format (--list), or a block format, or E exponent and M mantissa bits as\n"
        "  eEmM         with :bias=B (subtracted from the exponent field; usual: 2^(E-1) - 1)\n"
        "               :specials=ieee|fin|fn|fnuz (which codes are no numbers) :sub=d|n|nearest\n"
        "               (subnormals, none: flushed, none: to zero or the smallest normal number)\n"
        "               :ovf=inf|sat|nan (what is too large becomes) :nan=ovf (fin: NaNs too)\n"
        "  1/E/M/d      the same as eEmM, 1/E/M/n without subnormals\n"
        "  fp(E,M,EXTRA) all codes are numbers, overflow saturates; EXTRA is added to the usual\n"
        "               bias: fp(4,3,4) is e4m3:bias=11:specials=fin (7 + 4), its numbers 2^4\n"
        "               times smaller\n"
        "  e4m3 is as IEEE 754 would have it; OCP's E4M3 (PyTorch: float8_e4m3fn) is e4m3fn\n\n"
        "  --list          all named formats and block formats\n"
        "  --table         all codes of formats of up to 8 bits, with class and value\n"
        "                  (--json as JSON; --csv as lines of format, code, bits, class, value)\n"
        "  --round[=MODE]  numbers on stdin, one a line, decimal or as C's hexadecimal floats,\n"
        "                  rounded once, with all their digits; MODE: rne rna rz ru rd rodd sr\n"
        "                  (sr draws from seed=N and the line number)\n"
        "  --encode        numbers on stdin, rounded (--round=MODE, else rne), as codes\n"
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
