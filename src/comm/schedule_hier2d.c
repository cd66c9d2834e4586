/* Groups in two dimensions: 2 (k - 1) + 2 (p / k - 1) steps. Every member of a group owns a part of
 * the tensor, and the owners of the same part reduce it across the groups: no step carries more
 * than n / k elements. */
#include "comm/list.h"

static int32_t pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

static void write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    int32_t member = rank % shape->group, groups = shape->workers / shape->group;
    hu_comm_group inside = {.size = shape->group,
                            .index = member,
                            .first_rank = rank - member,
                            .stride = 1,
                            .pieces = groups};
    hu_comm_group across = {.size = groups,
                            .index = rank / shape->group,
                            .first_rank = member,
                            .stride = shape->group,
                            .first_piece = member * groups,
                            .pieces = 1};
    hu_comm_exchange(list, &inside, 0);
    if (shape->wide)
        hu_comm_exchange(list, &across, 1);
    else
        hu_comm_ring_reduce(list, &across);
    hu_comm_ring_gather(list, &across, shape->wide ? 0 : 1);
    hu_comm_ring_gather(list, &inside, 0);
}

const hu_comm_schedule hu_comm_schedule_hier2d = {
    .name = "hier2d",
    .help = "groups of K, and rings across them for each part; 2 (K - 1) + 2 (p / K - 1) steps",
    .has_groups = true,
    .pieces = pieces,
    .write = write};
