#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/internal.h"
#include "model/network_internal.h"

/* Blocks in blocks; copies of one block. */
enum { DEPTH_MOST = 32, COPIES_MOST = 1 << 20 };

static hu_status declare_entry(hu_network_reader *r, hu_network_scope *scope, const char *name,
                               const hu_keys *node);

/* ---- Conditions ---- */

/* A word alone is the name of a value, which the node is another name of. */
static hu_status declare_either(hu_network_reader *r, hu_network_scope *scope, const char *name,
                                const hu_keys *node) {
    hu_value_id value;
    hu_status st;
    bool is_name = hu_keys_kind_of(node) == HU_KEYS_TEXT && !strchr(hu_keys_value(node), ' ');
    if (!is_name) return declare_entry(r, scope, name, node);
    st = hu_network_value(&r->words, scope, hu_keys_value(node), hu_keys_origin(node), &value);
    if (st != HU_OK) return st;
    return hu_network_name_add(&r->words, name, value, hu_keys_origin(node));
}

/* {when: "stride > 1", node: LINE, else: VALUE} */
static hu_status declare_when(hu_network_reader *r, hu_network_scope *scope, const char *name,
                              const hu_keys *node) {
    static const char *const keys[] = {"when", "node", "else"};
    hu_status st = HU_OK;
    const hu_keys *when = hu_network_child(node, "when"), *then = hu_network_child(node, "node");
    const hu_keys *other = hu_network_child(node, "else");
    bool holds;
    HU_TRY(hu_network_check_keys(node, "key", keys, sizeof keys / sizeof *keys));
    HU_TRY(hu_network_expect(when, HU_KEYS_TEXT, "a comparison as \"stride > 1\""));
    if (!then)
        return hu_fail(HU_ERR_PARSE, "%s: found `when` without `node`", hu_keys_origin(node));
    HU_TRY(hu_network_holds(&r->words, scope, hu_keys_value(when), hu_keys_origin(when), &holds));
    if (holds) return declare_either(r, scope, name, then);
    if (other) return declare_either(r, scope, name, other);
    st = hu_network_name_add(&r->words, name, HU_NONE, hu_keys_origin(node));
done:
    return st;
}

/* ---- Loops ---- */

/* A number, or a value that has as many rows. */
static hu_status steps_of(hu_network_reader *r, const hu_network_scope *scope, const hu_keys *loop,
                          int64_t *steps) {
    hu_value_id value;
    const char *text = hu_keys_value(loop);
    hu_status st =
        hu_network_expect(loop, HU_KEYS_TEXT, "a number of steps, or a value with as many rows");
    if (st != HU_OK) return st;
    if (isdigit((unsigned char)*text) || hu_network_knows(&r->words, scope, text))
        return hu_network_number(&r->words, scope, text, hu_keys_origin(loop), steps);
    st = hu_network_value(&r->words, scope, text, hu_keys_origin(loop), &value);
    if (st == HU_OK)
        *steps = r->graph->value[value].shape.rank ? r->graph->value[value].shape.extent[0] : 0;
    return st;
}

static void forget_pending(hu_network_reader *r) {
    for (size_t i = 0; i < r->pendings; i++) {
        hu_free(r->pending[i].next);
        hu_free(r->pending[i].prefix);
    }
    r->pendings = 0;
}

/* A state in a block becomes a value of this block. */
static hu_status close_states(hu_network_reader *r) {
    for (size_t i = 0; i < r->pendings; i++) {
        const hu_network_state *p = &r->pending[i];
        hu_value_id next;
        const hu_network_scope scope = {.prefix = p->prefix};
        hu_status st = hu_network_value(&r->words, &scope, p->next, p->origin, &next);
        if (st != HU_OK) return st;
        st = hu_graph_next(r->graph, p->state, next);
        if (st != HU_OK) return hu_fail_within(st, "%s: ", p->origin);
    }
    return HU_OK;
}

/* {loop: STEPS, lengths: VALUE, nodes: [...], out: VALUE}; its nodes are named as if they stood
 * outside. */
static hu_status declare_loop(hu_network_reader *r, hu_network_scope *scope, const char *name,
                              const hu_keys *node) {
    static const char *const keys[] = {"loop", "lengths", "nodes", "out"};
    hu_status st = HU_OK;
    const hu_keys *nodes = hu_network_child(node, "nodes"),
                  *lengths = hu_network_child(node, "lengths");
    const hu_keys *out = hu_network_child(node, "out");
    hu_value_id length = HU_NONE, made = HU_NONE;
    int64_t steps;
    HU_TRY(hu_network_check_keys(node, "key", keys, sizeof keys / sizeof *keys));
    HU_TRY(steps_of(r, scope, hu_network_child(node, "loop"), &steps));
    if (out) HU_TRY(hu_network_expect(out, HU_KEYS_TEXT, "the name of a value"));
    if (lengths) HU_TRY(hu_network_named(r, scope, lengths, &length));
    if (!nodes)
        return hu_fail(HU_ERR_PARSE, "%s: found a loop without nodes", hu_keys_origin(node));
    st = hu_graph_loop(r->graph, steps, length);
    if (st != HU_OK) return hu_fail_within(st, "%s: ", hu_keys_origin(node));
    r->in_loop = true;
    HU_TRY(hu_network_declare_nodes(r, scope, nodes));
    HU_TRY(close_states(r));
    st = hu_graph_end_loop(r->graph);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "%s: ", hu_keys_origin(node)));
    if (!out) goto done;
    HU_TRY(hu_network_named(r, scope, out, &made));
    HU_TRY(hu_network_name_add(&r->words, name, made, hu_keys_origin(out)));
done:
    forget_pending(r);
    r->in_loop = false;
    return st;
}

/* ---- Blocks ---- */

/* One use of a block. */
typedef struct use {
    const char *name;    /* in full */
    const hu_keys *node; /* {block: NAME, in: VALUES, repeat: N, PARAMETERS} */
    const hu_keys *block;
    int64_t copies;
    bool repeats;
} use;

static hu_status check_use(const hu_network_reader *r, const hu_network_scope *scope, use *u) {
    const hu_keys *name = hu_network_child(u->node, "block");
    hu_status st = hu_network_expect(name, HU_KEYS_TEXT, "the name of a block");
    if (st != HU_OK) return st;
    u->block = r->blocks ? hu_network_child(r->blocks, hu_keys_value(name)) : NULL;
    if (!u->block) {
        const char *names[HU_NETWORK_PARAMETERS_MOST];
        size_t count = 0;
        for (size_t i = 0;
             r->blocks && i < hu_keys_count(r->blocks) && count < sizeof names / sizeof *names; i++)
            names[count++] = hu_keys_name(hu_keys_at(r->blocks, i));
        return hu_network_unknown(hu_keys_origin(name), "block", hu_keys_value(name), names, count);
    }
    for (const hu_network_scope *s = scope; s; s = s->outer)
        if (s->block == u->block)
            return hu_fail(HU_ERR_ARGUMENT, "%s: the block '%s' is used within itself",
                           hu_keys_origin(name), hu_keys_value(name));
    if (scope->depth == DEPTH_MOST)
        return hu_fail(HU_ERR_LIMIT, "%s: found more than %d blocks in blocks",
                       hu_keys_origin(name), DEPTH_MOST);
    return HU_OK;
}

/* A text that is worked out: of known names, or with signs between; no law as normal:1e-5. */
static bool is_sum(const hu_network_reader *r, const hu_network_scope *scope, const char *text) {
    char *end;
    strtod(text, &end);
    bool is_real = end != text && !*end;
    return hu_network_knows(&r->words, scope, text) ||
           (!is_real && !strchr(text, ':') && strpbrk(text, "*+-"));
}

static hu_status read_whole(const char *text, const char *origin, int64_t *number) {
    errno = 0;
    *number = strtoll(text, NULL, 10);
    if (errno == 0) return HU_OK;
    return hu_fail(HU_ERR_LIMIT, "%s: '%.60s' is no integer of 64 bits", origin, text);
}

/* A number where it is one, or a sum, else a text. */
static hu_status read_value(const hu_network_reader *r, const hu_network_scope *scope,
                            const char *text, const char *origin, hu_network_parameter *p) {
    const char *own = p->name;
    for (int i = 0; i < scope->parameters; i++) /* a parameter of the block outside, as it is */
        if (strcmp(scope->parameter[i].name, text) == 0) {
            *p = scope->parameter[i];
            p->name = own;
            return HU_OK;
        }
    *p = (hu_network_parameter){.name = own, .text = text};
    p->is_number = hu_network_is_whole(text);
    if (p->is_number) return read_whole(text, origin, &p->number);
    p->is_number = is_sum(r, scope, text);
    return p->is_number ? hu_network_number(&r->words, scope, text, origin, &p->number) : HU_OK;
}

static hu_status give_value(const hu_network_reader *r, const hu_network_scope *caller,
                            const hu_keys *value, hu_network_parameter *p) {
    hu_status st = hu_network_expect(value, HU_KEYS_TEXT, "a number or a text");
    if (st != HU_OK) return st;
    return read_value(r, caller, hu_keys_value(value), hu_keys_origin(value), p);
}

/* What a use says of a parameter in its copy k: `last`, `first`, a list by copy, or one value.
 * NULL: nothing. */
static hu_status find_given(const use *u, const char *name, int64_t k, const hu_keys **value) {
    const hu_keys *first = hu_network_child(u->node, "first"),
                  *last = hu_network_child(u->node, "last");
    const hu_keys *found = hu_network_child(u->node, name);
    if (last && k == u->copies - 1 && hu_network_child(last, name))
        found = hu_network_child(last, name);
    if (first && k == 0 && hu_network_child(first, name)) found = hu_network_child(first, name);
    *value = found;
    if (!found || hu_keys_kind_of(found) != HU_KEYS_LIST) return HU_OK;
    if ((int64_t)hu_keys_count(found) != u->copies)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: %s: found %zu values, expected %lld, one for each copy",
                       hu_keys_origin(found), name, hu_keys_count(found), (long long)u->copies);
    *value = hu_keys_at(found, (size_t)k);
    return HU_OK;
}

/* "stride=1": a name, and what it is where a use does not say. name: [HU_NAME_BYTES] */
static const char *split_preset(const char *word, char *name) {
    size_t length = strcspn(word, "=");
    snprintf(name, HU_NAME_BYTES, "%.*s", (int)length, word);
    return word[length] ? word + length + 1 : NULL;
}

/* Names of a copy's parameters, which its scope borrows. */
typedef struct parameter_names {
    char text[HU_NETWORK_PARAMETERS_MOST][HU_NAME_BYTES];
} parameter_names;

static hu_status give_parameter(const hu_network_reader *r, const hu_network_scope *caller,
                                const use *u, int64_t k, const hu_keys *declared,
                                parameter_names *names, hu_network_scope *scope) {
    char *name = names->text[scope->parameters];
    hu_network_parameter *p = &scope->parameter[scope->parameters];
    const hu_keys *value = NULL;
    hu_status st = hu_network_expect(declared, HU_KEYS_TEXT, "NAME or NAME=VALUE");
    if (st != HU_OK) return st;
    const char *preset = split_preset(hu_keys_value(declared), name);
    *p = (hu_network_parameter){.name = name};
    st = find_given(u, name, k, &value);
    if (st != HU_OK) return st;
    scope->parameters++;
    if (value) return give_value(r, caller, value, p);
    if (!preset)
        return hu_fail(HU_ERR_ARGUMENT, "%s: the block '%s' needs %s", hu_keys_origin(u->node),
                       hu_keys_name(u->block), name);
    const hu_network_scope file = {.prefix = ""};
    return read_value(r, &file, preset, hu_keys_origin(declared), p);
}

static hu_status give_parameters(const hu_network_reader *r, const hu_network_scope *caller,
                                 const use *u, int64_t k, parameter_names *names,
                                 hu_network_scope *scope) {
    const hu_keys *declared = hu_network_child(u->block, "parameters");
    hu_status st = HU_OK;
    if (!declared) return HU_OK;
    HU_TRY(hu_network_expect(declared, HU_KEYS_LIST, "a list as [out, stride=1]"));
    if (hu_keys_count(declared) > HU_NETWORK_PARAMETERS_MOST)
        return hu_fail(HU_ERR_LIMIT, "%s: found %zu parameters, expected at most %d",
                       hu_keys_origin(declared), hu_keys_count(declared),
                       HU_NETWORK_PARAMETERS_MOST);
    for (size_t i = 0; i < hu_keys_count(declared); i++)
        HU_TRY(give_parameter(r, caller, u, k, hu_keys_at(declared, i), names, scope));
done:
    return st;
}

/* Every key of a use is a word of uses or a parameter of the block. */
static hu_status check_given(const use *u, const hu_keys *given) {
    const char *known[HU_NETWORK_PARAMETERS_MOST + 5] = {"block", "in", "repeat", "first", "last"};
    char names[HU_NETWORK_PARAMETERS_MOST][HU_NAME_BYTES];
    const hu_keys *declared = hu_network_child(u->block, "parameters");
    size_t count = 5;
    for (size_t i = 0; declared && i < hu_keys_count(declared) && i < HU_NETWORK_PARAMETERS_MOST;
         i++) {
        split_preset(hu_keys_value(hu_keys_at(declared, i)), names[i]);
        known[count++] = names[i];
    }
    return hu_network_check_keys(given, "parameter", known, count);
}

/* The names on a list, or the one of a text. */
static size_t name_count(const hu_keys *node) {
    if (!node) return 0;
    return hu_keys_kind_of(node) == HU_KEYS_TEXT ? 1 : hu_keys_count(node);
}

static const hu_keys *name_at(const hu_keys *node, size_t i) {
    return hu_keys_kind_of(node) == HU_KEYS_TEXT ? node : hu_keys_at(node, i);
}

/* The values that the first copy reads. */
static hu_status give_inputs(const hu_network_reader *r, const hu_network_scope *caller,
                             const use *u, hu_network_scope *scope) {
    const hu_keys *wanted = hu_network_child(u->block, "in"),
                  *given = hu_network_child(u->node, "in");
    size_t count = name_count(wanted);
    hu_status st = HU_OK;
    if (name_count(given) != count || count > HU_NETWORK_INPUTS_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found %zu inputs, the block '%s' takes %zu",
                       hu_keys_origin(u->node), name_count(given), hu_keys_name(u->block), count);
    for (size_t i = 0; i < count; i++) {
        const hu_keys *value = name_at(given, i), *name = name_at(wanted, i);
        scope->input[i].name = hu_keys_value(name); /* a text: hu_network_check_blocks */
        HU_TRY(hu_network_named(r, caller, value, &scope->input[i].value));
    }
    scope->inputs = (int)count;
done:
    return st;
}

/* Copy k: its nodes, then what it gives. */
static hu_status declare_copy(hu_network_reader *r, const hu_network_scope *caller, const use *u,
                              int64_t k, const hu_network_scope *inputs, hu_value_id *out) {
    hu_status st = HU_OK;
    char prefix[2 * HU_NAME_BYTES];
    parameter_names *names = NULL;
    hu_network_scope *scope = NULL;
    const hu_keys *nodes = hu_network_child(u->block, "nodes"),
                  *given = hu_network_child(u->block, "out");
    if (u->repeats)
        snprintf(prefix, sizeof prefix, "%s.%lld.", u->name, (long long)k);
    else
        snprintf(prefix, sizeof prefix, "%s.", u->name);
    HU_TRY(hu_network_count(r, hu_keys_origin(u->node)));
    HU_TRY(HU_NEW(&names));
    HU_TRY(HU_NEW(&scope));
    *scope = *inputs;
    scope->outer = caller;
    scope->block = u->block;
    scope->prefix = prefix;
    scope->depth = caller->depth + 1;
    HU_TRY(give_parameters(r, caller, u, k, names, scope));
    if (!nodes || !given)
        HU_TRY(hu_fail(HU_ERR_PARSE, "%s: the block '%s' has no %s", hu_keys_origin(u->block),
                       hu_keys_name(u->block), nodes ? "out" : "nodes"));
    HU_TRY(hu_network_expect(given, HU_KEYS_TEXT, "the name of a value"));
    HU_TRY(hu_network_declare_nodes(r, scope, nodes));
    HU_TRY(hu_network_named(r, scope, given, out));
done:
    hu_free(names);
    hu_free(scope);
    return st;
}

static hu_status count_copies(const hu_network_reader *r, const hu_network_scope *scope, use *u) {
    const hu_keys *repeat = hu_network_child(u->node, "repeat");
    u->repeats = repeat;
    u->copies = 1;
    if (!repeat) return HU_OK;
    hu_status st = hu_network_expect(repeat, HU_KEYS_TEXT, "a number of copies");
    if (st != HU_OK) return st;
    st = hu_network_number(&r->words, scope, hu_keys_value(repeat), hu_keys_origin(repeat),
                           &u->copies);
    if (st == HU_OK && (u->copies < 1 || u->copies > COPIES_MOST))
        st = hu_fail(HU_ERR_LIMIT, "%s: repeat: found %lld copies, expected 1 to %d",
                     hu_keys_origin(repeat), (long long)u->copies, COPIES_MOST);
    return st;
}

/* Copies one after the other: each reads in the place of the first input what the one before it
 * gives. */
static hu_status declare_block(hu_network_reader *r, hu_network_scope *scope, const char *name,
                               const hu_keys *node) {
    static const char *const keys[] = {"in", "parameters", "nodes", "out"};
    hu_status st = HU_OK;
    hu_value_id out = HU_NONE;
    hu_network_scope *inputs = NULL;
    use u = {.name = name, .node = node};
    const hu_keys *edge[] = {hu_network_child(node, "first"), hu_network_child(node, "last")};
    HU_TRY(check_use(r, scope, &u));
    HU_TRY(hu_network_expect(u.block, HU_KEYS_MAP, "a map of in, parameters, nodes and out"));
    HU_TRY(hu_network_check_keys(u.block, "key", keys, sizeof keys / sizeof *keys));
    HU_TRY(check_given(&u, node));
    for (int i = 0; i < 2; i++)
        if (edge[i]) HU_TRY(hu_network_expect(edge[i], HU_KEYS_MAP, "a map as {stride: 2}"));
    for (int i = 0; i < 2; i++)
        if (edge[i]) HU_TRY(check_given(&u, edge[i]));
    HU_TRY(count_copies(r, scope, &u));
    HU_TRY(HU_NEW(&inputs));
    HU_TRY(give_inputs(r, scope, &u, inputs));
    for (int64_t k = 0; k < u.copies; k++) {
        HU_TRY(declare_copy(r, scope, &u, k, inputs, &out));
        if (inputs->inputs > 0) inputs->input[0].value = out;
    }
    HU_TRY(hu_network_name_add(&r->words, name, out, hu_keys_origin(node)));
done:
    hu_free(inputs);
    return st;
}

/* ---- Entries ---- */

static hu_status check_name(const hu_keys *node, const char *name) {
    if (hu_network_is_name(name)) return HU_OK;
    return hu_fail(HU_ERR_PARSE,
                   "%s: found the name '%.60s', expected letters, digits, '_', '-', '/' and '.'",
                   hu_keys_origin(node), name);
}

static hu_status declare_entry(hu_network_reader *r, hu_network_scope *scope, const char *name,
                               const hu_keys *node) {
    if (hu_keys_kind_of(node) == HU_KEYS_TEXT)
        return hu_network_declare_line(r, scope, name, node, hu_keys_value(node));
    if (hu_network_child(node, "block")) return declare_block(r, scope, name, node);
    if (hu_network_child(node, "when")) return declare_when(r, scope, name, node);
    if (hu_network_child(node, "loop")) return declare_loop(r, scope, name, node);
    return hu_fail(HU_ERR_PARSE,
                   "%s: node '%s': expected a line OPERATION INPUTS ATTRIBUTES, or a map with "
                   "block, when or loop",
                   hu_keys_origin(node), name);
}

/* ---- Blocks before they are used ---- */

static hu_status check_inputs(const hu_keys *block) {
    const hu_keys *in = hu_network_child(block, "in");
    for (size_t i = 0; i < name_count(in); i++) {
        hu_status st = hu_network_expect(name_at(in, i), HU_KEYS_TEXT, "a name");
        if (st == HU_OK) st = check_name(name_at(in, i), hu_keys_value(name_at(in, i)));
        if (st != HU_OK) return st;
        for (size_t k = 0; k < i; k++)
            if (strcmp(hu_keys_value(name_at(in, k)), hu_keys_value(name_at(in, i))) == 0)
                return hu_fail(HU_ERR_ARGUMENT, "%s: in: found '%.60s' twice",
                               hu_keys_origin(name_at(in, i)), hu_keys_value(name_at(in, i)));
    }
    return HU_OK;
}

static hu_status check_parameters(const hu_keys *block) {
    const hu_keys *list = hu_network_child(block, "parameters");
    char name[HU_NAME_BYTES], other[HU_NAME_BYTES];
    if (!list) return HU_OK;
    hu_status st = hu_network_expect(list, HU_KEYS_LIST, "a list as [out, stride=1]");
    for (size_t i = 0; st == HU_OK && i < hu_keys_count(list); i++) {
        const hu_keys *item = hu_keys_at(list, i);
        st = hu_network_expect(item, HU_KEYS_TEXT, "NAME or NAME=VALUE");
        if (st != HU_OK) break;
        split_preset(hu_keys_value(item), name);
        st = hu_network_parameter_check(name, hu_keys_origin(item));
        for (size_t k = 0; st == HU_OK && k < i; k++) {
            split_preset(hu_keys_value(hu_keys_at(list, k)), other);
            if (strcmp(name, other) == 0)
                st = hu_fail(HU_ERR_ARGUMENT, "%s: parameters: found '%.60s' twice",
                             hu_keys_origin(item), name);
        }
    }
    return st;
}

hu_status hu_network_check_blocks(const hu_keys *blocks) {
    static const char *const keys[] = {"in", "parameters", "nodes", "out"};
    hu_status st = HU_OK;
    for (size_t i = 0; i < hu_keys_count(blocks); i++) {
        const hu_keys *block = hu_keys_at(blocks, i);
        HU_TRY(hu_network_expect(block, HU_KEYS_MAP, "a map of in, parameters, nodes and out"));
        HU_TRY(hu_network_check_keys(block, "key", keys, sizeof keys / sizeof *keys));
        HU_TRY(check_inputs(block));
        HU_TRY(check_parameters(block));
    }
done:
    return st;
}

static hu_status declare_item(hu_network_reader *r, hu_network_scope *scope, const hu_keys *item) {
    char full[2 * HU_NAME_BYTES];
    if (hu_keys_kind_of(item) != HU_KEYS_MAP || hu_keys_count(item) != 1)
        return hu_fail(
            HU_ERR_PARSE, "%s: found a %s, expected one NAME: OPERATION INPUTS ATTRIBUTES",
            hu_keys_origin(item),
            hu_keys_kind_of(item) == HU_KEYS_MAP ? "map of several keys" : "text or list");
    const hu_keys *node = hu_keys_at(item, 0);
    hu_status st = check_name(node, hu_keys_name(node));
    if (st != HU_OK) return st;
    int written = snprintf(full, sizeof full, "%s%s", scope->prefix, hu_keys_name(node));
    if (written < 0 || (size_t)written >= HU_NAME_BYTES)
        return hu_fail(HU_ERR_LIMIT, "%s: the name '%.40s...' is longer than %d characters",
                       hu_keys_origin(node), full, HU_NAME_BYTES - 1);
    for (int i = 0; i < scope->inputs; i++)
        if (strcmp(scope->input[i].name, hu_keys_name(node)) == 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "%s: found the name '%.100s', which an input of the block has, at %s",
                           hu_keys_origin(node), hu_keys_name(node), hu_keys_origin(scope->block));
    st = hu_network_name_check(&r->words, full, hu_keys_origin(node));
    return st == HU_OK ? declare_entry(r, scope, full, node) : st;
}

hu_status hu_network_declare_nodes(hu_network_reader *r, hu_network_scope *scope,
                                   const hu_keys *nodes) {
    hu_status st = hu_network_expect(nodes, HU_KEYS_LIST, "a list of nodes");
    for (size_t i = 0; st == HU_OK && i < hu_keys_count(nodes); i++)
        st = declare_item(r, scope, hu_keys_at(nodes, i));
    return st;
}
