/* render/json.c - numbers and texts of JSON. A parse is
 * left by longjmp where memory runs out: between jansson's calls for memory there is nothing to
 * undo but the blocks that it got, which stand in a list. */
#include "render/json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

json_t *hu_json_number(double value) {
    if (isnan(value)) return json_null();
    if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

json_t *hu_json_hash(uint64_t hash) {
    return json_sprintf("%016" PRIx64, hash);
}

double hu_json_real(const json_t *object, const char *path) {
    char name[64];
    while (object && *path) {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        object = json_object_get(object, name);
        path += length + (path[length] == '.');
    }
    return json_is_number(object) ? json_number_value(object) : (double)NAN;
}

typedef struct dumped {
    hu_byte_writer out;
    bool failed;
} dumped;

/* What could not be written is remembered here: Jansson goes on after a key that failed. */
static int append(const char *piece, size_t bytes, void *target) {
    dumped *text = target;
    if (!text->failed) text->failed = hu_write_bytes(&text->out, piece, bytes) != HU_OK;
    return text->failed ? -1 : 0;
}

/* A number of so many bytes as short as it reads back; one with a point or an exponent keeps one of
 * them, which tells it from whole numbers. Gives the bytes written, never more than it had:
 * 19843991237995180.0 has fewer than 1.984399123799518e16. */
static size_t shorten_number(const char *number, size_t bytes, char *to) {
    char text[HU_DECIMAL_BYTES + 2];
    const char *end = strpbrk(hu_decimal_text(strtod(number, NULL), text), ".e") ? "" : ".0";
    strcat(text, end);
    bool is_shorter = strlen(text) <= bytes;
    size_t length = is_shorter ? strlen(text) : bytes;
    memmove(to, is_shorter ? text : number, length);
    return length;
}

/* Bytes of a text with its quotes. */
static size_t string_length(const char *text) {
    size_t length = 1;
    while (text[length] && text[length] != '"')
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length + (text[length] == '"');
}

/* Bytes of a value that needs no parts: a text, a number or one character of anything else. */
static size_t token_length(const char *text) {
    bool is_number = isdigit((unsigned char)*text) || *text == '-';
    return *text == '"' ? string_length(text) : is_number ? strspn(text, "0123456789+-.eE") : 1;
}

/* Jansson has one number of digits for all; here each real number gets the fewest that read back.
 */
static void shorten_numbers(char *text) {
    char *to = text;
    for (size_t length; *text; text += length) {
        length = token_length(text);
        if (*text != '"' && length > 1 && strcspn(text, ".e") < length) {
            to += shorten_number(text, length, to);
        } else {
            memmove(to, text, length);
            to += length;
        }
    }
    *to = '\0';
}

/* Jansson's text into a block of ours; drops the reference to the object. */
static hu_status dump(json_t *object, size_t layout, const char *end, char **text) {
    dumped made = {.failed = !object || hu_json_ran_out()};
    hu_status st = HU_OK;
    layout |= JSON_REAL_PRECISION(17);
    *text = NULL;
    if (!made.failed && json_dump_callback(object, append, &made, layout) != 0) made.failed = true;
    json_decref(object);
    if (made.failed) HU_TRY(hu_fail(HU_ERR_MEMORY, "out of memory while making JSON"));
    HU_TRY(hu_write_bytes(&made.out, end, strlen(end) + 1));
    *text = (char *)made.out.data;
    /* Programs of others may have chosen a locale whose numbers strtod reads otherwise. */
    if (strcmp(localeconv()->decimal_point, ".") == 0) shorten_numbers(*text);
    made.out = (hu_byte_writer){0};
done:
    hu_writer_free(&made.out);
    return st;
}

hu_status hu_json_line(json_t *object, char **line) {
    return dump(object, JSON_COMPACT, "", line);
}

hu_status hu_json_pretty(json_t *object, char **text) {
    return dump(object, JSON_INDENT(2), "\n", text);
}

/* ---- reading ---- */

enum { FILE_LIMIT = 1 << 30 };

/* In front of each block; as long as the parse that made it runs, in a ring. */
typedef union header {
    struct {
        union header *next, *previous;
        uint64_t parse; /* number of the parse that made it, 0: none */
    } in;
    max_align_t alignment;
} header;

/* What a running parse is left by. */
typedef struct parse {
    jmp_buf out;
    header ring; /* its blocks, newest first */
    uint64_t number;
} parse;

static _Thread_local parse *running;
/* Numbers tell a block of a running parse from one of a parse that has ended, or of another
 * thread. */
static _Atomic uint64_t parses, blocks;
static _Atomic bool ran_out;

static void insert(header *block, header *ring) {
    block->in.next = ring->in.next;
    block->in.previous = ring;
    ring->in.next->in.previous = block;
    ring->in.next = block;
}

static void *take(size_t bytes) {
    header *block = NULL;
    if (bytes < SIZE_MAX - sizeof *block && !hu_fault_strikes())
        block = malloc(sizeof *block + bytes);
    if (!block) {
        atomic_store(&ran_out, true);
        if (running) longjmp(running->out, 1);
        return NULL;
    }
    block->in.parse = running ? running->number : 0;
    if (running) insert(block, &running->ring);
    atomic_fetch_add(&blocks, 1);
    return block + 1;
}

static void give_back(void *pointer) {
    if (!pointer) return;
    header *block = (header *)pointer - 1;
    if (running && block->in.parse == running->number) {
        block->in.previous->in.next = block->in.next;
        block->in.next->in.previous = block->in.previous;
    }
    atomic_fetch_sub(&blocks, 1);
    free(block);
}

void hu_json_guard(void) {
    json_set_alloc_funcs(take, give_back);
}

uint64_t hu_json_blocks(void) {
    return atomic_load(&blocks);
}

bool hu_json_ran_out(void) {
    return atomic_load(&ran_out);
}

static void free_ring(header *ring) {
    for (header *block = ring->in.next, *next; block != ring; block = next) {
        next = block->in.next;
        atomic_fetch_sub(&blocks, 1);
        free(block);
    }
}

/* Runs jansson between setjmp and the end of the parse; false: memory ran out. p is the caller's,
 * because what a function with setjmp has of its own is lost by longjmp. */
static bool load(parse *p, const char *text, size_t bytes, json_t **value, json_error_t *error) {
    if (setjmp(p->out) != 0) {
        running = NULL;
        free_ring(&p->ring);
        *value = NULL;
        return false;
    }
    running = p;
    *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, error);
    running = NULL;
    return true;
}

hu_status hu_json_parse(const char *text, size_t bytes, json_t **value, json_error_t *error) {
    parse p;
    p.ring.in.next = p.ring.in.previous = &p.ring;
    p.number = atomic_fetch_add(&parses, 1) + 1;
    bool is_complete = load(&p, text, bytes, value, error);
    if (*value) return HU_OK;
    if (!is_complete || json_error_code(error) == json_error_out_of_memory)
        return hu_fail(HU_ERR_MEMORY, "out of memory while reading %zu bytes of JSON", bytes);
    return HU_ERR_CORRUPT;
}

hu_status hu_json_load(const char *path, json_t **value) {
    uint8_t *data = NULL;
    size_t bytes;
    json_error_t error;
    *value = NULL;
    hu_status st = hu_file_read_plain(path, FILE_LIMIT, &data, &bytes);
    if (st == HU_OK) st = hu_json_parse((const char *)data, bytes, value, &error);
    hu_free(data);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}
