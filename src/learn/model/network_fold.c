#include "model/network_fold.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/internal.h"

/* Values that a block reads, attributes of a line, parameters of a block. */
enum { INPUTS_MOST = 8, WORDS_MOST = 32, PARAMETERS_MOST = 32 };

/* ---- What is repeated ---- */

/* One part "P.k.*" of the lines, contiguous. */
typedef struct copy {
    uint32_t first, count;
    size_t stem, prefix; /* characters of P, and of "P.k." */
    int64_t k;
    hu_value_id in[INPUTS_MOST]; /* [n_in] values from outside, in the order of their use */
    int n_in;
    hu_value_id out; /* the one value that others read */
    char *form;      /* owned: all that it says but for values of attributes; NULL: no block */
    uint32_t shape;  /* index of its shape, HU_NONE: none */
    char *name;      /* owned: "P.k." */
    bool is_torn;    /* others of the same "P.k." stand elsewhere */
} copy;

/* A place whose values differ between copies. */
typedef struct parameter {
    uint32_t line; /* of the copy */
    int word;
    char name[HU_NAME_BYTES];
} parameter;

/* Copies of one form. */
typedef struct shape {
    uint32_t first, copies; /* the first copy, and how many */
    char name[HU_NAME_BYTES];
    parameter parameter[PARAMETERS_MOST]; /* [parameters] */
    int parameters;
    int chain; /* the input that copies hand on; first in the block */
    bool has_chain, is_block;
} shape;

typedef struct folder {
    const hu_graph *graph;
    const hu_network_line *line;
    uint32_t lines;
    hu_value_id head;
    copy *copy; /* [copies] */
    size_t copies, copy_capacity;
    shape *shape; /* [shapes] */
    size_t shapes, shape_capacity;
    hu_name_table names;    /* of the lines */
    hu_name_table prefixes; /* "P.k." of the copies; id: index of the copy */
    char **alias; /* [value_count] owned: what a value is called by its use of a block; NULL */
    hu_byte_writer *out;
} folder;

const char *hu_network_input_kind(const hu_value_info *value) {
    if (value->role == HU_VALUE_IDS) return "ids";
    if (value->role == HU_VALUE_TARGET) return "target";
    return value->shape.rank == 3 ? "image" : "rows";
}

/* "layer1.0.conv1": P is "layer1", k 0. False: no part of the name is a number with names around.
 */
static bool take_apart(const char *name, size_t *stem, size_t *prefix, int64_t *k) {
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (digits == 0 || digits > 9 || dot[1 + digits] != '.' || !dot[2 + digits]) continue;
        *stem = (size_t)(dot - name);
        *prefix = *stem + digits + 2;
        *k = strtoll(dot + 1, NULL, 10);
        return *k == 0 || dot[1] != '0';
    }
    return false;
}

static bool has_prefix(const char *name, const char *other, size_t prefix) {
    return strncmp(name, other, prefix) == 0;
}

static bool is_inside(const folder *f, const copy *c, hu_value_id v) {
    uint32_t producer = f->graph->value[v].producer;
    return producer != HU_NONE && producer >= c->first && producer < c->first + c->count;
}

/* ---- Words ---- */

/* "out=16" of a line: where it begins, its name, its value. */
typedef struct word {
    const char *name, *value;
    size_t name_bytes, value_bytes;
} word;

static int split(const char *text, word words[WORDS_MOST]) {
    int count = 0;
    while (*text && count < WORDS_MOST) {
        size_t all = strcspn(text, " "), name = strcspn(text, "=");
        words[count++] = (word){text, text + name + 1, name, all - name - 1};
        text += all + (text[all] == ' ');
    }
    return count;
}

static bool same_value(const word *a, const word *b) {
    return a->value_bytes == b->value_bytes && memcmp(a->value, b->value, a->value_bytes) == 0;
}

/* ---- Names of values ---- */

/* What the top of the file calls a value. */
static const char *called(const folder *f, hu_value_id v) {
    const hu_value_info *value = &f->graph->value[v];
    if (f->alias && f->alias[v]) return f->alias[v];
    if (value->producer == HU_NONE || value->output > 0) return value->name;
    return f->graph->node[value->producer].name;
}

static const char *const input_names[INPUTS_MOST] = {"x", "x2", "x3", "x4", "x5", "x6", "x7", "x8"};

static int input_index(const copy *c, hu_value_id v) {
    int i = 0;
    while (i < c->n_in && c->in[i] != v) i++;
    return i;
}

/* The name of input i of a block, whose chained one comes first. */
static const char *input_name(const shape *s, int i) {
    if (i == s->chain) return input_names[0];
    return input_names[i < s->chain ? i + 1 : i];
}

/* What a line of a copy calls a value; s NULL: inputs by their index, for the form. */
static hu_status write_value(const folder *f, const copy *c, const shape *s, hu_value_id v,
                             hu_byte_writer *out) {
    if (!c) return hu_write_format(out, " %s", called(f, v));
    if (is_inside(f, c, v)) {
        const hu_value_info *value = &f->graph->value[v];
        const char *name = value->output > 0 ? value->name : f->graph->node[value->producer].name;
        return hu_write_format(out, " %s", name + c->prefix);
    }
    int i = input_index(c, v);
    return s ? hu_write_format(out, " %s", input_name(s, i)) : hu_write_format(out, " $%d", i);
}

/* "share=weight:P.0.a.weight" without the prefix of the copy. */
static hu_status write_share(const hu_network_line *line, const copy *c, hu_byte_writer *out) {
    hu_status st = hu_write_format(out, " share=");
    size_t prefix = c ? c->prefix : 0;
    for (const char *at = line->share; st == HU_OK && *at;) {
        size_t suffix = strcspn(at, ":") + 1, all = strcspn(at, ",");
        const char *name = at + suffix;
        if (c && has_prefix(name, line->name, prefix)) name += prefix;
        st = hu_write_format(out, "%.*s%.*s%s", (int)suffix, at, (int)(at + all - name), name,
                             at[all] ? "," : "");
        at += all + (at[all] == ',');
    }
    return st;
}

/* Everything after the attributes. */
static hu_status write_own_words(const folder *f, const copy *c, const shape *s,
                                 const hu_network_line *line, hu_byte_writer *out) {
    hu_status st = HU_OK;
    if (line->params)
        HU_TRY(hu_write_format(out, " params=%s", line->params + (c ? c->prefix : 0)));
    if (line->share) HU_TRY(write_share(line, c, out));
    if (line->valid != HU_NONE) {
        hu_byte_writer name = {0};
        st = write_value(f, c, s, line->valid, &name);
        if (st == HU_OK) st = hu_write_u8(&name, 0);
        if (st == HU_OK) st = hu_write_format(out, " valid=%s", (const char *)name.data + 1);
        hu_free(name.data);
        HU_TRY(st);
    }
    if (line->next != HU_NONE) HU_TRY(hu_write_format(out, " next=%s", called(f, line->next)));
done:
    return st;
}

/* ---- Forms ---- */

static hu_status add_line_form(const folder *f, const copy *c, const hu_network_line *line,
                               hu_byte_writer *form) {
    word words[WORDS_MOST];
    hu_status st;
    HU_TRY(hu_write_format(form, "%s: %s", line->name + c->prefix, line->op));
    for (int i = 0; i < line->n_in; i++) HU_TRY(write_value(f, c, NULL, line->in[i], form));
    int count = split(line->attributes, words);
    for (int i = 0; i < count; i++)
        HU_TRY(hu_write_format(form, " %.*s", (int)words[i].name_bytes, words[i].name));
    HU_TRY(write_own_words(f, c, NULL, line, form));
    HU_TRY(hu_write_format(form, "\n"));
done:
    return st;
}

/* Adds a value from outside; false: there are too many. */
static bool add_input(const folder *f, copy *c, hu_value_id v) {
    if (is_inside(f, c, v) || input_index(c, v) < c->n_in) return true;
    if (c->n_in == INPUTS_MOST) return false;
    c->in[c->n_in++] = v;
    return true;
}

/* A value that nodes outside read, or the head. */
static bool is_read_outside(const folder *f, const copy *c, hu_value_id v) {
    const hu_value_info *value = &f->graph->value[v];
    if (v == f->head || v == f->graph->made) return true;
    for (uint32_t u = 0; u < value->use_count; u++) {
        uint32_t node = f->graph->use[value->uses[u]].node;
        if (node < c->first || node >= c->first + c->count) return true;
    }
    return false;
}

/* A node is called "P.k" or "P", as the use of the block would be. */
static bool is_called_so(const folder *f, const copy *c) {
    char name[HU_NAME_BYTES];
    const size_t bytes[] = {c->prefix - 1, c->stem};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%.*s", (int)bytes[i], f->line[c->first].name);
        if (hu_name_table_find(&f->names, name) || hu_graph_find(f->graph, name) != HU_NONE)
            return true;
    }
    return false;
}

/* Can the lines be a block: no loops, names of parameters within it, few inputs, one output? */
static bool collect(const folder *f, copy *c) {
    c->out = HU_NONE;
    for (uint32_t n = c->first; n < c->first + c->count; n++) {
        const hu_network_line *line = &f->line[n];
        const char *own = line->name + c->prefix;
        if (line->node->loop != HU_NONE) return false;
        if (line->params && !has_prefix(line->params, line->name, c->prefix)) return false;
        for (int i = 0; i < INPUTS_MOST; i++)
            if (strcmp(own, input_names[i]) == 0) return false;
        for (int i = 0; i < line->n_in; i++)
            if (!add_input(f, c, line->in[i])) return false;
        if (line->valid != HU_NONE && !add_input(f, c, line->valid)) return false;
        for (int i = 0; i < line->node->n_out; i++) {
            if (!is_read_outside(f, c, line->node->out[i])) continue;
            if (c->out != HU_NONE) return false;
            c->out = line->node->out[i];
        }
    }
    return c->out != HU_NONE && c->n_in > 0;
}

static hu_status find_form(const folder *f, copy *c) {
    hu_status st = HU_OK;
    hu_byte_writer form = {0};
    if (c->count < 2 || c->is_torn || is_called_so(f, c) || !collect(f, c)) return HU_OK;
    for (uint32_t n = c->first; n < c->first + c->count; n++)
        HU_TRY(add_line_form(f, c, &f->line[n], &form));
    HU_TRY(hu_write_format(&form, "out%s", called(f, c->out) + c->prefix));
    HU_TRY(hu_write_u8(&form, 0));
    c->form = (char *)form.data;
    form.data = NULL;
done:
    hu_free(form.data);
    return st;
}

/* A name can be used once: parts of one "P.k." that stand apart are no block. */
static hu_status find_torn(folder *f, uint32_t i) {
    copy *c = &f->copy[i];
    char name[HU_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)c->prefix, f->line[c->first].name);
    const hu_name_entry *other = hu_name_table_find(&f->prefixes, name);
    if (other) {
        f->copy[other->id].is_torn = c->is_torn = true;
        return HU_OK;
    }
    hu_status st = hu_strdup(name, &c->name);
    return st == HU_OK ? hu_name_table_add(&f->prefixes, c->name, i) : st;
}

static hu_status find_copies(folder *f) {
    hu_status st = HU_OK;
    for (uint32_t n = 0; n < f->lines;) {
        copy c = {.first = n, .count = 1, .shape = HU_NONE};
        const char *name = f->line[n].name;
        if (!take_apart(name, &c.stem, &c.prefix, &c.k)) {
            n++;
            continue;
        }
        while (n + c.count < f->lines && has_prefix(f->line[n + c.count].name, name, c.prefix) &&
               f->line[n + c.count].name[c.prefix])
            c.count++;
        HU_TRY(hu_grow(&f->copy, f->copies, &f->copy_capacity, sizeof *f->copy));
        f->copy[f->copies] = c;
        f->copies++;
        n += c.count;
    }
    for (uint32_t i = 0; i < f->copies; i++) HU_TRY(find_torn(f, i));
    for (uint32_t i = 0; i < f->copies; i++) HU_TRY(find_form(f, &f->copy[i]));
done:
    return st;
}

static hu_status find_shapes(folder *f) {
    for (uint32_t i = 0; i < f->copies; i++) {
        copy *c = &f->copy[i];
        uint32_t s = 0;
        if (!c->form) continue;
        while (s < f->shapes && strcmp(f->copy[f->shape[s].first].form, c->form) != 0) s++;
        if (s == f->shapes) {
            hu_status st = hu_grow(&f->shape, f->shapes, &f->shape_capacity, sizeof *f->shape);
            if (st != HU_OK) return st;
            f->shape[f->shapes++] = (shape){.first = i};
        }
        f->shape[s].copies++;
        c->shape = s;
    }
    return HU_OK;
}

/* ---- Parameters ---- */

static word word_at(const folder *f, const copy *c, uint32_t line, int i) {
    word words[WORDS_MOST] = {{0}};
    split(f->line[c->first + line].attributes, words);
    return words[i];
}

/* Do two places hold equal values in every copy? */
static bool is_alike(const folder *f, uint32_t s, uint32_t line, int i, const parameter *p) {
    for (uint32_t k = 0; k < f->copies; k++) {
        if (f->copy[k].shape != s) continue;
        word a = word_at(f, &f->copy[k], line, i), b = word_at(f, &f->copy[k], p->line, p->word);
        if (!same_value(&a, &b)) return false;
    }
    return true;
}

static bool is_constant(const folder *f, uint32_t s, uint32_t line, int i) {
    word first = word_at(f, &f->copy[f->shape[s].first], line, i);
    for (uint32_t k = 0; k < f->copies; k++) {
        if (f->copy[k].shape != s) continue;
        word other = word_at(f, &f->copy[k], line, i);
        if (!same_value(&first, &other)) return false;
    }
    return true;
}

/* The parameter of a place, -1: it is the same in all copies. */
static int parameter_of(const folder *f, uint32_t s, uint32_t line, int i) {
    const shape *of = &f->shape[s];
    if (is_constant(f, s, line, i)) return -1;
    for (int p = 0; p < of->parameters; p++)
        if (is_alike(f, s, line, i, &of->parameter[p])) return p;
    return of->parameters;
}

static bool is_taken(const shape *s, const char *name) {
    static const char *const words[] = {"block", "in",    "repeat", "first",
                                        "last",  "width", "classes"};
    for (int p = 0; p < s->parameters; p++)
        if (strcmp(s->parameter[p].name, name) == 0) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

/* "out", or "out2" where that is taken. */
static void name_parameter(const shape *s, const word *w, char name[HU_NAME_BYTES]) {
    snprintf(name, HU_NAME_BYTES, "%.*s", (int)w->name_bytes, w->name);
    for (int i = 2; is_taken(s, name); i++)
        snprintf(name, HU_NAME_BYTES, "%.*s%d", (int)w->name_bytes, w->name, i);
}

/* What stands between braces of YAML. */
static bool is_flow_safe(const word *w) {
    for (size_t i = 0; i < w->value_bytes; i++)
        if (strchr(",[]{}#'\"", w->value[i])) return false;
    return w->value_bytes > 0;
}

static bool find_parameters(folder *f, uint32_t s) {
    shape *of = &f->shape[s];
    const copy *first = &f->copy[of->first];
    for (uint32_t line = 0; line < first->count; line++) {
        word words[WORDS_MOST];
        int count = split(f->line[first->first + line].attributes, words);
        for (int i = 0; i < count; i++) {
            int p = parameter_of(f, s, line, i);
            if (p < 0 || p < of->parameters) continue;
            if (p == PARAMETERS_MOST || !is_flow_safe(&words[i])) return false;
            of->parameter[p] = (parameter){.line = line, .word = i};
            name_parameter(of, &words[i], of->parameter[p].name);
            of->parameters++;
        }
    }
    return true;
}

/* ---- Runs of copies ---- */

/* Does input j of a copy come from the copy before it, and are the others the same? */
static bool is_chained(const copy *before, const copy *c, int j) {
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] != (i == j ? before->out : before->in[i])) return false;
    return true;
}

/* Copies from number i on that one use with `repeat` says; 1: it stands alone. */
static uint32_t run_of(folder *f, uint32_t i) {
    const copy *c = &f->copy[i];
    shape *s = &f->shape[c->shape];
    uint32_t count = 1;
    if (c->k != 0) return 1;
    for (; i + count < f->copies; count++) {
        const copy *before = &f->copy[i + count - 1], *next = before + 1;
        bool follows = next->shape == c->shape && next->k == before->k + 1 &&
                       next->first == before->first + before->count && next->stem == c->stem &&
                       has_prefix(f->line[next->first].name, f->line[c->first].name, c->stem + 1);
        if (!follows) break;
        for (int j = 0; !s->has_chain && j < c->n_in; j++) {
            if (!is_chained(before, next, j)) continue;
            s->chain = j;
            s->has_chain = true;
        }
        if (!s->has_chain || !is_chained(before, next, s->chain)) break;
    }
    return count;
}

/* ---- Blocks ---- */

static void name_shape(folder *f, uint32_t s) {
    shape *of = &f->shape[s];
    const copy *c = &f->copy[of->first];
    char stem[HU_NAME_BYTES];
    snprintf(stem, sizeof stem, "%.*s", (int)c->stem, f->line[c->first].name);
    const char *dot = strrchr(stem, '.'), *name = dot ? dot + 1 : stem;
    snprintf(of->name, sizeof of->name, "%s", name);
    for (int i = 2;; i++) {
        bool is_taken = false;
        for (uint32_t k = 0; k < s; k++)
            is_taken |= f->shape[k].is_block && strcmp(f->shape[k].name, of->name) == 0;
        if (!is_taken) return;
        snprintf(of->name, sizeof of->name, "%.200s_%d", name, i);
    }
}

static void choose_blocks(folder *f) {
    for (uint32_t s = 0; s < f->shapes; s++) {
        f->shape[s].is_block = f->shape[s].copies > 1 && find_parameters(f, s);
        if (f->shape[s].is_block) name_shape(f, s);
    }
    for (uint32_t i = 0; i < f->copies; i++) { /* which input is handed on, before it is written */
        if (f->copy[i].shape != HU_NONE) (void)run_of(f, i);
    }
}

/* A line; c, s: of a block, else NULL. */
static hu_status write_line(const folder *f, const hu_network_line *line, const copy *c, uint32_t s,
                            const char *indent) {
    hu_status st = HU_OK;
    word words[WORDS_MOST];
    const shape *of = c ? &f->shape[s] : NULL;
    HU_TRY(
        hu_write_format(f->out, "%s- %s: %s", indent, line->name + (c ? c->prefix : 0), line->op));
    for (int i = 0; i < line->n_in; i++) HU_TRY(write_value(f, c, of, line->in[i], f->out));
    int count = split(line->attributes, words);
    for (int i = 0; i < count; i++) {
        int p = c ? parameter_of(f, s, (uint32_t)(line - f->line) - c->first, i) : -1;
        if (p >= 0)
            HU_TRY(hu_write_format(f->out, " %.*s={%s}", (int)words[i].name_bytes, words[i].name,
                                   of->parameter[p].name));
        else
            HU_TRY(hu_write_format(f->out, " %.*s=%.*s", (int)words[i].name_bytes, words[i].name,
                                   (int)words[i].value_bytes, words[i].value));
    }
    HU_TRY(write_own_words(f, c, of, line, f->out));
    HU_TRY(hu_write_format(f->out, "\n"));
done:
    return st;
}

static hu_status write_block(const folder *f, uint32_t s) {
    hu_status st = HU_OK;
    const shape *of = &f->shape[s];
    const copy *c = &f->copy[of->first];
    HU_TRY(hu_write_format(f->out, "  %s:\n    in: [", of->name));
    for (int i = 0; i < c->n_in; i++)
        HU_TRY(hu_write_format(f->out, "%s%s", i ? ", " : "", input_names[i]));
    HU_TRY(hu_write_format(f->out, "]\n"));
    if (of->parameters > 0) HU_TRY(hu_write_format(f->out, "    parameters: ["));
    for (int p = 0; p < of->parameters; p++)
        HU_TRY(hu_write_format(f->out, "%s%s", p ? ", " : "", of->parameter[p].name));
    if (of->parameters > 0) HU_TRY(hu_write_format(f->out, "]\n"));
    HU_TRY(hu_write_format(f->out, "    nodes:\n"));
    for (uint32_t n = c->first; n < c->first + c->count; n++)
        HU_TRY(write_line(f, &f->line[n], c, s, "      "));
    HU_TRY(hu_write_format(f->out, "    out: %s\n", called(f, c->out) + c->prefix));
done:
    return st;
}

static hu_status write_blocks(const folder *f) {
    hu_status st = HU_OK;
    bool has_any = false;
    for (uint32_t s = 0; s < f->shapes; s++) {
        if (!f->shape[s].is_block) continue;
        if (!has_any) HU_TRY(hu_write_format(f->out, "blocks:\n"));
        has_any = true;
        HU_TRY(write_block(f, s));
    }
done:
    return st;
}

/* ---- Uses ---- */

static hu_status write_inputs(const folder *f, const copy *c, const shape *s) {
    hu_status st = HU_OK;
    HU_TRY(
        hu_write_format(f->out, ", in: %s%s", c->n_in > 1 ? "[" : "", called(f, c->in[s->chain])));
    for (int i = 0; i < c->n_in; i++)
        if (i != s->chain) HU_TRY(hu_write_format(f->out, ", %s", called(f, c->in[i])));
    if (c->n_in > 1) HU_TRY(hu_write_format(f->out, "]"));
done:
    return st;
}

/* One value, or a list by copy. */
static hu_status write_given(const folder *f, uint32_t i, uint32_t count, const parameter *p) {
    hu_status st = HU_OK;
    word first = word_at(f, &f->copy[i], p->line, p->word);
    bool differs = false;
    for (uint32_t k = 1; k < count; k++) {
        word other = word_at(f, &f->copy[i + k], p->line, p->word);
        differs |= !same_value(&first, &other);
    }
    HU_TRY(hu_write_format(f->out, ", %s: %s%.*s", p->name, differs ? "[" : "",
                           (int)first.value_bytes, first.value));
    for (uint32_t k = 1; differs && k < count; k++) {
        word other = word_at(f, &f->copy[i + k], p->line, p->word);
        HU_TRY(hu_write_format(f->out, ", %.*s", (int)other.value_bytes, other.value));
    }
    if (differs) HU_TRY(hu_write_format(f->out, "]"));
done:
    return st;
}

/* `count` copies from number i on, as one use of their block. */
static hu_status write_use(folder *f, uint32_t i, uint32_t count) {
    hu_status st = HU_OK;
    const copy *c = &f->copy[i], *last = &f->copy[i + count - 1];
    const shape *s = &f->shape[c->shape];
    char name[HU_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(count > 1 ? c->stem : c->prefix - 1),
             f->line[c->first].name);
    HU_TRY(hu_write_format(f->out, "  - %s: {block: %s", name, s->name));
    if (count > 1) HU_TRY(hu_write_format(f->out, ", repeat: %u", count));
    HU_TRY(write_inputs(f, c, s));
    for (int p = 0; p < s->parameters; p++) HU_TRY(write_given(f, i, count, &s->parameter[p]));
    HU_TRY(hu_write_format(f->out, "}\n"));
    if (hu_graph_find(f->graph, name) == HU_NONE) HU_TRY(hu_strdup(name, &f->alias[last->out]));
done:
    return st;
}

/* ---- Nodes ---- */

/* A value from outside of which a loop reads a row in each step, so that data of other lengths have
 * as many steps as rows; HU_NONE: there is none. */
static hu_value_id rows_of(const folder *f, const hu_loop *loop) {
    for (uint32_t n = loop->first; n <= loop->last; n++) {
        const hu_node *node = &f->graph->node[n];
        for (int i = 0; i < node->n_in && !node->op->is_previous; i++) {
            const hu_value_info *value = &f->graph->value[node->in[i]];
            uint32_t maker = value->producer;
            bool is_outside = maker == HU_NONE || maker < loop->first || maker > loop->last;
            bool has_rows = value->shape.rank > 1 && value->shape.extent[0] == loop->steps;
            if (is_outside && has_rows && !hu_is_held(node, i)) return node->in[i];
        }
    }
    return HU_NONE;
}

/* A name that no node and no value has: a loop that gives nothing needs one all the same. */
static void name_loop(const folder *f, uint32_t loop, char name[HU_NAME_BYTES]) {
    int length = snprintf(name, HU_NAME_BYTES, "loop%u", loop);
    while (hu_name_table_find(&f->names, name) || hu_graph_find(f->graph, name) != HU_NONE) {
        name[length++] = '_';
        name[length] = '\0';
    }
}

static hu_status write_loop(const folder *f, uint32_t loop) {
    hu_status st = HU_OK;
    const hu_loop *l = &f->graph->loop[loop];
    hu_value_id rows = rows_of(f, l);
    char name[HU_NAME_BYTES];
    name_loop(f, loop, name);
    HU_TRY(hu_write_format(f->out, "  - %s:\n      loop: ", name));
    if (rows != HU_NONE)
        HU_TRY(hu_write_format(f->out, "%s\n", called(f, rows)));
    else
        HU_TRY(hu_write_format(f->out, "%lld\n", (long long)l->steps));
    if (l->lengths != HU_NONE)
        HU_TRY(hu_write_format(f->out, "      lengths: %s\n", called(f, l->lengths)));
    HU_TRY(hu_write_format(f->out, "      nodes:\n"));
    for (uint32_t n = l->first; n <= l->last; n++)
        HU_TRY(write_line(f, &f->line[n], NULL, 0, "        "));
done:
    return st;
}

static hu_status write_nodes(folder *f) {
    hu_status st = HU_OK;
    HU_TRY(hu_write_format(f->out, "nodes:\n"));
    for (uint32_t n = 0, c = 0; n < f->lines;) {
        uint32_t loop = f->line[n].node->loop;
        while (c < f->copies && f->copy[c].first < n) c++;
        bool is_use = c < f->copies && f->copy[c].first == n && f->copy[c].shape != HU_NONE &&
                      f->shape[f->copy[c].shape].is_block;
        if (loop != HU_NONE) {
            HU_TRY(write_loop(f, loop));
            n = f->graph->loop[loop].last + 1;
        } else if (is_use) {
            uint32_t count = run_of(f, c);
            HU_TRY(write_use(f, c, count));
            c += count;
            n = f->copy[c - 1].first + f->copy[c - 1].count;
        } else {
            HU_TRY(write_line(f, &f->line[n], NULL, 0, "  "));
            n++;
        }
    }
done:
    return st;
}

hu_status hu_network_write_nodes(const hu_graph *graph, const hu_network_line *lines,
                                 uint32_t count, hu_value_id head, hu_byte_writer *out) {
    hu_status st = HU_OK;
    folder f = {.graph = graph, .line = lines, .lines = count, .head = head, .out = out};
    for (uint32_t n = 0; n < count; n++) HU_TRY(hu_name_table_add(&f.names, lines[n].name, n));
    HU_TRY(find_copies(&f));
    HU_TRY(find_shapes(&f));
    HU_TRY(HU_NEW_ARRAY(&f.alias, (size_t)graph->value_count + 1));
    choose_blocks(&f);
    HU_TRY(write_blocks(&f));
    HU_TRY(write_nodes(&f));
    if (head != HU_NONE) HU_TRY(hu_write_format(out, "head: %s\n", called(&f, head)));
done:
    for (uint32_t v = 0; f.alias && v < graph->value_count; v++) hu_free(f.alias[v]);
    for (size_t i = 0; i < f.copies; i++) {
        hu_free(f.copy[i].form);
        hu_free(f.copy[i].name);
    }
    hu_name_table_free(&f.prefixes);
    hu_name_table_free(&f.names);
    hu_free(f.alias);
    hu_free(f.copy);
    hu_free(f.shape);
    return st;
}
