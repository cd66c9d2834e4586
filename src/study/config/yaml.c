/* YAML text -> key tree. The only file that knows libyaml. */
#include "config/config.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"

enum { MAX_FILE_BYTES = 1 << 20, MAX_LEVELS = 16, MAX_VALUES = 10000, MAX_NAME_BYTES = 256 };

/* Keys of one map, which are compared with each other. */
enum { MAX_KEYS = 10000 };

/* A tree under construction: `open` is the list or map that takes the next value. */
typedef struct tree_builder {
    const char *name;
    hu_keys *root, *open;
    char *pending; /* name read in a map whose value comes next, NULL if none */
    char pending_origin[512];
    int levels;
    size_t values, values_most;
} tree_builder;

/* "name:line:column", counted from 1. */
static void origin_of(const tree_builder *tree, const yaml_mark_t *mark, char *text,
                      size_t capacity) {
    snprintf(text, capacity, "%.400s:%zu:%zu", tree->name, mark->line + 1, mark->column + 1);
}

static hu_status fail_at(const tree_builder *tree, const yaml_event_t *event, const char *message) {
    char origin[512];
    origin_of(tree, &event->start_mark, origin, sizeof origin);
    return hu_fail(HU_ERR_PARSE, "%s: %s", origin, message);
}

/* What libyaml found, in our words: an encoding is a corrupt file, the rest a place in the text. */
static hu_status syntax_error(const tree_builder *tree, const yaml_parser_t *parser) {
    if (parser->error == YAML_READER_ERROR)
        return hu_fail(HU_ERR_CORRUPT, "%s: offset %zu: found %s (0x%x), expected YAML text",
                       tree->name, parser->problem_offset, parser->problem,
                       (unsigned)parser->problem_value);
    if (parser->error == YAML_MEMORY_ERROR)
        return hu_fail(HU_ERR_MEMORY, "%s: out of memory", tree->name);
    char origin[512];
    origin_of(tree, &parser->problem_mark, origin, sizeof origin);
    return hu_fail(HU_ERR_PARSE, "%s: %s%s%s", origin, parser->context ? parser->context : "",
                   parser->context ? ": " : "", parser->problem ? parser->problem : "bad YAML");
}

/* What YAML has and a configuration has not. Aliases could also make a small file a huge tree. */
static hu_status check_event(tree_builder *tree, const yaml_event_t *event) {
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
            return fail_at(tree, event, "found a zero byte in a text");
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor || event->type == YAML_ALIAS_EVENT)
        return fail_at(tree, event, "found an anchor or alias, expected a plain value");
    if (tag) return fail_at(tree, event, "found a tag, expected a plain value");
    return HU_OK;
}

/* Gives the finished or opened node its place. Takes node over. */
static hu_status place_node(tree_builder *tree, hu_keys *node) {
    hu_status st = HU_OK;
    if (!tree->open) {
        tree->root = node;
    } else if (hu_keys_kind_of(tree->open) == HU_KEYS_LIST) {
        st = hu_keys_append(tree->open, node);
    } else {
        st = hu_keys_put(tree->open, tree->pending, node);
        hu_free(tree->pending);
        tree->pending = NULL;
    }
    return st;
}

/* In a map names and values take turns. */
static bool expects_name(const tree_builder *tree) {
    return tree->open && hu_keys_kind_of(tree->open) == HU_KEYS_MAP && !tree->pending;
}

/* A name of the open map; the value that follows gets the name's place as its origin. */
static hu_status take_name(tree_builder *tree, const yaml_event_t *event) {
    const char *name = (const char *)event->data.scalar.value;
    if (!*name) return fail_at(tree, event, "found an empty key, expected a name");
    if (event->data.scalar.length > MAX_NAME_BYTES)
        return fail_at(tree, event, "found a key of more than 256 bytes");
    if (hu_keys_count(tree->open) == MAX_KEYS)
        return fail_at(tree, event, "found more than 10,000 keys in one map");
    for (size_t i = 0; i < hu_keys_count(tree->open); i++) {
        const hu_keys *other = hu_keys_at(tree->open, i);
        if (strcmp(hu_keys_name(other), name) != 0) continue;
        char origin[512];
        origin_of(tree, &event->start_mark, origin, sizeof origin);
        return hu_fail(HU_ERR_PARSE, "%s: found key '%.100s' a second time, first at %s", origin,
                       name, hu_keys_origin(other));
    }
    origin_of(tree, &event->start_mark, tree->pending_origin, sizeof tree->pending_origin);
    return hu_strdup(name, &tree->pending);
}

/* A text, or a list or map that is open from now on. */
static hu_status take_value(tree_builder *tree, const yaml_event_t *event, hu_keys_kind kind) {
    if (expects_name(tree)) {
        if (kind != HU_KEYS_TEXT)
            return fail_at(tree, event, "found a list or map as a key, expected a name");
        return take_name(tree, event);
    }
    char origin[512];
    if (++tree->values > tree->values_most) {
        bool is_usual = tree->values_most == MAX_VALUES;
        snprintf(origin, sizeof origin, "found more than %zu values", tree->values_most);
        return fail_at(tree, event, is_usual ? "found more than 10,000 values" : origin);
    }
    origin_of(tree, &event->start_mark, origin, sizeof origin);
    hu_keys *node;
    const char *text = kind == HU_KEYS_TEXT ? (const char *)event->data.scalar.value : NULL;
    hu_status st = hu_keys_create(kind, text, tree->pending ? tree->pending_origin : origin, &node);
    if (st != HU_OK) return st;
    st = place_node(tree, node);
    if (st != HU_OK || kind == HU_KEYS_TEXT) return st;
    tree->open = node;
    if (++tree->levels > MAX_LEVELS) return fail_at(tree, event, "found more than 16 levels");
    return HU_OK;
}

/* Streams, documents and ends; everything else is a value. */
static hu_status take_event(tree_builder *tree, const yaml_event_t *event) {
    hu_status st = check_event(tree, event);
    if (st != HU_OK) return st;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return tree->root ? fail_at(tree, event, "found a second document, expected one") : HU_OK;
    case YAML_SCALAR_EVENT:
        return take_value(tree, event, HU_KEYS_TEXT);
    case YAML_SEQUENCE_START_EVENT:
        return take_value(tree, event, HU_KEYS_LIST);
    case YAML_MAPPING_START_EVENT:
        return take_value(tree, event, HU_KEYS_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        tree->levels--;
        tree->open = hu_keys_parent(tree->open);
        return HU_OK;
    default:
        return HU_OK;
    }
}

/* One event at a time: the tree grows, libyaml keeps no document. */
static hu_status read_events(tree_builder *tree, yaml_parser_t *parser) {
    for (bool at_end = false; !at_end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) return syntax_error(tree, parser);
        hu_status st = take_event(tree, &event);
        at_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

hu_status hu_yaml_parse(const char *text, size_t bytes, const char *name, hu_keys **tree) {
    return hu_yaml_parse_most(text, bytes, MAX_VALUES, name, tree);
}

hu_status hu_yaml_parse_most(const char *text, size_t bytes, size_t values, const char *name,
                             hu_keys **tree) {
    hu_status st;
    tree_builder build = {.name = name, .values_most = values};
    yaml_parser_t parser;
    *tree = NULL;
    if (!yaml_parser_initialize(&parser)) return hu_fail(HU_ERR_MEMORY, "%s: out of memory", name);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    HU_TRY(read_events(&build, &parser));
    if (!build.root) { /* an empty file says nothing: an empty map */
        char origin[512];
        snprintf(origin, sizeof origin, "%.400s:1:1", name);
        HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, origin, &build.root));
    }
    *tree = build.root;
    build.root = NULL;
done:
    yaml_parser_delete(&parser);
    hu_keys_free(build.root);
    hu_free(build.pending);
    return st;
}

hu_status hu_yaml_read(const char *path, hu_keys **tree) {
    uint8_t *data;
    size_t bytes;
    *tree = NULL;
    hu_status st = hu_file_read_plain(path, MAX_FILE_BYTES, &data, &bytes);
    if (st == HU_ERR_LIMIT)
        return hu_fail(HU_ERR_CORRUPT, "%s: found more than %d bytes, expected a YAML text", path,
                       MAX_FILE_BYTES);
    if (st != HU_OK) return st;
    size_t mark = hu_text_mark_bytes((const char *)data, bytes);
    st = hu_yaml_parse((const char *)data + mark, bytes - mark, path, tree);
    hu_free(data);
    return st;
}
