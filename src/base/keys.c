#include "base/keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

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
