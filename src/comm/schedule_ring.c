/* The ring: reduce-scatter and all-gather in 2 (p - 1) steps of n / p elements. Chunk c is added in
 * the order of the workers c, c + 1, ... */
#include "comm/list.h"

static int32_t pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

static void write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    hu_comm_group all = {.size = shape->workers, .index = rank, .stride = 1, .pieces = 1};
    hu_comm_ring_reduce(list, &all);
    hu_comm_ring_gather(list, &all, 1);
}

const hu_comm_schedule hu_comm_schedule_ring = {
    .name = "ring",
    .help = "partial sums travel around a ring; 2 (p - 1) steps",
    .adds_on_way = true,
    .pieces = pieces,
    .write = write};
