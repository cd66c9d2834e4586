/* A key tree as YAML text: block style, quoted wherever a plain text could be misread. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"

/* 250 bytes are at most 1,000 characters when all are escaped, two quotes not counted. */
enum { SHORT_NAME_BYTES = 250 };

/* Bytes of the UTF-8 sequence at text and its code point; 0 if it is malformed. */
static int utf8_next(const unsigned char *text, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *text < 0x80    ? 1
                 : *text >= 0xf8 ? 0
                 : *text >= 0xf0 ? 4
                 : *text >= 0xe0 ? 3
                 : *text >= 0xc2 ? 2
                                 : 0;
    *point = length == 1 ? *text : *text & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        *point = *point << 6 | (text[i] & 0x3f);
    }
    bool is_surrogate = *point >= 0xd800 && *point < 0xe000;
    return length && *point >= least[length] && *point <= 0x10ffff && !is_surrogate ? length : 0;
}

size_t hu_text_utf8_bytes(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    uint32_t point;
    for (int length; *at && (length = utf8_next(at, &point)) > 0;) at += length;
    return (size_t)(at - (const unsigned char *)text);
}

bool hu_text_is_utf8(const char *text) {
    return text[hu_text_utf8_bytes(text)] == '\0';
}

static hu_status write_text(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* Stricter than YAML's plain style: a text that begins like an indicator or holds ": " or " #"
 * could be read as something else, so whatever is not a simple word is quoted. */
static bool is_plain(const char *text) {
    size_t length = strlen(text);
    bool starts_well = isalnum((unsigned char)text[0]) || text[0] == '/' ||
                       (text[0] == '-' && isdigit((unsigned char)text[1]));
    if (!starts_well || text[length - 1] == ':') return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_./+=:-", text[i])) return false;
    return true;
}

/* Characters that YAML does not allow, or folds, inside a quoted line. */
static bool needs_escape(uint32_t point) {
    return point < 0x20 || point == '"' || point == '\\' || (point >= 0x7f && point < 0xa0) ||
           point == 0x2028 || point == 0x2029 || point == 0xfeff ||
           (point >= 0xfffe && point <= 0xffff);
}

static hu_status write_quoted(hu_byte_writer *out, const char *text) {
    hu_status st;
    HU_TRY(write_text(out, "\""));
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t point;
        int length = utf8_next(at, &point);
        if (!length)
            return hu_fail(HU_ERR_PARSE, "byte 0x%02x is not UTF-8 and cannot be written", *at);
        char escape[16];
        if (point == '"' || point == '\\')
            snprintf(escape, sizeof escape, "\\%c", (char)point);
        else
            snprintf(escape, sizeof escape, point > 0xff ? "\\u%04x" : "\\x%02x", point);
        HU_TRY(needs_escape(point) ? write_text(out, escape)
                                   : hu_write_bytes(out, at, (size_t)length));
        at += length;
    }
    HU_TRY(write_text(out, "\""));
done:
    return st;
}

static hu_status write_scalar(hu_byte_writer *out, const char *text) {
    return is_plain(text) ? write_text(out, text) : write_quoted(out, text);
}

static hu_status write_indent(hu_byte_writer *out, int indent) {
    hu_status st = HU_OK;
    for (int i = 0; i < indent && st == HU_OK; i++) st = write_text(out, "  ");
    return st;
}

/* A name and its colon. YAML looks for the colon within 1,024 characters only, unless the name is
 * announced by a question mark; an escape has at most 4 characters per byte. */
static hu_status write_name(hu_byte_writer *out, const char *name, int indent) {
    hu_status st = HU_OK;
    bool announced = strlen(name) > SHORT_NAME_BYTES;
    if (announced) HU_TRY(write_text(out, "? "));
    HU_TRY(write_scalar(out, name));
    if (announced) HU_TRY(write_text(out, "\n"));
    if (announced) HU_TRY(write_indent(out, indent));
    HU_TRY(write_text(out, ":"));
done:
    return st;
}

static hu_status write_node(hu_byte_writer *out, const hu_keys *node, int indent) {
    hu_status st = HU_OK;
    bool is_map = hu_keys_kind_of(node) == HU_KEYS_MAP;
    if (hu_keys_kind_of(node) == HU_KEYS_TEXT) {
        HU_TRY(write_scalar(out, hu_keys_value(node)));
        return write_text(out, "\n");
    }
    if (hu_keys_count(node) == 0) return write_text(out, is_map ? "{}\n" : "[]\n");
    if (indent > 0) HU_TRY(write_text(out, "\n"));
    for (size_t i = 0; i < hu_keys_count(node); i++) {
        const hu_keys *child = hu_keys_at(node, i);
        HU_TRY(write_indent(out, indent));
        HU_TRY(is_map ? write_name(out, hu_keys_name(child), indent) : write_text(out, "-"));
        bool on_this_line = hu_keys_kind_of(child) == HU_KEYS_TEXT || hu_keys_count(child) == 0;
        if (on_this_line) HU_TRY(write_text(out, " "));
        HU_TRY(write_node(out, child, indent + 1));
    }
done:
    return st;
}

hu_status hu_keys_print(const hu_keys *root, char **yaml) {
    hu_byte_writer out = {0};
    hu_status st;
    *yaml = NULL;
    HU_TRY(write_node(&out, root, 0));
    HU_TRY(hu_write_u8(&out, 0));
    HU_TRY(hu_strdup((const char *)out.data, yaml));
done:
    hu_writer_free(&out);
    return st;
}
