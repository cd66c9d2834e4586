/* Masters and workers in groups of k: 4 (k - 1) + 2 (p / k - 1) steps. The group adds its gradients
 * in the order of its members (each member a part of the tensor) and gathers them at its first
 * member, the master; the masters reduce; each master spreads the result over its group.
 * Source: APS paper, section 3.4 and its count of steps; algorithms of additions as CPD. */
#include "comm/list.h"

/* Both the members of a group and the masters cut the tensor evenly. */
static int32_t pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

/* Float32 sums need an owner; narrow ones go around a ring. */
static void reduce_masters(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    int32_t groups = shape->workers / shape->group;
    hu_comm_group masters = {.size = groups,
                             .index = rank / shape->group,
                             .stride = shape->group,
                             .pieces = shape->group};
    if (rank % shape->group != 0) {
        list->steps += 2 * (groups - 1);
        return;
    }
    if (shape->wide)
        hu_comm_exchange(list, &masters, 1);
    else
        hu_comm_ring_reduce(list, &masters);
    hu_comm_ring_gather(list, &masters, shape->wide ? 0 : 1);
}

static void write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    int32_t member = rank % shape->group;
    hu_comm_group group = {.size = shape->group,
                           .index = member,
                           .first_rank = rank - member,
                           .stride = 1,
                           .pieces = shape->workers / shape->group};
    hu_comm_exchange(list, &group, 0);
    hu_comm_gather(list, &group);
    reduce_masters(shape, rank, list);
    hu_comm_scatter(list, &group);
    hu_comm_ring_gather(list, &group, 0);
}

const hu_comm_schedule hu_comm_schedule_hier = {
    .name = "hier",
    .help = "groups of K with a master each, a ring of masters; 4 (K - 1) + 2 (p / K - 1) steps",
    .has_groups = true,
    .pieces = pieces,
    .write = write};
