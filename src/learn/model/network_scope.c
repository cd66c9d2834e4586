#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/internal.h"
#include "model/network_internal.h"

enum { NEAREST_BYTES = 256, NEAREST_MOST = 4096 };

hu_status hu_network_unknown(const char *origin, const char *what, const char *name,
                             const char *const *names, size_t count) {
    char nearest[NEAREST_BYTES];
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "%s: unknown %s '%.100s'%s%s", origin, what, name,
                   *nearest ? ", nearest: " : "", nearest);
}

/* ---- Names of values ---- */

void hu_network_names_free(hu_network_names *names) {
    for (size_t i = 0; i < names->count; i++) hu_free(names->known[i].name);
    hu_free(names->known);
    hu_name_table_free(&names->table);
    *names = (hu_network_names){.count = 0};
}

static const struct hu_network_name *find(const hu_network_names *names, const char *name) {
    const hu_name_entry *entry = hu_name_table_find(&names->table, name);
    return entry ? &names->known[entry->id] : NULL;
}

bool hu_network_is_name(const char *text) {
    return *text && !strchr(".-/", *text) &&
           strspn(text, HU_NETWORK_NAME_CHARACTERS) == strlen(text) &&
           text[strlen(text) - 1] != '.';
}

static hu_status taken(const struct hu_network_name *other, const char *name, const char *origin) {
    return hu_fail(HU_ERR_ARGUMENT, "%s: found the name '%.100s' a second time, first at %s",
                   origin, name, other->origin);
}

hu_status hu_network_name_check(const hu_network_words *words, const char *name,
                                const char *origin) {
    const struct hu_network_name *other = find(&words->names, name);
    if (other) return taken(other, name, origin);
    if (hu_graph_find(words->graph, name) == HU_NONE) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: found the name '%.100s', which a value of the network or the data has",
                   origin, name);
}

hu_status hu_network_made_check(const hu_network_words *words, hu_value_id value,
                                const char *origin) {
    const char *name = words->graph->value[value].name;
    const struct hu_network_name *other = find(&words->names, name);
    return other ? taken(other, name, origin) : HU_OK;
}

hu_status hu_network_name_add(hu_network_words *words, const char *name, hu_value_id value,
                              const char *origin) {
    hu_network_names *names = &words->names;
    const struct hu_network_name *other = find(names, name);
    hu_status st = other ? taken(other, name, origin) : HU_OK;
    HU_TRY(st);
    HU_TRY(hu_grow(&names->known, names->count, &names->capacity, sizeof *names->known));
    struct hu_network_name *made = &names->known[names->count];
    *made = (struct hu_network_name){.value = value, .origin = origin};
    HU_TRY(hu_strdup(name, &made->name));
    names->count++; /* from now on it is freed with the others */
    HU_TRY(hu_name_table_add(&names->table, made->name, (uint32_t)(names->count - 1)));
done:
    return st;
}

/* What a scope calls by this name. HU_NONE: nothing. left_out: a node that a condition left out. */
static hu_value_id find_with(const hu_network_words *words, const char *prefix, const char *name,
                             bool *left_out) {
    char full[2 * HU_NAME_BYTES];
    int written = snprintf(full, sizeof full, "%s%s", prefix, name);
    if (written < 0 || (size_t)written >= sizeof full) return HU_NONE;
    const struct hu_network_name *known = find(&words->names, full);
    *left_out = known && known->value == HU_NONE;
    return known ? known->value : hu_graph_find(words->graph, full);
}

/* Where a list of nodes has a name, loops in it included; NULL: nowhere. */
static const hu_keys *find_later(const hu_keys *nodes, const char *name) {
    for (size_t i = 0; nodes && i < hu_keys_count(nodes); i++) {
        const hu_keys *item = hu_keys_at(nodes, i);
        const hu_keys *node = hu_keys_count(item) > 0 ? hu_keys_at(item, 0) : NULL;
        if (node && strcmp(hu_keys_name(node), name) == 0) return node;
        const hu_keys *inner = node ? hu_network_child(node, "nodes") : NULL;
        const hu_keys *found = inner ? find_later(inner, name) : NULL;
        if (found) return found;
    }
    return NULL;
}

/* A node that stands further down, or names that a scope could have meant. */
static hu_status unknown_value(const hu_network_words *words, const hu_network_scope *scope,
                               const char *name, const char *origin) {
    const char **names;
    size_t count = 0, prefix = strlen(scope->prefix);
    const hu_graph *graph = words->graph;
    const hu_keys *around = scope->block ? scope->block : words->file;
    const hu_keys *later = find_later(hu_network_child(around, "nodes"), name);
    if (later && hu_network_child(later, "loop"))
        return hu_fail(HU_ERR_ARGUMENT, "%s: '%.100s' is the loop at %s, which has no `out`",
                       origin, name, hu_keys_origin(later));
    if (later)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: '%.100s' is read before it is made, at %s: nodes read what stands "
                       "before them, and no circles",
                       origin, name, hu_keys_origin(later));
    hu_status st =
        HU_NEW_ARRAY(&names, NEAREST_MOST + HU_NETWORK_INPUTS_MOST + (size_t)graph->loaded_count);
    if (st != HU_OK) return st;
    for (int i = 0; i < scope->inputs; i++) names[count++] = scope->input[i].name;
    for (size_t i = words->names.count; i > 0 && count < NEAREST_MOST; i--) {
        const char *full = words->names.known[i - 1].name;
        if (strncmp(full, scope->prefix, prefix) == 0) names[count++] = full + prefix;
    }
    for (uint32_t i = 0; !scope->outer && i < graph->loaded_count; i++)
        names[count++] = graph->value[graph->loaded[i]].name;
    st = hu_network_unknown(origin, "value", name, names, count);
    hu_free(names);
    return st;
}

hu_status hu_network_value(const hu_network_words *words, const hu_network_scope *scope,
                           const char *name, const char *origin, hu_value_id *value) {
    bool left_out = false;
    *value = HU_NONE;
    for (int i = 0; i < scope->inputs; i++)
        if (strcmp(scope->input[i].name, name) == 0) *value = scope->input[i].value;
    if (*value == HU_NONE) *value = find_with(words, scope->prefix, name, &left_out);
    if (*value == HU_NONE && !left_out) *value = find_with(words, "", name, &left_out);
    if (left_out)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: '%.100s' is left out by its `when`, which has no `else`", origin, name);
    return *value == HU_NONE ? unknown_value(words, scope, name, origin) : HU_OK;
}

/* ---- Numbers ---- */

/* A sum that is read from left to right. */
typedef struct sum {
    const hu_network_words *words;
    const hu_network_scope *scope;
    const char *text, *at, *origin;
} sum;

static hu_status not_a_sum(const sum *s, const char *wanted) {
    return hu_fail(HU_ERR_PARSE, "%s: found '%.60s' in '%.60s', expected %s", s->origin,
                   *s->at ? s->at : "the end", s->text, wanted);
}

static hu_status too_large(const sum *s) {
    return hu_fail(HU_ERR_LIMIT, "%s: '%.60s' is no integer of 64 bits", s->origin, s->text);
}

static void skip_blanks(sum *s) {
    while (*s->at == ' ') s->at++;
}

/* Facts of the data that a file may name. */
static const struct {
    const char *name;
    int kind;
} facts[] = {{"classes", 0}, {"channels", 1}, {"height", 2},
             {"rows", 2},    {"ids", 3},      {"columns", 4}};

hu_status hu_network_parameter_check(const char *name, const char *origin) {
    static const char *const words[] = {"block", "in", "repeat", "first", "last", "width"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    bool is_taken = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is_taken |= strcmp(words[i], name) == 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        is_taken |= strcmp(facts[i].name, name) == 0;
    bool is_name = *name && !isdigit((unsigned char)*name) && strspn(name, letters) == strlen(name);
    if (is_name && !is_taken) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "%s: parameters: found '%.60s', expected %s", origin, name,
                   is_taken ? "a name that has no other meaning" : "letters, digits and '_'");
}

static int64_t fact(const hu_network_words *words, int kind) {
    const hu_task_choice *choice = words->options->choice;
    const hu_shape *first = choice ? &choice->shapes.value[0] : &words->options->image;
    if (kind == 0) return choice ? choice->shapes.outputs : words->options->classes;
    if (kind == 3) return choice ? choice->shapes.ids[0] : 0;
    if (first->rank == 0) return 0;
    if (kind == 4) return first->extent[first->rank > 1];
    return first->extent[kind == 1 ? first->rank - 1 : 0];
}

static bool is_called(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* A number names a size, or width (HU_SIZES). */
static void note_name(const hu_network_words *words, int size) {
    if (words->options->named) *words->options->named |= 1u << size;
}

/* The number of a name; false: there is none of that name. text: of a parameter that is none. */
static bool number_of(const hu_network_words *words, const hu_network_scope *scope,
                      const char *name, size_t length, int64_t *number, const char **text) {
    *text = NULL;
    for (int i = 0; i < scope->parameters; i++) {
        const hu_network_parameter *p = &scope->parameter[i];
        if (!is_called(p->name, name, length)) continue;
        *number = p->number;
        *text = p->is_number ? NULL : p->text;
        return true;
    }
    for (int i = 0; i < words->sizes; i++) {
        if (!is_called(hu_size_keys[words->size[i].key], name, length)) continue;
        *number = words->size[i].number;
        note_name(words, (int)words->size[i].key);
        return true;
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!is_called(facts[i].name, name, length)) continue;
        *number = fact(words, facts[i].kind);
        return true;
    }
    return false;
}

bool hu_network_is_whole(const char *text) {
    const char *digits = text + (*text == '-');
    return *digits && strspn(digits, "0123456789") == strlen(digits);
}

bool hu_network_knows(const hu_network_words *words, const hu_network_scope *scope,
                      const char *name) {
    int64_t number;
    const char *text;
    return strcmp(name, "width") == 0 ||
           number_of(words, scope, name, strlen(name), &number, &text);
}

static hu_status unknown_number(const sum *s, const char *name, size_t length) {
    const char *names[HU_NETWORK_PARAMETERS_MOST + HU_SIZES + sizeof facts / sizeof *facts + 1];
    char word[HU_NAME_BYTES];
    size_t count = 0;
    for (int i = 0; i < s->scope->parameters; i++) names[count++] = s->scope->parameter[i].name;
    for (int i = 0; i < s->words->sizes; i++) names[count++] = hu_size_keys[s->words->size[i].key];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) names[count++] = facts[i].name;
    names[count++] = "width";
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
             name);
    return hu_network_unknown(s->origin, "number", word, names, count);
}

static bool is_name_start(char c) {
    return isalpha((unsigned char)c) || c == '_';
}

/* A number, a name with one, or `width`, which multiplies at the end of the product. */
static hu_status read_factor(sum *s, int64_t *number, bool *is_width) {
    char *end;
    const char *text, *name = s->at;
    *is_width = false;
    if (isdigit((unsigned char)*s->at)) {
        errno = 0;
        *number = strtoll(s->at, &end, 10);
        s->at = end;
        return errno ? too_large(s) : HU_OK;
    }
    if (!is_name_start(*s->at)) return not_a_sum(s, "a number or a name");
    while (isalnum((unsigned char)*s->at) || *s->at == '_') s->at++;
    size_t length = (size_t)(s->at - name);
    *is_width = is_called("width", name, length);
    *number = 1;
    if (*is_width) note_name(s->words, HU_SIZES);
    if (*is_width) return HU_OK;
    if (!number_of(s->words, s->scope, name, length, number, &text))
        return unknown_number(s, name, length);
    if (text)
        return hu_fail(HU_ERR_PARSE, "%s: '%.*s' is '%.60s', expected a whole number", s->origin,
                       (int)length, name, text);
    return HU_OK;
}

static hu_status read_product(sum *s, int64_t *product) {
    bool has_width = false;
    *product = 1;
    for (;;) {
        int64_t factor = 1;
        bool is_width;
        skip_blanks(s);
        hu_status st = read_factor(s, &factor, &is_width);
        if (st != HU_OK) return st;
        if (is_width && has_width) return not_a_sum(s, "width once in a product");
        has_width |= is_width;
        if (__builtin_mul_overflow(*product, factor, product)) return too_large(s);
        skip_blanks(s);
        if (*s->at != '*') break;
        s->at++;
    }
    if (!has_width) return HU_OK;
    if (*product < 1 || *product > INT32_MAX)
        return hu_fail(HU_ERR_LIMIT, "%s: found %lld channels times width, expected 1 to %d",
                       s->origin, (long long)*product, INT32_MAX);
    *product = hu_build_scaled(*product, s->words->options->width);
    return HU_OK;
}

/* Up to the end of the text, or to a character of a comparison. */
static hu_status read_sum(sum *s, int64_t *total) {
    bool is_minus = false;
    *total = 0;
    for (;;) {
        int64_t product;
        hu_status st = read_product(s, &product);
        if (st != HU_OK) return st;
        if (is_minus ? __builtin_sub_overflow(*total, product, total)
                     : __builtin_add_overflow(*total, product, total))
            return too_large(s);
        skip_blanks(s);
        if (*s->at != '+' && *s->at != '-') return HU_OK;
        is_minus = *s->at++ == '-';
    }
}

hu_status hu_network_number(const hu_network_words *words, const hu_network_scope *scope,
                            const char *text, const char *origin, int64_t *number) {
    sum s = {words, scope, text, text, origin};
    hu_status st = read_sum(&s, number);
    if (st == HU_OK && *s.at) return not_a_sum(&s, "+, - or *, or the end");
    return st;
}

hu_status hu_network_holds(const hu_network_words *words, const hu_network_scope *scope,
                           const char *text, const char *origin, bool *holds) {
    static const char *const signs[] = {"==", "!=", ">=", "<=", ">", "<"};
    sum s = {words, scope, text, text, origin};
    int64_t left, right;
    size_t sign = 0;
    *holds = false;
    hu_status st = read_sum(&s, &left);
    if (st != HU_OK) return st;
    while (sign < sizeof signs / sizeof *signs &&
           strncmp(s.at, signs[sign], strlen(signs[sign])) != 0)
        sign++;
    if (sign == sizeof signs / sizeof *signs) return not_a_sum(&s, "==, !=, >, <, >= or <=");
    s.at += strlen(signs[sign]);
    st = read_sum(&s, &right);
    if (st != HU_OK) return st;
    if (*s.at) return not_a_sum(&s, "the end");
    const bool answers[] = {left == right, left != right, left >= right,
                            left <= right, left > right,  left < right};
    *holds = answers[sign];
    return HU_OK;
}

/* ---- Texts ---- */

/* What stands between two braces: the text of a parameter, or a number. */
static hu_status expand_one(const hu_network_words *words, const hu_network_scope *scope,
                            const char *inner, const char *origin, hu_byte_writer *out) {
    int64_t number;
    const char *text;
    if (number_of(words, scope, inner, strlen(inner), &number, &text) && text)
        return hu_write_bytes(out, text, strlen(text));
    hu_status st = hu_network_number(words, scope, inner, origin, &number);
    return st == HU_OK ? hu_write_format(out, "%lld", (long long)number) : st;
}

hu_status hu_network_expand(const hu_network_words *words, const hu_network_scope *scope,
                            const char *text, const char *origin, hu_byte_writer *out) {
    hu_status st = HU_OK;
    char inner[HU_NAME_BYTES];
    while (*text) {
        size_t plain = strcspn(text, "{");
        HU_TRY(hu_write_bytes(out, text, plain));
        text += plain;
        if (!*text) break;
        size_t length = strcspn(++text, "}");
        if (text[length] != '}')
            return hu_fail(HU_ERR_PARSE, "%s: found '{%.60s' without '}'", origin, text);
        if (length >= sizeof inner)
            return hu_fail(HU_ERR_LIMIT, "%s: found more than %zu characters in braces", origin,
                           sizeof inner - 1);
        memcpy(inner, text, length);
        inner[length] = '\0';
        HU_TRY(expand_one(words, scope, inner, origin, out));
        text += length + 1;
    }
done:
    return st;
}
