/* The header of a safetensors file: a strict reader of {"name": {"dtype": "F32", "shape": [2, 3],
 * "data_offsets": [0, 24]}, ..., "__metadata__": {"name": "text"}}. It has no recursion and its
 * memory is bounded by the length of the header. */
#include "store/safetensors_header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"

/* Source of the 8-bit ones: safetensors' own conversion of torch's float8 types. */
static const hu_safetensor_dtype dtypes[] = {
    {"F32", 32, ""},
    {"F16", 16, "fp16"},
    {"BF16", 16, "bf16"},
    {"F64", 64, ""},
    {"F8_E4M3", 8, "e4m3fn"},
    {"F8_E5M2", 8, "e5m2"},
    {"F8_E4M3FNUZ", 8, "e4m3fnuz"},
    {"F8_E5M2FNUZ", 8, "e5m2fnuz"},
    {"BOOL", 8, NULL},
    {"U8", 8, NULL},
    {"I8", 8, NULL},
    {"U16", 16, NULL},
    {"I16", 16, NULL},
    {"U32", 32, NULL},
    {"I32", 32, NULL},
    {"U64", 64, NULL},
    {"I64", 64, NULL},
    {"C64", 64, NULL},
    {"F8_E8M0", 8, NULL},
    {"F6_E2M3", 6, NULL},
    {"F6_E3M2", 6, NULL},
    {"F4", 4, NULL},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, LABEL_BYTES = 128 };

const hu_safetensor_dtype *hu_safetensor_dtype_find(const char *name) {
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
    return NULL;
}

/* A place in the header. */
typedef struct scanner {
    const char *file;
    const uint8_t *text;
    size_t bytes, next, at; /* at: offset of text in the file */
    char *room;             /* where the next decoded text goes; never overrun: see take_string */
    const char *tensor;     /* whose entry is read, "" if none */
} scanner;

static hu_status fail_at(const scanner *s, size_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* HU_ERR_CORRUPT with the file, the offset of `place` in it, and the tensor that is being read. */
static hu_status fail_at(const scanner *s, size_t place, const char *format, ...) {
    char message[512], where[LABEL_BYTES + 16] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (s->tensor[0]) snprintf(where, sizeof where, "tensor '%.*s': ", LABEL_BYTES - 1, s->tensor);
    return hu_fail(HU_ERR_CORRUPT, "%s: offset %zu: %s%s", s->file, s->at + place, where, message);
}

static void skip_blanks(scanner *s) {
    while (s->next < s->bytes && memchr(" \t\n\r", s->text[s->next], 4)) s->next++;
}

/* "'x'", "byte 0x07" or "the end of the header": what stands at a place. */
static const char *found(const scanner *s, size_t place, char text[32]) {
    uint8_t c = place < s->bytes ? s->text[place] : 0;
    if (place >= s->bytes)
        snprintf(text, 32, "the end of the header");
    else
        snprintf(text, 32, c > ' ' && c < 0x7f ? "'%c'" : "byte 0x%02x", c);
    return text;
}

static bool is_next(scanner *s, char c) {
    skip_blanks(s);
    return s->next < s->bytes && s->text[s->next] == (uint8_t)c;
}

static hu_status expect(scanner *s, char c) {
    char what[32];
    if (!is_next(s, c))
        return fail_at(s, s->next, "found %s, expected '%c'", found(s, s->next, what), c);
    s->next++;
    return HU_OK;
}

/* After an item of a list or map: whether another one follows; else takes the closing bracket. */
static hu_status another(scanner *s, char closing, bool *more) {
    char what[32];
    *more = is_next(s, ',');
    if (!*more && !is_next(s, closing))
        return fail_at(s, s->next, "found %s, expected ',' or '%c'", found(s, s->next, what),
                       closing);
    s->next++;
    return HU_OK;
}

/* The opening bracket, and whether there is a first item; else takes the closing one too. */
static hu_status open_items(scanner *s, char opening, char closing, bool *more) {
    hu_status st = expect(s, opening);
    if (st != HU_OK) return st;
    *more = !is_next(s, closing);
    if (!*more) s->next++;
    return HU_OK;
}

/* Four hexadecimal digits; -1 if they are none. */
static int32_t hex_unit(const scanner *s, size_t place) {
    int32_t unit = 0;
    for (size_t i = place; i < place + 4; i++) {
        uint8_t c = i < s->bytes ? s->text[i] : 0;
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* The 1 to 4 bytes of a code point. */
static void put_utf8(scanner *s, uint32_t code) {
    if (code < 0x80) {
        *s->room++ = (char)code;
        return;
    }
    int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    uint32_t lead = tail == 1 ? 0xc0 : tail == 2 ? 0xe0 : 0xf0;
    *s->room++ = (char)(lead | code >> 6 * tail);
    while (tail-- > 0) *s->room++ = (char)(0x80 | (code >> 6 * tail & 0x3f));
}

/* \uXXXX, or two of them for a code point beyond 16 bits; next stands after the u. */
static hu_status take_unit(scanner *s) {
    int32_t unit = hex_unit(s, s->next), low = -1;
    bool is_high = unit >= 0xd800 && unit < 0xdc00;
    bool has_second =
        s->next + 6 <= s->bytes && s->text[s->next + 4] == '\\' && s->text[s->next + 5] == 'u';
    if (is_high && has_second) low = hex_unit(s, s->next + 6);
    bool is_pair = is_high && low >= 0xdc00 && low < 0xe000;
    bool is_lone = unit >= 0xd800 && unit < 0xe000 && !is_pair;
    if (unit <= 0 || is_lone)
        return fail_at(s, s->next - 2, "found an escape that is no character, expected \\uXXXX");
    s->next += is_pair ? 10 : 4;
    put_utf8(s, is_pair ? 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00)
                        : (uint32_t)unit);
    return HU_OK;
}

/* An escape after its backslash: a letter, or \u with digits. */
static hu_status take_escape(scanner *s) {
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char what[32];
    uint8_t c = s->next < s->bytes ? s->text[s->next] : 0;
    const char *known = c ? strchr(letters, c) : NULL;
    if (c == 'u') {
        s->next++;
        return take_unit(s);
    }
    if (!known)
        return fail_at(s, s->next, "found %s behind '\\', expected one of \"\\/bfnrtu",
                       found(s, s->next, what));
    *s->room++ = values[known - letters];
    s->next++;
    return HU_OK;
}

/* A string, decoded. The text takes less room than its source: escapes are longer than what they
 * mean, and the final zero stands for two quotes. */
static hu_status take_string(scanner *s, const char **text) {
    hu_status st;
    char what[32];
    HU_TRY(expect(s, '"'));
    size_t start = s->next;
    *text = s->room;
    for (;;) {
        uint8_t c = s->next < s->bytes ? s->text[s->next] : 0;
        if (c < 0x20)
            return fail_at(s, s->next, "found %s in a text, expected '\"'",
                           found(s, s->next, what));
        s->next++;
        if (c == '"') break;
        if (c == '\\')
            HU_TRY(take_escape(s));
        else
            *s->room++ = (char)c;
    }
    *s->room++ = '\0';
    if (!hu_text_is_utf8(*text))
        return fail_at(s, start, "found bytes that are not UTF-8, expected a text");
done:
    return st;
}

/* A string that may stand in a message: a name, not a text. */
static hu_status take_word(scanner *s, const char **word) {
    skip_blanks(s);
    size_t place = s->next;
    hu_status st = take_string(s, word);
    for (const char *c = *word; st == HU_OK && *c; c++)
        if ((uint8_t)*c < 0x20 || *c == 0x7f)
            return fail_at(s, place, "found a control character, expected a name");
    return st;
}

/* A decimal integer below 2^63 without sign, fraction, exponent and leading zeros. */
static hu_status take_number(scanner *s, int64_t *value) {
    char what[32];
    skip_blanks(s);
    size_t start = s->next;
    *value = 0;
    for (; s->next < s->bytes && s->text[s->next] >= '0' && s->text[s->next] <= '9'; s->next++) {
        int digit = s->text[s->next] - '0';
        /* Compared before it is multiplied: the sum cannot overflow. */
        if (*value > (INT64_MAX - digit) / 10)
            return fail_at(s, start, "found a number of 2^63 or more, expected a smaller one");
        *value = 10 * *value + digit;
    }
    bool has_zero = s->next > start + 1 && s->text[start] == '0';
    if (s->next == start || has_zero)
        return fail_at(s, start, "found %s, expected a whole number without sign",
                       has_zero ? "a leading zero" : found(s, start, what));
    return HU_OK;
}

/* The word of "dtype"; the message of an unknown one names all known. */
static hu_status take_dtype(scanner *s, hu_safetensor *tensor) {
    const char *name;
    char list[256] = "";
    char *room = s->room;
    hu_status st = take_word(s, &name);
    if (st != HU_OK) return st;
    s->room = room; /* the word is needed no longer than here */
    for (size_t i = 0, n = 0; i < DTYPES; i++, n = strlen(list)) {
        if (strcmp(dtypes[i].name, name) == 0) tensor->dtype = &dtypes[i];
        snprintf(list + n, sizeof list - n, " %s", dtypes[i].name);
    }
    if (tensor->dtype) return HU_OK;
    return hu_fail(HU_ERR_UNSUPPORTED,
                   "%s: tensor '%.100s': found dtype '%.40s', expected one of:%s", s->file,
                   tensor->name, name, list);
}

/* Extents from slowest to fastest, at most HU_MAX_RANK. They may be 0. */
static hu_status take_shape(scanner *s, hu_safetensor *tensor) {
    bool more;
    hu_status st;
    HU_TRY(open_items(s, '[', ']', &more));
    while (more) {
        int64_t extent;
        HU_TRY(take_number(s, &extent));
        if (tensor->shape.rank == HU_MAX_RANK)
            return hu_fail(HU_ERR_UNSUPPORTED,
                           "%s: tensor '%.100s': found more than %d extents, expected at most that",
                           s->file, tensor->name, HU_MAX_RANK);
        tensor->shape.extent[tensor->shape.rank++] = extent;
        HU_TRY(another(s, ']', &more));
    }
done:
    return st;
}

/* [begin, end) in bytes after the header. Whether they lie within the file is not known here. */
static hu_status take_offsets(scanner *s, hu_safetensor *tensor) {
    hu_status st;
    int64_t begin, end;
    HU_TRY(expect(s, '['));
    HU_TRY(take_number(s, &begin));
    HU_TRY(expect(s, ','));
    HU_TRY(take_number(s, &end));
    HU_TRY(expect(s, ']'));
    tensor->begin = (size_t)begin;
    tensor->end = (size_t)end;
done:
    return st;
}

/* The three fields of an array, in any order, each once. */
static hu_status take_tensor(scanner *s, hu_safetensor *tensor) {
    static const struct {
        const char *name;
        hu_status (*take)(scanner *s, hu_safetensor *tensor);
    } fields[] = {{"dtype", take_dtype}, {"shape", take_shape}, {"data_offsets", take_offsets}};
    enum { FIELDS = sizeof fields / sizeof *fields };
    bool more, seen[FIELDS] = {false};
    hu_status st;
    HU_TRY(open_items(s, '{', '}', &more));
    while (more) {
        const char *name;
        char *room = s->room;
        size_t place = s->next, f = 0;
        HU_TRY(take_word(s, &name));
        s->room = room;
        while (f < FIELDS && strcmp(fields[f].name, name) != 0) f++;
        if (f == FIELDS || seen[f])
            return fail_at(s, place, "found '%.40s'%s, expected dtype, shape and data_offsets",
                           name, f < FIELDS ? " a second time" : "");
        seen[f] = true;
        HU_TRY(expect(s, ':'));
        HU_TRY(fields[f].take(s, tensor));
        HU_TRY(another(s, '}', &more));
    }
    for (size_t f = 0; f < FIELDS; f++)
        if (!seen[f]) return fail_at(s, s->next, "found no '%s', expected one", fields[f].name);
done:
    return st;
}

/* "__metadata__": a map of texts, no other values. */
static hu_status take_metadata(scanner *s, hu_safetensors_header *header) {
    bool more;
    hu_status st;
    HU_TRY(open_items(s, '{', '}', &more));
    while (more) {
        HU_TRY(hu_grow(&header->metadata, header->metadata_count, &header->metadata_capacity,
                       sizeof *header->metadata));
        hu_safetensor_text *pair = &header->metadata[header->metadata_count];
        HU_TRY(take_word(s, &pair->name));
        HU_TRY(expect(s, ':'));
        HU_TRY(take_string(s, &pair->text));
        header->metadata_count++;
        HU_TRY(another(s, '}', &more));
    }
done:
    return st;
}

/* One pair of the header's map: an array, or the metadata, which may come once. */
static hu_status take_entry(scanner *s, hu_safetensors_header *header, bool *had_metadata) {
    hu_status st;
    const char *name;
    size_t place = s->next;
    s->tensor = "";
    HU_TRY(take_word(s, &name));
    HU_TRY(expect(s, ':'));
    if (strcmp(name, "__metadata__") == 0) {
        if (*had_metadata) return fail_at(s, place, "found a second __metadata__, expected one");
        *had_metadata = true;
        return take_metadata(s, header);
    }
    if (!name[0]) return fail_at(s, place, "found an empty name, expected the name of a tensor");
    HU_TRY(hu_grow(&header->tensors, header->count, &header->capacity, sizeof *header->tensors));
    hu_safetensor *tensor = &header->tensors[header->count++];
    *tensor = (hu_safetensor){.name = name};
    s->tensor = name;
    HU_TRY(take_tensor(s, tensor));
done:
    return st;
}

hu_status hu_safetensors_header_parse(const char *file, const uint8_t *text, size_t bytes,
                                      size_t at, hu_safetensors_header *header) {
    hu_status st;
    bool more, had_metadata = false;
    char what[32];
    *header = (hu_safetensors_header){0};
    HU_TRY(HU_NEW_ARRAY(&header->texts, bytes));
    scanner s = {file, text, bytes, 0, at, header->texts, ""};
    if (bytes == 0 || text[0] != '{')
        return fail_at(&s, 0, "found %s, expected '{'", found(&s, 0, what));
    HU_TRY(open_items(&s, '{', '}', &more));
    while (more) {
        HU_TRY(take_entry(&s, header, &had_metadata));
        s.tensor = "";
        HU_TRY(another(&s, '}', &more));
    }
    skip_blanks(&s);
    if (s.next < bytes)
        st = fail_at(&s, s.next, "found %s, expected the end of the header",
                     found(&s, s.next, what));
done:
    return st;
}

void hu_safetensors_header_free(hu_safetensors_header *header) {
    hu_free(header->texts);
    hu_free(header->tensors);
    hu_free(header->metadata);
    *header = (hu_safetensors_header){0};
}
