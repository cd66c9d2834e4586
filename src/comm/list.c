#include "comm/list.h"

#include "base/memory.h"

void hu_comm_list_step(hu_comm_list *list) {
    list->steps++;
}

void hu_comm_list_add(hu_comm_list *list, hu_comm_action action) {
    if (list->status != HU_OK) return;
    list->status =
        hu_grow(&list->action, (size_t)list->count, &list->capacity, sizeof *list->action);
    if (list->status != HU_OK) return;
    action.step = list->steps - 1;
    list->action[list->count++] = action;
}

void hu_comm_list_send(hu_comm_list *list, int32_t peer, int32_t first, int32_t count) {
    hu_comm_list_add(
        list, (hu_comm_action){.act = HU_COMM_SEND, .peer = peer, .first = first, .count = count});
}

void hu_comm_list_receive(hu_comm_list *list, hu_comm_act act, int32_t peer, int32_t first,
                          int32_t count) {
    hu_comm_list_add(list,
                     (hu_comm_action){.act = act, .peer = peer, .first = first, .count = count});
}

/* i may lie one round below 0 or above size. */
static int32_t around(const hu_comm_group *group, int32_t i) {
    return (i % group->size + group->size) % group->size;
}

int32_t hu_comm_member(const hu_comm_group *group, int32_t i) {
    return group->first_rank + around(group, i) * group->stride;
}

int32_t hu_comm_piece_of(const hu_comm_group *group, int32_t i) {
    return group->first_piece + around(group, i) * group->pieces;
}

/* What goes around a ring in one step: the pieces of `sent` to the next member, those of the member
 * before from the one before. */
static void pass_on(hu_comm_list *list, const hu_comm_group *group, hu_comm_act act, int32_t sent) {
    int32_t i = group->index;
    hu_comm_list_step(list);
    hu_comm_list_send(list, hu_comm_member(group, i + 1), hu_comm_piece_of(group, sent),
                      group->pieces);
    hu_comm_list_receive(list, act, hu_comm_member(group, i - 1), hu_comm_piece_of(group, sent - 1),
                         group->pieces);
}

void hu_comm_ring_reduce(hu_comm_list *list, const hu_comm_group *group) {
    for (int32_t s = 0; s < group->size - 1; s++)
        pass_on(list, group, HU_COMM_ADD, group->index - s);
}

void hu_comm_ring_gather(hu_comm_list *list, const hu_comm_group *group, int32_t shift) {
    for (int32_t s = 0; s < group->size - 1; s++)
        pass_on(list, group, HU_COMM_TAKE, group->index + shift - s);
}

void hu_comm_exchange(hu_comm_list *list, const hu_comm_group *group, int32_t level) {
    int32_t i = group->index, own = hu_comm_piece_of(group, i);
    for (int32_t s = 1; s < group->size; s++) {
        hu_comm_list_step(list);
        hu_comm_list_send(list, hu_comm_member(group, i + s), hu_comm_piece_of(group, i + s),
                          group->pieces);
        hu_comm_list_add(list, (hu_comm_action){.act = HU_COMM_KEEP,
                                                .peer = hu_comm_member(group, i - s),
                                                .first = own,
                                                .count = group->pieces,
                                                .slot = around(group, i - s)});
    }
    hu_comm_list_add(list, (hu_comm_action){.act = HU_COMM_COMBINE,
                                            .first = own,
                                            .count = group->pieces,
                                            .slot = i,
                                            .slots = group->size,
                                            .level = level});
}

void hu_comm_gather(hu_comm_list *list, const hu_comm_group *group) {
    for (int32_t s = 1; s < group->size; s++) {
        hu_comm_list_step(list);
        int32_t piece = hu_comm_piece_of(group, s);
        if (group->index == s)
            hu_comm_list_send(list, group->first_rank, piece, group->pieces);
        else if (group->index == 0)
            hu_comm_list_receive(list, HU_COMM_TAKE, hu_comm_member(group, s), piece,
                                 group->pieces);
    }
}

void hu_comm_scatter(hu_comm_list *list, const hu_comm_group *group) {
    for (int32_t s = 1; s < group->size; s++) {
        hu_comm_list_step(list);
        int32_t piece = hu_comm_piece_of(group, s);
        if (group->index == 0)
            hu_comm_list_send(list, hu_comm_member(group, s), piece, group->pieces);
        else if (group->index == s)
            hu_comm_list_receive(list, HU_COMM_TAKE, group->first_rank, piece, group->pieces);
    }
}
