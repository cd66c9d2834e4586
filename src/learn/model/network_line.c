#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/internal.h"
#include "model/network_internal.h"

enum { WORDS_MOST = 1 << 16 };

/* ---- A line of a node ---- */

/* The words of one line, taken apart. Texts point into `text`. */
typedef struct line {
    const char *origin, *name; /* name: in full */
    char *text;                /* owned */
    const hu_op *op;           /* NULL: a state of a loop */
    hu_value_id *in;           /* [n_in] owned */
    size_t n_in, in_capacity;
    hu_byte_writer attributes; /* as hu_op_read_attributes takes them, with a final zero */
    const char *params, *share, *valid, *next; /* words of their own; NULL: not given */
} line;

static void line_free(line *l) {
    hu_free(l->text);
    hu_free(l->in);
    hu_free(l->attributes.data);
}

static hu_status unknown_op(const line *l, const char *word) {
    enum { OPS_MOST = 512 };
    const char *names[OPS_MOST];
    size_t count = 0;
    names[count++] = "state";
    for (int i = 0; i < hu_op_count && count < OPS_MOST; i++)
        if (!hu_op_table[i]->is_previous) names[count++] = hu_op_table[i]->name;
    return hu_network_unknown(l->origin, "operation", word, names, count);
}

static hu_status find_op(line *l, const char *word, bool in_loop) {
    if (strcmp(word, "state") == 0)
        return in_loop ? HU_OK
                       : hu_fail(HU_ERR_ARGUMENT, "%s: found a state outside of loops", l->origin);
    l->op = hu_op_find(word);
    return l->op && !l->op->is_previous ? HU_OK : unknown_op(l, word);
}

static const hu_attribute *attribute_of(const hu_op *op, const char *name) {
    for (const hu_attribute *a = op->attributes; a && a->kind != HU_ATTRIBUTE_END; a++)
        if (strcmp(a->name, name) == 0) return a;
    return NULL;
}

/* True for a text that is worked out: of an attribute that takes whole numbers one that is none,
 * else the name of a parameter. */
static bool is_sum(const hu_network_reader *r, const hu_network_scope *scope,
                   const hu_attribute *attribute, const char *value) {
    bool is_whole = attribute &&
                    (attribute->kind == HU_ATTRIBUTE_WHOLE || attribute->kind == HU_ATTRIBUTE_PAIR);
    bool is_name = isalpha((unsigned char)*value) || *value == '_';
    bool has_sign = strpbrk(value, "*+") || (strchr(value, '-') && !strchr(value, 'x'));
    if (strchr(value, '{')) return false;
    return (is_whole && (is_name || (has_sign && !hu_network_is_whole(value)))) ||
           (is_name && strcmp(value, "width") != 0 && hu_network_knows(&r->words, scope, value));
}

/* NAME=VALUE for the operation. */
static hu_status add_attribute(hu_network_reader *r, const hu_network_scope *scope, line *l,
                               const char *name, const char *value) {
    hu_status st = HU_OK;
    char braced[2 * HU_NAME_BYTES];
    HU_TRY(hu_write_format(&l->attributes, "%s%s=", l->attributes.size ? " " : "", name));
    const hu_attribute *attribute = l->op ? attribute_of(l->op, name) : NULL;
    if (is_sum(r, scope, attribute, value) && strlen(value) + 3 < sizeof braced) {
        snprintf(braced, sizeof braced, "{%s}", value);
        value = braced;
    }
    HU_TRY(hu_network_expand(&r->words, scope, value, l->origin, &l->attributes));
done:
    return st;
}

static hu_status add_input(hu_network_reader *r, const hu_network_scope *scope, line *l,
                           const char *word) {
    hu_status st = HU_OK;
    if (l->n_in == WORDS_MOST)
        return hu_fail(HU_ERR_LIMIT, "%s: found more than %d inputs", l->origin, WORDS_MOST);
    HU_TRY(hu_grow(&l->in, l->n_in, &l->in_capacity, sizeof *l->in));
    HU_TRY(hu_network_value(&r->words, scope, word, l->origin, &l->in[l->n_in]));
    l->n_in++;
done:
    return st;
}

/* Words that are no attributes of operations. */
static hu_status take_own_word(line *l, const char *name, const char *value, bool *is_own) {
    const char **own = strcmp(name, "params") == 0  ? &l->params
                       : strcmp(name, "share") == 0 ? &l->share
                       : strcmp(name, "valid") == 0 ? &l->valid
                       : strcmp(name, "next") == 0  ? &l->next
                                                    : NULL;
    *is_own = own;
    if (!own) return HU_OK;
    if (*own) return hu_fail(HU_ERR_ARGUMENT, "%s: %s is given twice", l->origin, name);
    *own = value;
    size_t star = strcspn(value, "*");
    if (own == &l->params &&
        (!*value || strspn(value, HU_NETWORK_NAME_CHARACTERS "*") != strlen(value) ||
         (value[star] && strchr(value + star + 1, '*'))))
        return hu_fail(
            HU_ERR_PARSE,
            "%s: params: found '%.60s', expected letters, digits, '_', '-', '/' and '.', "
            "with one star at most",
            l->origin, value);
    return HU_OK;
}

static hu_status read_word(hu_network_reader *r, const hu_network_scope *scope, line *l,
                           char *word) {
    char *value = strchr(word, '=');
    if (!value) return add_input(r, scope, l, word);
    *value++ = '\0';
    bool is_own;
    hu_status st = take_own_word(l, word, value, &is_own);
    return st == HU_OK && !is_own ? add_attribute(r, scope, l, word, value) : st;
}

/* OP INPUTS ATTRIBUTES; blanks in braces belong to their word. */
static hu_status read_line(hu_network_reader *r, const hu_network_scope *scope, const char *text,
                           line *l) {
    hu_status st = HU_OK;
    HU_TRY(hu_strdup(text, &l->text));
    char *at = l->text;
    for (bool is_first = true; *(at += strspn(at, " \t\n")); is_first = false) {
        char *word = at;
        for (bool in_braces = false; *at && (in_braces || !strchr(" \t\n", *at)); at++)
            in_braces = *at == '{' || (in_braces && *at != '}');
        if (*at) *at++ = '\0';
        HU_TRY(is_first ? find_op(l, word, r->in_loop) : read_word(r, scope, l, word));
    }
    HU_TRY(hu_write_u8(&l->attributes, 0));
done:
    return st;
}

hu_status hu_network_count(hu_network_reader *r, const char *origin) {
    int64_t most = r->words.options->nodes_most;
    if (most == 0) most = HU_NETWORK_NODES_MOST;
    if (++r->made <= most) return HU_OK;
    return hu_fail(HU_ERR_LIMIT, "%s: found more than %lld nodes and copies of blocks", origin,
                   (long long)most);
}

/* ---- Parameters that are those of other nodes ---- */

/* The parameter of a word "weight:embed.weight", or of the node "embed", for a suffix. */
static hu_status shared_of(const hu_network_reader *r, const hu_network_scope *scope, const line *l,
                           const char *suffix, hu_value_id *param) {
    char name[2 * HU_NAME_BYTES], full[2 * HU_NAME_BYTES];
    const char *colon = strchr(l->share, ':');
    *param = HU_NONE;
    if (!colon) {
        hu_param_name(l->share, suffix, name, sizeof name);
    } else {
        const char *at = l->share;
        size_t length = strlen(suffix);
        while (at && (strncmp(at, suffix, length) != 0 || at[length] != ':')) {
            at = strchr(at, ',');
            if (at) at++;
        }
        if (!at) return HU_OK; /* one of its own */
        at += length + 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    }
    int written = snprintf(full, sizeof full, "%s%s", scope->prefix, name);
    if (written > 0 && (size_t)written < sizeof full) *param = hu_graph_find(r->graph, full);
    if (*param == HU_NONE) *param = hu_graph_find(r->graph, name);
    if (*param != HU_NONE) return HU_OK;
    return hu_fail(HU_ERR_UNKNOWN, "%s: node '%s' (%s): share: there is no parameter '%s'",
                   l->origin, l->name, l->op->name, name);
}

/* The shape of an input as the operation reads it: in a loop that of one step, but of what is held.
 */
static hu_shape shape_read(const hu_network_reader *r, const line *l, size_t i) {
    const hu_shape *whole = &r->graph->value[l->in[i]].shape;
    bool is_held = i < HU_MAX_HELD && (l->op->held >> i & 1u);
    hu_shape step = *whole;
    if (!r->in_loop || is_held || whole->rank == 0) return step;
    step.rank--;
    for (int k = 0; k < step.rank; k++) step.extent[k] = whole->extent[k + 1];
    return step;
}

/* Every word before a colon is a parameter of the operation. */
static hu_status check_shared(const line *l, const hu_param_decl *list, int count) {
    const char *names[HU_MAX_PARAMS];
    char word[HU_NAME_BYTES];
    for (int j = 0; j < count; j++) names[j] = list[j].suffix;
    for (const char *at = l->share; at && strchr(at, ':');) {
        size_t length = strcspn(at, ":");
        bool is_known = false;
        for (int j = 0; j < count; j++)
            is_known |= strlen(names[j]) == length && memcmp(names[j], at, length) == 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), at);
        if (!is_known)
            return hu_network_unknown(l->origin, "parameter to share", word, names, (size_t)count);
        at = strchr(at, ',');
        if (at) at++;
    }
    return HU_OK;
}

static hu_status apply_shared(hu_network_reader *r, const hu_network_scope *scope, const line *l,
                              const void *attrs, hu_value_id *out) {
    hu_status st = HU_OK;
    hu_param_decl list[HU_MAX_PARAMS];
    hu_value_id params[HU_MAX_PARAMS];
    hu_shape *shapes = NULL;
    int count = 0;
    HU_TRY(HU_NEW_ARRAY(&shapes, l->n_in + 1));
    for (size_t i = 0; i < l->n_in; i++) shapes[i] = shape_read(r, l, i);
    if (!l->op->params || (int)l->n_in < l->op->min_in)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "node '%s' (%s): found share, and no parameters", l->name,
                       l->op->name));
    HU_TRY(l->op->params(attrs, shapes, list, &count));
    HU_TRY(check_shared(l, list, count));
    for (int j = 0; j < count; j++) HU_TRY(shared_of(r, scope, l, list[j].suffix, &params[j]));
    HU_TRY(hu_graph_share(r->graph, l->op, l->name, attrs, (int)l->n_in, l->in, params, out));
done:
    hu_free(shapes);
    return st;
}

/* ---- Nodes ---- */

/* Dropout that the options choose for all of a model. */
static bool leaves_out(const hu_network_reader *r, const line *l, void *attrs) {
    double chosen = r->words.options->dropout;
    if (l->op != &hu_op_dropout || chosen < 0.0) return false;
    ((hu_dropout_attrs *)attrs)->probability = (float)chosen;
    return chosen == 0.0;
}

static hu_status apply(hu_network_reader *r, const hu_network_scope *scope, const line *l,
                       void *attrs, hu_value_id *out) {
    char prefix[2 * HU_NAME_BYTES];
    if (l->share) return apply_shared(r, scope, l, attrs, out);
    if (l->params) snprintf(prefix, sizeof prefix, "%s%s", scope->prefix, l->params);
    const char *given = l->params ? prefix : NULL;
    if (r->words.options->splits_bias && hu_adds_bias(l->op, attrs) && l->n_in == 1)
        return hu_apply_split(r->graph, l->op, l->name, given, attrs, l->in, out);
    return hu_graph_apply(r->graph, l->op, l->name, given, attrs, (int)l->n_in, l->in, out);
}

/* "NAME.out" of a node that is left out is its input. */
static hu_status alias_output(hu_network_reader *r, const line *l) {
    char name[2 * HU_NAME_BYTES];
    snprintf(name, sizeof name, "%s.out", l->name);
    return hu_network_name_add(&r->words, name, l->in[0], l->origin);
}

/* What a node makes has names of its own, and it has parameters where the line names them. */
static hu_status check_made(const hu_network_reader *r, const line *l, hu_value_id out) {
    const hu_node *node = &r->graph->node[r->graph->value[out].producer];
    for (int i = 0; i < node->n_out; i++) {
        hu_status st = hu_network_made_check(&r->words, node->out[i], l->origin);
        if (st != HU_OK) return st;
    }
    if (!l->params || node->n_params > 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "node '%s' (%s): found params, and no parameters", l->name,
                   l->op->name);
}

static hu_status declare_op(hu_network_reader *r, const hu_network_scope *scope, const line *l,
                            hu_value_id *out) {
    hu_status st = HU_OK;
    void *attrs = NULL;
    hu_value_id lengths;
    hu_shape first = {.rank = 0};
    if (l->n_in > 0) first = shape_read(r, l, 0);
    HU_TRY(hu_alloc(l->op->attrs_bytes, &attrs));
    st = hu_op_read_attributes(l->op, (const char *)l->attributes.data, l->n_in ? &first : NULL,
                               attrs);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "node '%s' (%s): ", l->name, l->op->name));
    if (l->n_in == 1 && leaves_out(r, l, attrs)) {
        HU_TRY(alias_output(r, l));
        out[0] = l->in[0];
        goto done;
    }
    HU_TRY(apply(r, scope, l, attrs, out));
    HU_TRY(check_made(r, l, out[0]));
    if (l->valid) {
        HU_TRY(hu_network_value(&r->words, scope, l->valid, l->origin, &lengths));
        HU_TRY(hu_graph_end_rows(r->graph, out[0], lengths));
    }
done:
    hu_free(attrs);
    return st;
}

/* "state INITIAL next=VALUE": the value is declared later. */
static hu_status declare_state(hu_network_reader *r, const hu_network_scope *scope, const line *l,
                               hu_value_id *out) {
    hu_status st = HU_OK;
    char *next = NULL, *prefix = NULL;
    if (l->attributes.size > 1 || l->params || l->share || l->valid)
        return hu_fail(HU_ERR_ARGUMENT, "node '%s' (state): expected no word but next=", l->name);
    if (l->n_in != 1 || !l->next)
        return hu_fail(HU_ERR_PARSE,
                       "node '%s' (state): found %zu inputs%s, expected state INITIAL "
                       "next=VALUE",
                       l->name, l->n_in, l->next ? "" : " and no next=");
    HU_TRY(hu_graph_state(r->graph, l->name, l->in[0], &out[0]));
    HU_TRY(hu_strdup(l->next, &next));
    HU_TRY(hu_strdup(scope->prefix, &prefix));
    HU_TRY(hu_grow(&r->pending, r->pendings, &r->pending_capacity, sizeof *r->pending));
    r->pending[r->pendings++] = (hu_network_state){out[0], next, prefix, l->origin};
    next = prefix = NULL;
done:
    hu_free(next);
    hu_free(prefix);
    return st;
}

/* Which values of which shapes do not fit: after the message, and the place before it. */
static hu_status tell_inputs(const hu_network_reader *r, const line *l, hu_status st) {
    enum { MESSAGE_BYTES = 1024, SHAPE_BYTES = 128, TOLD_MOST = 4 };
    char said[MESSAGE_BYTES], read[MESSAGE_BYTES] = "", shape[SHAPE_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < l->n_in && i < TOLD_MOST; i++) {
        const hu_value_info *value = &r->graph->value[l->in[i]];
        hu_shape_print(&value->shape, shape, sizeof shape);
        used += (size_t)snprintf(read + used, sizeof read - used, "%s'%.100s' %s", i ? ", " : "",
                                 value->name, shape);
    }
    snprintf(said, sizeof said, "%s", hu_last_error());
    return hu_fail(st, "%s; it reads %s%s", said, read, l->n_in > TOLD_MOST ? ", ..." : "");
}

static hu_status declare_words(hu_network_reader *r, const hu_network_scope *scope,
                               const char *text, line *l, hu_value_id *out) {
    hu_status st;
    HU_TRY(hu_network_count(r, l->origin));
    HU_TRY(read_line(r, scope, text, l));
    if (!l->op && !l->next)
        return hu_fail(HU_ERR_PARSE,
                       "node '%s': found '%.60s', expected OPERATION INPUTS ATTRIBUTES", l->name,
                       text);
    if (l->op && l->next)
        return hu_fail(HU_ERR_ARGUMENT, "node '%s' (%s): found next, which a state alone has",
                       l->name, l->op->name);
    if (l->params && l->share)
        return hu_fail(HU_ERR_ARGUMENT, "node '%s': found params and share, expected one", l->name);
    st = l->op ? declare_op(r, scope, l, out) : declare_state(r, scope, l, out);
    if (st == HU_ERR_SHAPE && l->n_in > 0) st = tell_inputs(r, l, st);
done:
    return st;
}

hu_status hu_network_declare_line(hu_network_reader *r, const hu_network_scope *scope,
                                  const char *name, const hu_keys *node, const char *text) {
    hu_value_id out[HU_MAX_OUTPUTS] = {HU_NONE};
    line l = {.origin = hu_keys_origin(node), .name = name};
    hu_status st = declare_words(r, scope, text, &l, out);
    /* Places that are named already stay alone. */
    if (st != HU_OK && strncmp(hu_last_error(), l.origin, strlen(l.origin)) != 0)
        st = hu_fail_within(st, "%s: ", l.origin);
    if (st == HU_OK) st = hu_network_name_add(&r->words, name, out[0], l.origin);
    line_free(&l);
    return st;
}
