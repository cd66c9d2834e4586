/* base/keys.h - a neutral key tree: what configurations, plans and states are read into.
 * Ordered; a node is a text, a list or a map, and remembers where it came from. Layer 0. Not shared
 * between threads while it changes.
 */
#ifndef HU_BASE_KEYS_H
#define HU_BASE_KEYS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef enum hu_keys_kind { HU_KEYS_TEXT, HU_KEYS_LIST, HU_KEYS_MAP } hu_keys_kind;

/* One node. Its children belong to it. */
typedef struct hu_keys hu_keys;

/* Most levels of a tree, the root included. */
enum { HU_KEYS_MAX_DEPTH = 32 };

/* A new node without parent.
 *   text    the value of a text (copied; any bytes but zero), NULL for lists and maps
 *   origin  "file:line:column", "argument 3", "default" (copied)
 * Owner frees with hu_keys_free. */
hu_status hu_keys_create(hu_keys_kind kind, const char *text, const char *origin, hu_keys **node);

/* Deep copy without parent; owner frees. */
hu_status hu_keys_copy(const hu_keys *node, hu_keys **copy);

/* Frees a node without parent and all below it; NULL is allowed. */
void hu_keys_free(hu_keys *node);

/* Both take child over, and free it on failure. put: a new name comes last, a known name keeps its
 * place and its old node is freed. HU_ERR_LIMIT beyond the depth, HU_ERR_ARGUMENT if the parent is
 * of another kind. */
hu_status hu_keys_append(hu_keys *list, hu_keys *child);
hu_status hu_keys_put(hu_keys *map, const char *name, hu_keys *child);

/* Puts child at a path of names joined by dots, making the maps on the way. Takes child over. A
 * text or list on the way: HU_ERR_PARSE. */
hu_status hu_keys_set(hu_keys *root, const char *path, hu_keys *child);
hu_status hu_keys_set_text(hu_keys *root, const char *path, const char *text, const char *origin);

/* Node at a path ("optimizer.beta1"; "" is root itself), NULL if there is none. Borrowed: valid
 * until the tree is changed or freed. */
const hu_keys *hu_keys_find(const hu_keys *root, const char *path);

hu_keys_kind hu_keys_kind_of(const hu_keys *node);

/* Children of a list or map in order; 0 for a text. */
size_t hu_keys_count(const hu_keys *node);
const hu_keys *hu_keys_at(const hu_keys *node, size_t index);

/* Name in its map ("" if it has none), text ("" for lists and maps), origin. Borrowed: valid until
 * the node is freed. */
const char *hu_keys_name(const hu_keys *node);
const char *hu_keys_value(const hu_keys *node);
const char *hu_keys_origin(const hu_keys *node);

/* A text, or the items of a list with a text between them; "" of NULL and of maps. Cut short at
 * capacity, which is not 0. Gives text. */
const char *hu_keys_join(const hu_keys *node, const char *between, char *text, size_t capacity);

/* Parent, NULL for a root. */
hu_keys *hu_keys_parent(const hu_keys *node);

/* Path from the root: "lr.milestones[1]"; cut short at capacity. */
void hu_keys_path(const hu_keys *node, char *text, size_t capacity);

/* Values of one node. Whole text must be a number: decimal integers; decimal or C hexadecimal
 * floats, finite; on/off/true/false/yes/no/1/0. HU_ERR_PARSE with origin, key, found and expected.
 */
hu_status hu_keys_as_text(const hu_keys *node, const char **value);
hu_status hu_keys_as_i64(const hu_keys *node, int64_t *value);
hu_status hu_keys_as_u64(const hu_keys *node, uint64_t *value);
hu_status hu_keys_as_f64(const hu_keys *node, double *value);
hu_status hu_keys_as_bool(const hu_keys *node, bool *value);

/* "origin: key 'path': found 'value', expected <expected>" as HU_ERR_PARSE; for callers with rules
 * of their own. */
hu_status hu_keys_fail(const hu_keys *node, const char *expected, ...)
    __attribute__((format(printf, 2, 3)));

/* Same kinds, names, texts and order; origins do not count. */
bool hu_keys_equal(const hu_keys *a, const hu_keys *b);

/* The tree as YAML, which reads back to an equal tree. Texts that are not UTF-8: HU_ERR_PARSE.
 * Owner frees *yaml with hu_free. Proof: tests/program/cli_test.py. */
hu_status hu_keys_print(const hu_keys *root, char **yaml);

/* Whether text is well-formed UTF-8 (no overlong forms, no surrogates). */
bool hu_text_is_utf8(const char *text);

/* Bytes of text before the first that is not, or before its end. */
size_t hu_text_utf8_bytes(const char *text);

#endif
