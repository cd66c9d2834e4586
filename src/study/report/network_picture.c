#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"
#include "render/chart.h"
#include "render/svg.h"
#include "report/network_layout.h"
#include "report/plan.h"

/* ---- What repeats ---- */

/* Copies of a part, one after the other: nodes first .. first + copies * nodes - 1. */
typedef struct repeat {
    uint32_t first, nodes, copies;
} repeat;

/* Characters of "P.k." at the beginning of a name; 0: it has no such. */
static size_t prefix_of(const char *name) {
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (digits > 0 && dot[1 + digits] == '.' && dot[2 + digits])
            return (size_t)(dot - name) + digits + 2;
    }
    return 0;
}

/* Nodes from n on whose names begin so. */
static uint32_t part_nodes(const hu_graph *graph, uint32_t n) {
    const char *name = graph->node[n].name;
    size_t prefix = prefix_of(name);
    uint32_t count = 1;
    if (prefix == 0 || graph->node[n].loop != HU_NONE) return 0;
    while (n + count < graph->node_count && graph->node[n + count].loop == HU_NONE &&
           prefix_of(graph->node[n + count].name) == prefix &&
           strncmp(graph->node[n + count].name, name, prefix) == 0)
        count++;
    return count;
}

/* "layer1." of "layer1.0.": the same in all copies. */
static bool has_same_stem(const char *a, const char *b) {
    size_t stem = prefix_of(a);
    if (stem < 2) return false;
    for (stem--; a[stem - 1] != '.'; stem--) {
    }
    return strncmp(a, b, stem) == 0;
}

static bool has_same_attributes(const hu_node *a, const hu_node *b) {
    char *left = NULL, *right = NULL;
    bool same =
        hu_op_write_attributes(a->op, a->attrs, a->n_in ? a->shapes : NULL, &left) == HU_OK &&
        hu_op_write_attributes(b->op, b->attrs, b->n_in ? b->shapes : NULL, &right) == HU_OK &&
        strcmp(left, right) == 0;
    hu_free(left);
    hu_free(right);
    return same;
}

static bool has_same_shapes(const hu_node *a, const hu_node *b) {
    if (a->n_in != b->n_in || a->n_out != b->n_out || a->n_params != b->n_params) return false;
    for (int i = 0; i < a->n_in + a->n_out + a->n_params; i++)
        if (!hu_shape_equal(&a->shapes[i], &b->shapes[i])) return false;
    return true;
}

/* A node that made a value, as seen from a part that begins at node `first`. */
static bool is_made_in(const hu_graph *graph, hu_value_id v, uint32_t first, uint32_t nodes) {
    uint32_t maker = graph->value[v].producer;
    return maker != HU_NONE && maker >= first && maker < first + nodes;
}

/* Is w in the second of two parts what v is in the first: made at the same place of its own part,
 * or one and the same value from outside, or what the part before it made in the same way? In the
 * place of the latter the first of all parts, `start`, reads anything from outside. */
static bool is_alike(const hu_graph *graph, hu_value_id v, hu_value_id w, uint32_t first,
                     uint32_t nodes, uint32_t start) {
    const hu_value_info *a = &graph->value[v], *b = &graph->value[w];
    bool is_next =
        a->producer != HU_NONE && b->producer == a->producer + nodes && a->output == b->output;
    if (is_made_in(graph, v, first, nodes)) return is_next;
    if (v == w) return true;
    if (first == start) return is_made_in(graph, w, first, nodes);
    return is_next && is_made_in(graph, v, first - nodes, nodes);
}

/* Do the nodes from `first` on, and those right behind them, say the same? */
static bool are_copies(const hu_graph *graph, uint32_t first, uint32_t nodes, uint32_t start) {
    size_t prefix = prefix_of(graph->node[first].name);
    for (uint32_t n = first; n < first + nodes; n++) {
        const hu_node *a = &graph->node[n], *b = &graph->node[n + nodes];
        size_t other = prefix_of(b->name);
        if (a->op != b->op || strcmp(a->name + prefix, b->name + other) != 0) return false;
        if (!has_same_shapes(a, b) || !has_same_attributes(a, b)) return false;
        for (int i = 0; i < a->n_in; i++)
            if (!is_alike(graph, a->in[i], b->in[i], first, nodes, start)) return false;
    }
    return true;
}

/* Is a value of a copy but the last read elsewhere than in it and in the next? */
static bool is_read_elsewhere(const hu_graph *graph, const repeat *r) {
    for (uint32_t n = r->first; n < r->first + (r->copies - 1) * r->nodes; n++) {
        uint32_t own = r->first + (n - r->first) / r->nodes * r->nodes;
        const hu_node *node = &graph->node[n];
        for (int o = 0; o < node->n_out; o++) {
            const hu_value_info *value = &graph->value[node->out[o]];
            for (uint32_t u = 0; u < value->use_count; u++) {
                uint32_t reader = graph->use[value->uses[u]].node;
                if (reader < own || reader >= own + 2 * r->nodes) return true;
            }
        }
    }
    return false;
}

/* The repeat that begins at a node; of one copy: there is none. */
static repeat repeat_at(const hu_graph *graph, uint32_t n) {
    repeat r = {n, part_nodes(graph, n), 1};
    while (r.nodes > 0) {
        uint32_t last = n + (r.copies - 1) * r.nodes, next = last + r.nodes;
        if (next >= graph->node_count || part_nodes(graph, next) != r.nodes) break;
        if (!has_same_stem(graph->node[last].name, graph->node[next].name)) break;
        if (!are_copies(graph, last, r.nodes, n)) break;
        r.copies++;
    }
    if (r.copies > 1 && is_read_elsewhere(graph, &r)) r.copies = 1;
    return r;
}

/* ---- Boxes and frames ---- */

/* Boxes of a part that repeats. */
typedef struct frame {
    uint32_t first, last;                  /* boxes */
    char text[32], tip[2 * HU_NAME_BYTES]; /* "x 3", "layer1.0 to layer1.2" */
} frame;

typedef struct sketch {
    const hu_graph *graph;
    hu_layout layout;
    uint32_t *node; /* [boxes] HU_NONE: of a loaded value, which is */
    hu_value_id *value;
    uint32_t *box_of; /* [value_count] HU_NONE: it has none */
    frame *frame;     /* [frames] */
    size_t frames, frame_capacity;
    double box_width;
    double *top; /* [rows] of boxes */
    double height;
} sketch;

enum { BOX_HEIGHT = 36, GAP = 26, FRAME_TOP = 24, FRAME_MARGIN = 9, HEADING = 34, ROOM = 28 };
enum { NARROWEST = 132, WIDEST = 320, SHAPE_BYTES = 128, TIP_BYTES = 1024 };

static void free_sketch(sketch *s) {
    hu_layout_free(&s->layout);
    hu_free(s->node);
    hu_free(s->value);
    hu_free(s->box_of);
    hu_free(s->frame);
    hu_free(s->top);
}

/* What the first line of a box says at its left. */
static const char *word_of(const sketch *s, uint32_t box) {
    return s->node[box] == HU_NONE ? "input" : s->graph->node[s->node[box]].op->name;
}

static void shape_of(const sketch *s, uint32_t box, char text[SHAPE_BYTES]) {
    hu_shape_print(&s->graph->value[s->value[box]].shape, text, SHAPE_BYTES);
}

static hu_status add_box(sketch *s, uint32_t node, hu_value_id value) {
    uint32_t box = (uint32_t)s->layout.boxes;
    hu_status st = hu_layout_add_box(&s->layout, 0.0);
    if (st != HU_OK) return st;
    s->node[box] = node;
    s->value[box] = value;
    s->box_of[value] = box;
    return HU_OK;
}

/* A box for a node, which all copies of it share, and lines from what it reads. */
static hu_status add_node(sketch *s, uint32_t n, const repeat *r) {
    hu_status st = HU_OK;
    const hu_node *node = &s->graph->node[n];
    uint32_t box = (uint32_t)s->layout.boxes;
    HU_TRY(add_box(s, n, node->out[0]));
    for (uint32_t k = 0; k < r->copies; k++)
        for (int o = 0; o < node->n_out; o++)
            s->box_of[s->graph->node[n + k * r->nodes].out[o]] = box;
    for (int i = 0; i < node->n_in; i++) {
        uint32_t from = s->box_of[node->in[i]];
        if (from != HU_NONE && from < box) HU_TRY(hu_layout_add_line(&s->layout, from, box));
    }
done:
    return st;
}

static hu_status add_frame(sketch *s, const repeat *r) {
    hu_status st = hu_grow(&s->frame, s->frames, &s->frame_capacity, sizeof *s->frame);
    if (st != HU_OK) return st;
    frame *made = &s->frame[s->frames++];
    uint32_t box = (uint32_t)s->layout.boxes;
    const char *first = s->graph->node[r->first].name;
    const char *last = s->graph->node[r->first + (r->copies - 1) * r->nodes].name;
    *made = (frame){.first = box, .last = box + r->nodes - 1};
    snprintf(made->text, sizeof made->text, "x %u", r->copies);
    snprintf(made->tip, sizeof made->tip, "%.*s to %.*s", (int)prefix_of(first) - 1, first,
             (int)prefix_of(last) - 1, last);
    return HU_OK;
}

static bool is_read(const hu_graph *graph, hu_value_id v) {
    return graph->value[v].use_count > 0;
}

static hu_status add_boxes(sketch *s) {
    hu_status st = HU_OK;
    const hu_graph *graph = s->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) s->box_of[v] = HU_NONE;
    for (uint32_t i = 0; i < graph->loaded_count; i++)
        if (is_read(graph, graph->loaded[i])) HU_TRY(add_box(s, HU_NONE, graph->loaded[i]));
    for (uint32_t n = 0; n < graph->node_count;) {
        repeat r = repeat_at(graph, n);
        if (r.copies > 1) HU_TRY(add_frame(s, &r));
        if (r.copies == 1) r.nodes = 1;
        for (uint32_t k = 0; k < r.nodes; k++) HU_TRY(add_node(s, n + k, &r));
        n += r.nodes * r.copies;
    }
done:
    return st;
}

/* All boxes are as wide as the widest first line needs. */
static void choose_width(sketch *s) {
    char shape[SHAPE_BYTES];
    s->box_width = NARROWEST;
    for (uint32_t b = 0; b < s->layout.boxes; b++) {
        shape_of(s, b, shape);
        double width = 1.1 * hu_svg_text_width(word_of(s, b)) + hu_svg_text_width(shape) + ROOM;
        s->box_width = fmin(fmax(s->box_width, width), WIDEST);
    }
    for (uint32_t b = 0; b < s->layout.boxes; b++)
        s->layout.box[b].width = s->box_width + 2.0 * FRAME_MARGIN + 6.0;
}

/* Rows with more room above them where a frame begins. */
static hu_status choose_rows(sketch *s) {
    const hu_layout *layout = &s->layout;
    hu_status st = HU_NEW_ARRAY(&s->top, (size_t)layout->rows + 1);
    if (st != HU_OK) return st;
    for (size_t f = 0; f < s->frames; f++) {
        uint32_t row = UINT32_MAX;
        for (uint32_t b = s->frame[f].first; b <= s->frame[f].last; b++)
            if (layout->box[b].row < row) row = layout->box[b].row;
        s->top[row] = FRAME_TOP;
    }
    double y = HEADING;
    for (uint32_t r = 0; r < layout->rows; r++) {
        y += s->top[r];
        s->top[r] = y;
        y += BOX_HEIGHT + GAP;
    }
    s->height = y;
    return HU_OK;
}

/* ---- Drawing ---- */

/* Products, other operations with parameters, data, and the rest. */
static const char *class_of(const sketch *s, uint32_t box) {
    if (s->node[box] == HU_NONE) return "normal grid";
    const hu_node *node = &s->graph->node[s->node[box]];
    if (node->n_params == 0) return "strip grid";
    return hu_node_macs(s->graph, node) > 0 ? "h1 grid" : "subnormal grid";
}

/* "layer1.0.conv1: conv2d out=16 kernel=3 pad=1 bias=off" */
static hu_status tip_of(const sketch *s, uint32_t box, char tip[TIP_BYTES]) {
    char *attributes = NULL;
    *tip = '\0';
    if (s->node[box] == HU_NONE) return HU_OK;
    const hu_node *node = &s->graph->node[s->node[box]];
    hu_status st = hu_op_write_attributes(node->op, node->attrs, node->n_in ? node->shapes : NULL,
                                          &attributes);
    if (st == HU_OK) snprintf(tip, TIP_BYTES, "%s: %s %s", node->name, node->op->name, attributes);
    hu_free(attributes);
    return st;
}

/* "32 steps" and a dashed edge of what a loop does in each of them. Gives the pixels of its text.
 */
static double draw_steps(const sketch *s, hu_page *page, uint32_t box) {
    const hu_loop *loop =
        s->node[box] == HU_NONE ? NULL : hu_loop_of(s->graph, &s->graph->node[s->node[box]]);
    const hu_layout_box *at = &s->layout.box[box];
    double left = at->middle - 0.5 * s->box_width, top = s->top[at->row];
    char text[48];
    if (!loop) return 0.0;
    snprintf(text, sizeof text, "%lld steps", (long long)loop->steps);
    hu_svg_rect(page, left, top, s->box_width, BOX_HEIGHT, "front", NULL);
    hu_svg_text(page, left + s->box_width - 7.0, top + 29.0, "tick end", text);
    return hu_svg_text_width(text) + 8.0;
}

static hu_status draw_box(const sketch *s, hu_page *page, uint32_t box) {
    char shape[SHAPE_BYTES], tip[TIP_BYTES];
    const hu_layout_box *at = &s->layout.box[box];
    double left = at->middle - 0.5 * s->box_width, top = s->top[at->row];
    hu_status st = tip_of(s, box, tip);
    if (st != HU_OK) return st;
    shape_of(s, box, shape);
    const char *name = s->node[box] == HU_NONE ? s->graph->value[s->value[box]].name
                                               : s->graph->node[s->node[box]].name;
    hu_svg_rect(page, left, top, s->box_width, BOX_HEIGHT, class_of(s, box), tip);
    hu_svg_text(page, left + 7.0, top + 15.0, "strong", word_of(s, box));
    hu_svg_text(page, left + s->box_width - 7.0, top + 15.0, "end", shape);
    double room = s->box_width - 14.0 - draw_steps(s, page, box);
    hu_svg_text_tail(page, left + 7.0, top + 29.0, "tick", name, room);
    return HU_OK;
}

/* Slanting between the rows, upright where it passes one. */
static void draw_line(const sketch *s, hu_page *page, const hu_layout_line *line) {
    const hu_layout_box *from = &s->layout.box[line->from], *to = &s->layout.box[line->to];
    double begin = s->top[from->row] + BOX_HEIGHT, end = s->top[to->row];
    hu_svg_path(page, "line c7");
    hu_svg_point(page, true, from->middle, begin);
    hu_svg_point(page, false, to->middle, to->is_bend ? end : end - 6.0);
    if (to->is_bend) hu_svg_point(page, false, to->middle, end + BOX_HEIGHT);
    hu_svg_path_end(page, false, NULL);
    if (!to->is_bend) hu_svg_mark(page, 5, to->middle, end - 4.0, 4.0, "skip c7", NULL);
}

static void draw_frame(const sketch *s, hu_page *page, const frame *f) {
    double left = INFINITY, right = 0.0, top = INFINITY, bottom = 0.0;
    for (uint32_t b = f->first; b <= f->last; b++) {
        const hu_layout_box *box = &s->layout.box[b];
        left = fmin(left, box->middle - 0.5 * s->box_width);
        right = fmax(right, box->middle + 0.5 * s->box_width);
        top = fmin(top, s->top[box->row]);
        bottom = fmax(bottom, s->top[box->row] + BOX_HEIGHT);
    }
    double x = left - FRAME_MARGIN, y = top - FRAME_TOP;
    hu_svg_rect(page, x, y, right - left + 2.0 * FRAME_MARGIN, bottom - y + FRAME_MARGIN, "front",
                f->tip);
    hu_svg_text(page, x + 6.0, y + 14.0, "strong", f->text);
}

static hu_status draw(const sketch *s, const char *title, char **svg) {
    static const double heading_scale = 1.45; /* bold letters of 15 pixels, not 12 */
    hu_status st = HU_OK;
    hu_page page = {0};
    hu_picture_begin(&page);
    page.width = fmax(s->layout.width, heading_scale * hu_svg_text_width(title));
    hu_svg_begin(&page, page.width, s->height, title);
    hu_svg_text(&page, 0.0, 14.0, "heading", title);
    for (size_t i = 0; i < s->layout.lines; i++) draw_line(s, &page, &s->layout.line[i]);
    for (size_t f = 0; f < s->frames; f++) draw_frame(s, &page, &s->frame[f]);
    for (uint32_t b = 0; b < s->layout.boxes; b++)
        if (!s->layout.box[b].is_bend) HU_TRY(draw_box(s, &page, b));
    hu_svg_end(&page);
    st = hu_picture_finish(&page, title, svg);
done:
    hu_page_free(&page);
    return st;
}

hu_status hu_network_draw(const hu_graph *graph, const char *title, char **svg) {
    hu_status st = HU_OK;
    size_t most = (size_t)graph->node_count + graph->loaded_count + 1;
    sketch s = {.graph = graph};
    *svg = NULL;
    HU_TRY(HU_NEW_ARRAY(&s.node, most));
    HU_TRY(HU_NEW_ARRAY(&s.value, most));
    HU_TRY(HU_NEW_ARRAY(&s.box_of, (size_t)graph->value_count + 1));
    HU_TRY(add_boxes(&s));
    choose_width(&s);
    HU_TRY(hu_layout_place(&s.layout));
    HU_TRY(choose_rows(&s));
    HU_TRY(draw(&s, title, svg));
done:
    free_sketch(&s);
    return st;
}
