/* One arena: buffers with lifetimes get offsets, largest first. */
#include "planner/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

enum { ALIGNMENT = 64, SHELF_ENTRIES = 128 };

/* What has its place. */
typedef struct entry {
    size_t offset, end; /* end: rounded up to where the next one may begin */
    hu_life life[HU_COURSES];
} entry;

/* Placed buffers in the order of their offsets are cut into shelves, so that one comes between two
 * others without moving all, and a shelf whose buffers all meet another one, and leave no gap that
 * it fits in, is passed in one step. Buffers that wait for the backward pass are such: a look at
 * each of them for each of them is what a plan of 20,000 nodes would take most of its time for. */
typedef struct shelf {
    struct shelf *next;
    uint32_t count;
    size_t end;              /* the largest */
    size_t gap;              /* the largest between the end of all before and an offset */
    hu_life any[HU_COURSES]; /* from the first beginning to the last end */
    hu_life all[HU_COURSES]; /* from the last beginning to the first end: of each of them */
    entry entry[SHELF_ENTRIES];
} shelf;

static int larger_first(const void *a, const void *b) {
    const hu_buffer *x = *(hu_buffer *const *)a, *y = *(hu_buffer *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static bool meets(const hu_life *a, const hu_life *b) {
    for (int c = 0; c < HU_COURSES; c++)
        if (a[c].first <= b[c].last && b[c].first <= a[c].last) return true;
    return false;
}

/* Bounds of a shelf's entries, after they have changed. */
static void measure(shelf *s) {
    s->end = s->gap = 0;
    for (int c = 0; c < HU_COURSES; c++) {
        s->any[c] = (hu_life){INT32_MAX, -1};
        s->all[c] = (hu_life){-1, INT32_MAX};
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const entry *e = &s->entry[i];
        if (i > 0 && e->offset > s->end && e->offset - s->end > s->gap) s->gap = e->offset - s->end;
        if (e->end > s->end) s->end = e->end;
        for (int c = 0; c < HU_COURSES; c++) {
            if (e->life[c].first < s->any[c].first) s->any[c].first = e->life[c].first;
            if (e->life[c].last > s->any[c].last) s->any[c].last = e->life[c].last;
            if (e->life[c].first > s->all[c].first) s->all[c].first = e->life[c].first;
            if (e->life[c].last < s->all[c].last) s->all[c].last = e->life[c].last;
        }
    }
}

/* Raises an offset over the entries of a shelf that a buffer meets; true: it fits before one. */
static bool fits_within(const shelf *s, const hu_buffer *buffer, size_t *offset) {
    for (uint32_t i = 0; i < s->count; i++) {
        const entry *e = &s->entry[i];
        if (*offset + buffer->bytes <= e->offset) return true;
        if (e->end > *offset && meets(e->life, buffer->life)) *offset = e->end;
    }
    return false;
}

/* Lowest offset where a buffer fits beside the placed ones it meets in time. One that lies beyond
 * the room that it would take is not met, nor is any after it. */
static size_t lowest_fit(const hu_buffer *buffer, const shelf *first) {
    size_t offset = 0;
    for (const shelf *s = first; s && s->count > 0; s = s->next) {
        if (offset + buffer->bytes <= s->entry[0].offset) break;
        if (s->end <= offset || !meets(s->any, buffer->life)) continue;
        if (meets(s->all, buffer->life) && buffer->bytes > s->gap)
            offset = s->end;
        else if (fits_within(s, buffer, &offset))
            break;
    }
    return offset;
}

/* The upper half of a full shelf moves to a new one behind it. */
static void split(shelf *full, shelf *fresh) {
    enum { HALF = SHELF_ENTRIES / 2 };
    memcpy(fresh->entry, full->entry + HALF, HALF * sizeof *full->entry);
    fresh->count = full->count = HALF;
    fresh->next = full->next;
    full->next = fresh;
    measure(full);
    measure(fresh);
}

static void insert(shelf *pool, uint32_t *used, const hu_buffer *buffer) {
    shelf *s = pool;
    while (s->next && s->next->entry[0].offset <= buffer->offset) s = s->next;
    if (s->count == SHELF_ENTRIES) {
        split(s, &pool[(*used)++]);
        if (s->next->entry[0].offset <= buffer->offset) s = s->next;
    }
    uint32_t place = s->count++;
    for (; place > 0 && s->entry[place - 1].offset > buffer->offset; place--)
        s->entry[place] = s->entry[place - 1];
    entry *made = &s->entry[place];
    *made = (entry){buffer->offset, hu_round_up(buffer->offset + buffer->bytes, ALIGNMENT), {{0}}};
    memcpy(made->life, buffer->life, sizeof made->life);
    measure(s);
}

hu_status hu_arena_place(hu_buffer *buffers, uint32_t count, size_t *total) {
    hu_status st = HU_OK;
    void *order_block = NULL, *shelf_block = NULL;
    /* All but the first are half full at least. */
    uint32_t used = 1, shelves = 1 + count / (SHELF_ENTRIES / 2);
    *total = 0;
    HU_TRY(hu_alloc_array(count, sizeof(hu_buffer *), &order_block));
    HU_TRY(hu_alloc_array(shelves, sizeof(shelf), &shelf_block));
    hu_buffer **order = order_block;
    for (uint32_t i = 0; i < count; i++) order[i] = &buffers[i];
    qsort(order, count, sizeof *order, larger_first);
    for (uint32_t i = 0; i < count; i++) {
        order[i]->offset = 0;
        if (order[i]->bytes == 0) continue; /* the last ones, in nobody's way */
        order[i]->offset = lowest_fit(order[i], shelf_block);
        insert(shelf_block, &used, order[i]);
        size_t end = hu_round_up(order[i]->offset + order[i]->bytes, ALIGNMENT);
        if (end > *total) *total = end;
    }
done:
    hu_free(order_block);
    hu_free(shelf_block);
    return st;
}
