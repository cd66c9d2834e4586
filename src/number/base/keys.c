#include "base/keys.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

struct hu_keys {
    hu_keys_kind kind;
    char *name;         /* NULL unless in a map */
    const char *text;   /* NULL unless a text */
    const char *origin; /* never NULL */
    hu_keys *parent;
    hu_keys **child; /* [count], room for capacity */
    size_t count, capacity;
    char words[]; /* origin and text, each with its final zero */
};

hu_status hu_keys_create(hu_keys_kind kind, const char *text, const char *origin, hu_keys **node) {
    void *block;
    bool has_text = kind == HU_KEYS_TEXT;
    if (!text) text = "";
    size_t origin_bytes = strlen(origin) + 1, text_bytes = has_text ? strlen(text) + 1 : 0;
    *node = NULL;
    hu_status st = hu_alloc(sizeof(hu_keys) + origin_bytes + text_bytes, &block);
    if (st != HU_OK) return st;
    hu_keys *made = *node = block;
    made->kind = kind;
    made->origin = memcpy(made->words, origin, origin_bytes);
    if (has_text) made->text = memcpy(made->words + origin_bytes, text, text_bytes);
    return HU_OK;
}

/* Depth is bounded by HU_KEYS_MAX_DEPTH, so the recursions of this file are too. */
void hu_keys_free(hu_keys *node) {
    if (!node) return;
    for (size_t i = 0; i < node->count; i++) hu_keys_free(node->child[i]);
    hu_free(node->child);
    hu_free(node->name);
    hu_free(node);
}

hu_status hu_keys_copy(const hu_keys *node, hu_keys **copy) {
    hu_status st;
    hu_keys *made = NULL;
    *copy = NULL;
    HU_TRY(hu_keys_create(node->kind, node->text, node->origin, &made));
    for (size_t i = 0; i < node->count; i++) {
        hu_keys *child;
        HU_TRY(hu_keys_copy(node->child[i], &child));
        if (node->kind == HU_KEYS_MAP)
            HU_TRY(hu_keys_put(made, node->child[i]->name, child));
        else
            HU_TRY(hu_keys_append(made, child));
    }
    *copy = made;
    return HU_OK;
done:
    hu_keys_free(made);
    return st;
}

/* Levels above a node, itself included; below it, itself included. */
static int depth_of(const hu_keys *node) {
    int depth = 1;
    while ((node = node->parent) != NULL) depth++;
    return depth;
}

/* Levels from this node down to its deepest descendant, both counted. */
static int height_of(const hu_keys *node) {
    int highest = 0;
    for (size_t i = 0; i < node->count; i++) {
        int height = height_of(node->child[i]);
        if (height > highest) highest = height;
    }
    return highest + 1;
}

/* Refuses a child that would make the tree too deep, before anything is changed. */
static hu_status check_room(const hu_keys *parent, hu_keys_kind kind, const hu_keys *child) {
    if (parent->kind != kind)
        return hu_fail(HU_ERR_ARGUMENT, "%s: a %s cannot be extended here", parent->origin,
                       parent->kind == HU_KEYS_TEXT ? "text" : "list or map of another kind");
    if (depth_of(parent) + height_of(child) > HU_KEYS_MAX_DEPTH)
        return hu_fail(HU_ERR_LIMIT, "%s: more than %d levels", child->origin, HU_KEYS_MAX_DEPTH);
    return HU_OK;
}

/* Room for one more child at the end. */
static hu_status reserve_child(hu_keys *parent) {
    return hu_grow(&parent->child, parent->count, &parent->capacity, sizeof *parent->child);
}

hu_status hu_keys_append(hu_keys *list, hu_keys *child) {
    hu_status st;
    HU_TRY(check_room(list, HU_KEYS_LIST, child));
    HU_TRY(reserve_child(list));
    child->parent = list;
    list->child[list->count++] = child;
    return HU_OK;
done:
    hu_keys_free(child);
    return st;
}

/* Maps are short: a linear search keeps the order in which the user wrote the keys. */
static size_t index_of(const hu_keys *map, const char *name, size_t length) {
    for (size_t i = 0; i < map->count; i++) {
        const char *other = map->child[i]->name;
        if (other && strlen(other) == length && memcmp(other, name, length) == 0) return i;
    }
    return map->count;
}

/* Owns child from here on, also on failure; a child of the same name is replaced. */
static hu_status put_named(hu_keys *map, const char *name, size_t length, hu_keys *child) {
    hu_status st;
    char *copy = NULL;
    HU_TRY(check_room(map, HU_KEYS_MAP, child));
    HU_TRY(hu_strndup(name, length, &copy));
    size_t place = index_of(map, name, length);
    if (place == map->count) {
        HU_TRY(reserve_child(map));
        map->count++;
    } else {
        hu_keys_free(map->child[place]);
    }
    hu_free(child->name);
    child->name = copy;
    child->parent = map;
    map->child[place] = child;
    return HU_OK;
done:
    hu_free(copy);
    hu_keys_free(child);
    return st;
}

hu_status hu_keys_put(hu_keys *map, const char *name, hu_keys *child) {
    return put_named(map, name, strlen(name), child);
}

hu_status hu_keys_set(hu_keys *root, const char *path, hu_keys *child) {
    hu_status st;
    const char *dot;
    /* Down to the map that holds the last name; what is missing on the way is made. */
    while ((dot = strchr(path, '.')) != NULL) {
        if (root->kind != HU_KEYS_MAP) HU_TRY(hu_keys_fail(root, "a map"));
        size_t length = (size_t)(dot - path);
        size_t place = index_of(root, path, length);
        /* Maps on the way that do not exist are made, with the origin of what is set. */
        if (place == root->count) {
            hu_keys *made;
            HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, child->origin, &made));
            HU_TRY(put_named(root, path, length, made));
        }
        root = root->child[place];
        path = dot + 1;
    }
    if (root->kind != HU_KEYS_MAP) HU_TRY(hu_keys_fail(root, "a map"));
    return hu_keys_put(root, path, child);
done:
    hu_keys_free(child);
    return st;
}

hu_status hu_keys_set_text(hu_keys *root, const char *path, const char *text, const char *origin) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, origin, &node);
    return st == HU_OK ? hu_keys_set(root, path, node) : st;
}

const hu_keys *hu_keys_find(const hu_keys *root, const char *path) {
    while (*path) {
        size_t length = strcspn(path, ".");
        size_t place = root->kind == HU_KEYS_MAP ? index_of(root, path, length) : root->count;
        if (place == root->count) return NULL;
        root = root->child[place];
        path += length;
        if (*path == '.') path++;
    }
    return root;
}

hu_keys_kind hu_keys_kind_of(const hu_keys *node) {
    return node->kind;
}

size_t hu_keys_count(const hu_keys *node) {
    return node->count;
}

const hu_keys *hu_keys_at(const hu_keys *node, size_t index) {
    return index < node->count ? node->child[index] : NULL;
}

const char *hu_keys_name(const hu_keys *node) {
    return node->name ? node->name : "";
}

const char *hu_keys_value(const hu_keys *node) {
    return node->text ? node->text : "";
}

const char *hu_keys_origin(const hu_keys *node) {
    return node->origin;
}

hu_keys *hu_keys_parent(const hu_keys *node) {
    return node->parent;
}

/* The index that a path shows for a list's child. */
static size_t place_in_parent(const hu_keys *node) {
    size_t place = 0;
    while (node->parent->child[place] != node) place++;
    return place;
}

const char *hu_keys_join(const hu_keys *node, const char *between, char *text, size_t capacity) {
    bool is_list = node && hu_keys_kind_of(node) == HU_KEYS_LIST;
    snprintf(text, capacity, "%s", node ? hu_keys_value(node) : "");
    for (size_t i = 0; is_list && i < hu_keys_count(node); i++)
        hu_note_add(text, capacity, "", "%s%s", i > 0 ? between : "",
                    hu_keys_value(hu_keys_at(node, i)));
    return text;
}

void hu_keys_path(const hu_keys *node, char *text, size_t capacity) {
    const hu_keys *chain[HU_KEYS_MAX_DEPTH];
    int levels = 0;
    for (; node->parent && levels < HU_KEYS_MAX_DEPTH; node = node->parent) chain[levels++] = node;
    size_t used = 0;
    text[0] = 0;
    /* From the root down: names with dots between, list places in brackets. */
    while (levels > 0 && used < capacity) {
        const hu_keys *step = chain[--levels];
        int wrote =
            step->name ? snprintf(text + used, capacity - used, "%s%s", used ? "." : "", step->name)
                       : snprintf(text + used, capacity - used, "[%zu]", place_in_parent(step));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

hu_status hu_keys_fail(const hu_keys *node, const char *expected, ...) {
    enum { PATH_BYTES = 256, EXPECTED_BYTES = 512 };
    char path[PATH_BYTES], what[EXPECTED_BYTES];
    va_list args;
    va_start(args, expected);
    vsnprintf(what, sizeof what, expected, args);
    va_end(args);
    hu_keys_path(node, path, sizeof path);
    if (hu_keys_kind_of(node) != HU_KEYS_TEXT)
        return hu_fail(HU_ERR_PARSE, "%s: key '%s': found a %s, expected %s", hu_keys_origin(node),
                       path, hu_keys_kind_of(node) == HU_KEYS_MAP ? "map" : "list", what);
    return hu_fail(HU_ERR_PARSE, "%s: key '%s': found '%.200s', expected %s", hu_keys_origin(node),
                   path, hu_keys_value(node), what);
}

bool hu_keys_equal(const hu_keys *a, const hu_keys *b) {
    if (a->kind != b->kind || a->count != b->count) return false;
    if (strcmp(hu_keys_name(a), hu_keys_name(b)) != 0) return false;
    if (strcmp(hu_keys_value(a), hu_keys_value(b)) != 0) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!hu_keys_equal(a->child[i], b->child[i])) return false;
    return true;
}

/* ---- keys value ---- */

/* Typed values of key-tree nodes, with errors that say what was found where. */

hu_status hu_keys_as_text(const hu_keys *node, const char **value) {
    *value = "";
    if (hu_keys_kind_of(node) != HU_KEYS_TEXT) return hu_keys_fail(node, "a text");
    *value = hu_keys_value(node);
    return HU_OK;
}

/* True if the text of node starts like a number; strtol and its kin would skip leading spaces. */
static bool starts_number(const hu_keys *node, bool sign_allowed) {
    const char *text = hu_keys_value(node);
    if (hu_keys_kind_of(node) != HU_KEYS_TEXT || !*text) return false;
    if (sign_allowed && (*text == '-' || *text == '+')) text++;
    return isdigit((unsigned char)*text) || *text == '.';
}

hu_status hu_keys_as_i64(const hu_keys *node, int64_t *value) {
    const char *expected = "a decimal integer";
    *value = 0;
    if (!starts_number(node, true)) return hu_keys_fail(node, "%s", expected);
    char *end;
    /* strtoll reports a number that does not fit by errno alone, and never clears errno. */
    errno = 0;
    long long number = strtoll(hu_keys_value(node), &end, 10);
    if (*end || end == hu_keys_value(node)) return hu_keys_fail(node, "%s", expected);
    if (errno == ERANGE) return hu_keys_fail(node, "an integer of 64 bits");
    *value = number;
    return HU_OK;
}

hu_status hu_keys_as_u64(const hu_keys *node, uint64_t *value) {
    const char *expected = "a decimal integer, 0 or more";
    *value = 0;
    if (!starts_number(node, false)) return hu_keys_fail(node, "%s", expected);
    char *end;
    errno = 0;
    unsigned long long number = strtoull(hu_keys_value(node), &end, 10);
    if (*end || end == hu_keys_value(node)) return hu_keys_fail(node, "%s", expected);
    if (errno == ERANGE) return hu_keys_fail(node, "an unsigned integer of 64 bits");
    *value = number;
    return HU_OK;
}

hu_status hu_keys_as_f64(const hu_keys *node, double *value) {
    const char *expected = "a finite number";
    *value = 0;
    if (!starts_number(node, true)) return hu_keys_fail(node, "%s", expected);
    char *end;
    /* A number beyond double's range becomes infinite here, and is refused as not finite. */
    double number = strtod(hu_keys_value(node), &end);
    char point[HU_DECIMAL_BYTES];
    if (hu_decimal_has_comma(hu_keys_value(node), point))
        return hu_keys_fail(node, "%s, with a point: %s", expected, point);
    if (*end || end == hu_keys_value(node) || !isfinite(number))
        return hu_keys_fail(node, "%s", expected);
    *value = number;
    return HU_OK;
}

hu_status hu_keys_as_bool(const hu_keys *node, bool *value) {
    /* Pairs of opposite words: those at odd places mean on. */
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};
    *value = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (hu_keys_kind_of(node) != HU_KEYS_TEXT) break;
        if (strcasecmp(hu_keys_value(node), words[i]) != 0) continue;
        *value = i % 2 == 1;
        return HU_OK;
    }
    return hu_keys_fail(node, "on or off");
}

/* ---- keys print ---- */

/* A key tree as YAML text: block style, quoted wherever a plain text could be misread. */

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
