/* Pairwise exchange: every worker owns one piece, gets it from all others, adds it in the order of
 * the workers, and the sums go around a ring. 2 (p - 1) steps of n / p elements. */
#include "comm/list.h"

static int32_t pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

static void write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    hu_comm_group all = {.size = shape->workers, .index = rank, .stride = 1, .pieces = 1};
    hu_comm_exchange(list, &all, 0);
    hu_comm_ring_gather(list, &all, 0);
}

const hu_comm_schedule hu_comm_schedule_pairwise = {
    .name = "pairwise",
    .help = "every worker adds one piece of all the others; 2 (p - 1) steps",
    .pieces = pieces,
    .write = write};
