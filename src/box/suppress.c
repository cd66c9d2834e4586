#include "box/suppress.h"

static bool is_better(const hu_candidate *a, const hu_candidate *b) {
    return a->score > b->score || (a->score == b->score && a->index < b->index);
}

/* Moves a candidate down a heap whose worst one is at the front. */
static void sink(hu_candidate *list, int64_t count, int64_t at) {
    hu_candidate moved = list[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_better(&list[child], &list[child + 1])) child++;
        if (!is_better(&moved, &list[child])) break;
        list[at] = list[child];
        at = child;
    }
    list[at] = moved;
}

static void rise(hu_candidate *list, int64_t at) {
    hu_candidate moved = list[at];
    for (; at > 0 && is_better(&list[(at - 1) / 2], &moved); at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = moved;
}

void hu_candidates_add(hu_nms_candidates *c, double score, int64_t index) {
    hu_candidate made = {.score = score, .index = index};
    if (c->count < c->most) {
        c->list[c->count++] = made;
        rise(c->list, c->count - 1);
    } else if (c->most > 0 && is_better(&made, &c->list[0])) {
        c->list[0] = made;
        sink(c->list, c->count, 0);
    }
}

void hu_candidates_sort(hu_nms_candidates *c) {
    for (int64_t left = c->count - 1; left > 0; left--) {
        hu_candidate worst = c->list[0];
        c->list[0] = c->list[left];
        c->list[left] = worst;
        sink(c->list, left, 0);
    }
}

int64_t hu_candidates_suppress(hu_nms_candidates *c, double threshold) {
    int64_t kept = 0;
    for (int64_t i = 0; i < c->count; i++) {
        bool is_kept = true;
        for (int64_t k = 0; k < kept && is_kept; k++)
            is_kept = !(hu_box_iou(&c->list[i].box, &c->list[k].box) > threshold);
        if (is_kept) c->list[kept++] = c->list[i];
    }
    return c->count = kept;
}
