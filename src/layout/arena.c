#include "layout/arena.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

enum { ALIGNMENT = 64 };

static int larger_first(const void *a, const void *b) {
    const hu_buffer *x = *(hu_buffer *const *)a, *y = *(hu_buffer *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static int lower_first(const void *a, const void *b) {
    const hu_buffer *x = *(hu_buffer *const *)a, *y = *(hu_buffer *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Lowest offset where buffer fits beside the placed ones it meets in time; near: room for that many
 * pointers. */
static size_t lowest_fit(const hu_buffer *buffer, hu_buffer *const *placed, uint32_t count,
                         hu_buffer **near) {
    uint32_t met = 0;
    size_t offset = 0;
    for (uint32_t i = 0; i < count; i++)
        if (hu_buffers_meet(placed[i], buffer)) near[met++] = placed[i];
    qsort(near, met, sizeof *near, lower_first);
    for (uint32_t i = 0; i < met; i++) {
        if (offset + buffer->bytes <= near[i]->offset) break;
        size_t end = hu_round_up(near[i]->offset + near[i]->bytes, ALIGNMENT);
        if (end > offset) offset = end;
    }
    return offset;
}

hu_status hu_arena_place(hu_buffer *buffers, uint32_t count, size_t *total) {
    hu_status st = HU_OK;
    void *order_block = NULL, *near_block = NULL;
    *total = 0;
    HU_TRY(hu_alloc_array(count, sizeof(hu_buffer *), &order_block));
    HU_TRY(hu_alloc_array(count, sizeof(hu_buffer *), &near_block));
    hu_buffer **order = order_block;
    for (uint32_t i = 0; i < count; i++) order[i] = &buffers[i];
    qsort(order, count, sizeof *order, larger_first);
    for (uint32_t i = 0; i < count; i++) {
        order[i]->offset = lowest_fit(order[i], order, i, near_block);
        size_t end = hu_round_up(order[i]->offset + order[i]->bytes, ALIGNMENT);
        if (end > *total) *total = end;
    }
done:
    hu_free(order_block);
    hu_free(near_block);
    return st;
}
