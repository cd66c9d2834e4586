/* One after the other: worker 0 adds the gradients of all, from zero and in the order of the
 * workers, and sends everyone the sum. The order of the released CPD code, on one worker. */
#include "comm/list.h"

static int32_t pieces(const hu_comm_shape *shape) {
    (void)shape;
    return 1;
}

static void write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    for (int32_t s = 1; s < shape->workers; s++) {
        hu_comm_list_step(list);
        if (rank == s) hu_comm_list_send(list, 0, 0, 1);
        if (rank == 0)
            hu_comm_list_add(
                list, (hu_comm_action){.act = HU_COMM_KEEP, .peer = s, .count = 1, .slot = s});
    }
    if (rank == 0)
        hu_comm_list_add(
            list, (hu_comm_action){.act = HU_COMM_COMBINE, .count = 1, .slots = shape->workers});
    for (int32_t s = 1; s < shape->workers; s++) {
        hu_comm_list_step(list);
        if (rank == 0) hu_comm_list_send(list, s, 0, 1);
        if (rank == s) hu_comm_list_receive(list, HU_COMM_TAKE, 0, 0, 1);
    }
}

const hu_comm_schedule hu_comm_schedule_seq = {
    .name = "seq",
    .help = "worker 0 adds all in the order of the workers; 2 (p - 1) steps of whole tensors",
    .pieces = pieces,
    .write = write};
