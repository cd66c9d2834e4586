#include "report/network_layout.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

/* Rows by the longest way from the top; the order in a row by the mean of the neighbours' places
 * (Sugiyama et al. 1981); then places that are as near to the neighbours' middles as the order
 * allows: least squares under an order, by pooling what would overlap. */

enum { PLACES_MOST = 200000, ORDERS = 12, MOVES = 2 };
static const double bend_width = 14.0;

hu_status hu_layout_add_box(hu_layout *layout, double width) {
    if (layout->boxes >= PLACES_MOST)
        return hu_fail(HU_ERR_LIMIT, "a picture of more than %d boxes and bends of lines",
                       PLACES_MOST);
    hu_status st = hu_grow(&layout->box, layout->boxes, &layout->box_capacity, sizeof *layout->box);
    if (st == HU_OK) layout->box[layout->boxes++] = (hu_layout_box){.width = width};
    return st;
}

hu_status hu_layout_add_line(hu_layout *layout, uint32_t from, uint32_t to) {
    for (size_t i = layout->lines; i > 0 && layout->line[i - 1].to == to; i--)
        if (layout->line[i - 1].from == from) return HU_OK;
    hu_status st =
        hu_grow(&layout->line, layout->lines, &layout->line_capacity, sizeof *layout->line);
    if (st != HU_OK) return st;
    layout->line[layout->lines++] = (hu_layout_line){from, to, false};
    return HU_OK;
}

void hu_layout_free(hu_layout *layout) {
    hu_free(layout->box);
    hu_free(layout->line);
    *layout = (hu_layout){0};
}

/* ---- Rows and bends ---- */

static bool is_earlier(const hu_layout_line *a, const hu_layout_line *b) {
    return a->to != b->to ? a->to < b->to : a->from < b->from;
}

static int by_target(const void *a, const void *b) {
    return is_earlier(a, b) ? -1 : is_earlier(b, a);
}

static void sort_by_target(hu_layout *layout) {
    if (layout->lines > 0) /* else there is no array */
        qsort(layout->line, layout->lines, sizeof *layout->line, by_target);
}

/* What is known of each box. */
typedef struct lines_of {
    uint32_t in, out,
        least;     /* lines to and from it, and the row above the highest that they lead to */
    bool is_bound; /* not all that leads to it may be moved with it */
} lines_of;

/* What only it leads to stands right above it: sources, and chains from sources. */
static void lower(hu_layout *layout, lines_of *of) {
    for (size_t i = 0; i < layout->lines; i++) {
        of[layout->line[i].from].out++;
        of[layout->line[i].to].in++;
    }
    for (size_t i = 0; i < layout->lines; i++) {
        const lines_of *from = &of[layout->line[i].from];
        of[layout->line[i].to].is_bound |= from->is_bound || from->out > 1;
    }
    for (size_t b = 0; b < layout->boxes; b++) of[b].least = UINT32_MAX;
    for (size_t b = layout->boxes, i = layout->lines; b > 0; b--) {
        hu_layout_box *box = &layout->box[b - 1];
        if (of[b - 1].out > 0 && !of[b - 1].is_bound) box->row = of[b - 1].least;
        for (; i > 0 && layout->line[i - 1].to == b - 1; i--) {
            lines_of *from = &of[layout->line[i - 1].from];
            if (box->row - 1 < from->least) from->least = box->row - 1;
        }
    }
}

/* Lines by target: what leads to a box is known before what leads on from it. */
static void choose_rows(hu_layout *layout, lines_of *of) {
    sort_by_target(layout);
    for (size_t i = 0; i < layout->lines; i++) {
        const hu_layout_line *line = &layout->line[i];
        uint32_t below = layout->box[line->from].row + 1;
        if (layout->box[line->to].row < below) layout->box[line->to].row = below;
    }
    lower(layout, of);
    for (size_t b = 0; b < layout->boxes; b++)
        if (layout->box[b].row >= layout->rows) layout->rows = layout->box[b].row + 1;
}

/* The bend of lines from a box in a row below it, made with those between where it is not there.
 * last: the lowest that the box has so far, or itself. */
static hu_status reach(hu_layout *layout, uint32_t *last, uint32_t row) {
    hu_status st = HU_OK;
    while (layout->box[*last].row < row) {
        uint32_t bend = (uint32_t)layout->boxes, above = *last;
        HU_TRY(hu_layout_add_box(layout, bend_width));
        layout->box[bend].is_bend = true;
        layout->box[bend].row = layout->box[above].row + 1;
        HU_TRY(hu_layout_add_line(layout, above, bend));
        layout->line[layout->lines - 1].is_main = true;
        *last = bend;
    }
done:
    return st;
}

/* What branches off leads past; where all that leads to a box does, that from right above it is
 * main, else the first. */
static void choose_main(hu_layout *layout) {
    sort_by_target(layout);
    for (size_t i = 0, end = 0; i < layout->lines; i = end) {
        size_t chosen = i;
        bool has_main = false;
        for (end = i; end < layout->lines && layout->line[end].to == layout->line[i].to; end++) {
            bool is_bend = layout->box[layout->line[chosen].from].is_bend;
            has_main |= layout->line[end].is_main;
            if (is_bend && !layout->box[layout->line[end].from].is_bend) chosen = end;
        }
        if (!has_main) layout->line[chosen].is_main = true;
    }
}

static int by_source(const void *a, const void *b) {
    const hu_layout_line *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* The bends of a box, one below the other, are numbered one after the other: that of a row is known
 * by its distance from the lowest. */
static hu_status bend_lines(hu_layout *layout, const lines_of *of) {
    hu_status st = HU_OK;
    size_t count = layout->lines;
    hu_layout_line *line = layout->line;
    layout->line = NULL;
    layout->lines = layout->line_capacity = 0;
    if (count > 0) qsort(line, count, sizeof *line, by_source);
    for (size_t i = 0; i < count;) {
        uint32_t from = line[i].from, last = from;
        size_t end = i;
        for (; end < count && line[end].from == from; end++) /* down to the lowest first */
            HU_TRY(reach(layout, &last, layout->box[line[end].to].row - 1));
        for (; i < end; i++) {
            uint32_t row = layout->box[line[i].to].row - 1, up = layout->box[last].row - row;
            uint32_t above = row == layout->box[from].row ? from : last - up;
            HU_TRY(hu_layout_add_line(layout, above, line[i].to));
            layout->line[layout->lines - 1].is_main = of[from].out == 1 && of[from].in > 0;
        }
    }
done:
    hu_free(line);
    return st;
}

/* ---- Neighbours ---- */

/* Boxes by row, in their order, and the ends of lines above and below each. */
typedef struct grid {
    hu_layout *layout;
    uint32_t *order;            /* [boxes] row after row */
    uint32_t *first;            /* [rows + 1] where a row begins */
    double *place;              /* [boxes] number within its row, or pixels */
    double *wish;               /* [boxes] */
    uint32_t *end[2], *list[2]; /* 0: above, 1: below; list[end[b]] .. list[end[b + 1]] */
    bool *is_main[2];           /* of these lines */
} grid;

static void free_grid(grid *g) {
    hu_free(g->order);
    hu_free(g->first);
    hu_free(g->place);
    hu_free(g->wish);
    for (int side = 0; side < 2; side++) {
        hu_free(g->end[side]);
        hu_free(g->list[side]);
        hu_free(g->is_main[side]);
    }
}

static void list_neighbours(grid *g, int side) {
    const hu_layout *layout = g->layout;
    uint32_t *end = g->end[side];
    for (size_t i = 0; i < layout->lines; i++)
        end[(side ? layout->line[i].from : layout->line[i].to) + 2]++;
    for (size_t b = 1; b < layout->boxes + 2; b++) end[b] += end[b - 1];
    for (size_t i = 0; i < layout->lines; i++) {
        uint32_t own = side ? layout->line[i].from : layout->line[i].to;
        g->is_main[side][end[own + 1]] = layout->line[i].is_main;
        g->list[side][end[own + 1]++] = side ? layout->line[i].to : layout->line[i].from;
    }
}

static hu_status make_grid(hu_layout *layout, grid *g) {
    hu_status st = HU_OK;
    *g = (grid){.layout = layout};
    HU_TRY(HU_NEW_ARRAY(&g->order, layout->boxes + 1));
    HU_TRY(HU_NEW_ARRAY(&g->first, (size_t)layout->rows + 2));
    HU_TRY(HU_NEW_ARRAY(&g->place, layout->boxes + 1));
    HU_TRY(HU_NEW_ARRAY(&g->wish, layout->boxes + 1));
    for (int side = 0; side < 2; side++) {
        HU_TRY(HU_NEW_ARRAY(&g->end[side], layout->boxes + 3));
        HU_TRY(HU_NEW_ARRAY(&g->list[side], layout->lines + 1));
        HU_TRY(HU_NEW_ARRAY(&g->is_main[side], layout->lines + 1));
        list_neighbours(g, side);
    }
    for (size_t b = 0; b < layout->boxes; b++) g->first[layout->box[b].row + 2]++;
    for (uint32_t r = 1; r < layout->rows + 2; r++) g->first[r] += g->first[r - 1];
    for (uint32_t b = 0; b < layout->boxes; b++) g->order[g->first[layout->box[b].row + 1]++] = b;
    for (uint32_t r = 0; r < layout->rows; r++)
        for (uint32_t i = g->first[r]; i < g->first[r + 1]; i++)
            g->place[g->order[i]] = i - g->first[r];
done:
    return st;
}

/* The mean place of the neighbours on one side; its own where it has none. */
static double mean_of(const grid *g, uint32_t box, int side) {
    uint32_t first = g->end[side][box], last = g->end[side][box + 1];
    double sum = 0.0;
    for (uint32_t i = first; i < last; i++) sum += g->place[g->list[side][i]];
    return last > first ? sum / (last - first) : g->place[box];
}

/* ---- Order ---- */

/* One box of a row that is being sorted. */
typedef struct rank {
    double wish;
    uint32_t at, box; /* at: place before, so that equals keep their order */
} rank;

static int by_wish(const void *a, const void *b) {
    const rank *x = a, *y = b;
    if (x->wish < y->wish || x->wish > y->wish) return x->wish < y->wish ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_row(grid *g, uint32_t row, int side, rank *ranks) {
    uint32_t first = g->first[row], count = g->first[row + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t box = g->order[first + i];
        ranks[i] = (rank){mean_of(g, box, side), i, box};
    }
    qsort(ranks, count, sizeof *ranks, by_wish);
    for (uint32_t i = 0; i < count; i++) {
        g->order[first + i] = ranks[i].box;
        g->place[ranks[i].box] = i;
    }
}

static hu_status sort_rows(grid *g) {
    uint32_t rows = g->layout->rows;
    rank *ranks = NULL;
    hu_status st = HU_NEW_ARRAY(&ranks, g->layout->boxes + 1);
    for (int k = 0; st == HU_OK && k < ORDERS; k++)
        for (uint32_t r = 0; r < rows; r++) sort_row(g, k % 2 ? rows - 1 - r : r, k % 2, ranks);
    hu_free(ranks);
    return st;
}

/* ---- Places ---- */

/* What makes room for all others. */
static const double light = 0.001;

/* Lines that pass, and what only joins in (labels), make room for what the main lines go through.
 */
static double weight_of(const grid *g, uint32_t box) {
    bool has_main = g->end[0][box + 1] > g->end[0][box]; /* one of the lines to it is */
    for (uint32_t i = g->end[1][box]; !has_main && i < g->end[1][box + 1]; i++)
        has_main = g->is_main[1][i];
    return g->layout->box[box].is_bend || !has_main ? light : 1.0;
}

/* Boxes that stand side by side without room between them: the sum of their weighted wishes, as if
 * each were the first. */
typedef struct pool {
    double wishes, weight;
    uint32_t count;
} pool;

static double place_of(const pool *p) {
    return p->wishes / p->weight;
}

/* Least squares for one row: wishes minus the room of those before must ascend. */
static void place_row(grid *g, uint32_t row, pool *pools) {
    const hu_layout_box *box = g->layout->box;
    const uint32_t *order = g->order + g->first[row];
    uint32_t count = g->first[row + 1] - g->first[row], used = 0;
    double offset = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) offset += 0.5 * (box[order[i - 1]].width + box[order[i]].width);
        double weight = weight_of(g, order[i]);
        pools[used++] = (pool){weight * (g->wish[order[i]] - offset), weight, 1};
        while (used > 1 && place_of(&pools[used - 2]) >= place_of(&pools[used - 1])) {
            used--;
            pools[used - 1].wishes += pools[used].wishes;
            pools[used - 1].weight += pools[used].weight;
            pools[used - 1].count += pools[used].count;
        }
    }
    offset = 0.0;
    for (uint32_t p = 0, i = 0; p < used; p++)
        for (uint32_t k = 0; k < pools[p].count; k++, i++) {
            if (i > 0) offset += 0.5 * (box[order[i - 1]].width + box[order[i]].width);
            g->place[order[i]] = place_of(&pools[p]) + offset;
        }
}

/* The middle of what the main lines of one side lead to, of bends hardly; where there are none, of
 * all lines. */
static double aim(const grid *g, uint32_t box, int side) {
    double sum = 0.0, weights = 0.0;
    for (uint32_t i = g->end[side][box]; i < g->end[side][box + 1]; i++) {
        uint32_t other = g->list[side][i];
        if (!g->is_main[side][i]) continue;
        double weight = side == 1 && g->layout->box[other].is_bend ? light : 1.0;
        sum += weight * g->place[other];
        weights += weight;
    }
    return weights > 0.0 ? sum / weights : mean_of(g, box, side);
}

/* Once from below, once from above, where the other side decides if there is nothing on one. */
static void wish(grid *g, uint32_t row, int side) {
    for (uint32_t i = g->first[row]; i < g->first[row + 1]; i++) {
        uint32_t box = g->order[i];
        bool has_any = g->end[side][box + 1] > g->end[side][box];
        g->wish[box] = aim(g, box, has_any ? side : !side);
    }
}

static hu_status place_rows(grid *g) {
    hu_layout *layout = g->layout;
    pool *pools = NULL;
    double least = INFINITY, most = 0.0;
    hu_status st = HU_NEW_ARRAY(&pools, layout->boxes + 1);
    for (size_t b = 0; b < layout->boxes; b++) g->wish[b] = 0.0;
    for (uint32_t r = 0; st == HU_OK && r < layout->rows; r++) place_row(g, r, pools);
    for (int k = 0; st == HU_OK && k < MOVES; k++)
        for (uint32_t r = 0; r < layout->rows; r++) {
            uint32_t row = k % 2 ? r : layout->rows - 1 - r;
            wish(g, row, k % 2 == 0);
            place_row(g, row, pools);
        }
    for (size_t b = 0; b < layout->boxes; b++)
        least = fmin(least, g->place[b] - 0.5 * layout->box[b].width);
    for (size_t b = 0; b < layout->boxes; b++) {
        layout->box[b].middle = g->place[b] - least;
        most = fmax(most, layout->box[b].middle + 0.5 * layout->box[b].width);
    }
    layout->width = most;
    hu_free(pools);
    return st;
}

hu_status hu_layout_place(hu_layout *layout) {
    hu_status st = HU_OK;
    grid g = {0};
    lines_of *of = NULL;
    HU_TRY(HU_NEW_ARRAY(&of, layout->boxes + 1));
    choose_rows(layout, of);
    HU_TRY(bend_lines(layout, of));
    choose_main(layout);
    HU_TRY(make_grid(layout, &g));
    HU_TRY(sort_rows(&g));
    HU_TRY(place_rows(&g));
done:
    free_grid(&g);
    hu_free(of);
    return st;
}
