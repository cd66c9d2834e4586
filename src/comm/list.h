/* comm/list.h - how schedules write their lists: single actions, and the phases that they share. */
#ifndef HU_COMM_LIST_H
#define HU_COMM_LIST_H
#include "comm/schedule.h"

/* Begins the next step: actions written from now on belong to it. All workers must begin as many.
 */
void hu_comm_list_step(hu_comm_list *list);

/* Actions of the present step. */
void hu_comm_list_add(hu_comm_list *list, hu_comm_action action);
void hu_comm_list_send(hu_comm_list *list, int32_t peer, int32_t first, int32_t count);
void hu_comm_list_receive(hu_comm_list *list, hu_comm_act act, int32_t peer, int32_t first,
                          int32_t count);

/* Workers among whom a phase runs, and the pieces that it is about. Member i is worker
 * first_rank + i stride and owns the pieces from first_piece + i pieces on. */
typedef struct hu_comm_group {
    int32_t size, index; /* members, and which of them writes its list */
    int32_t first_rank, stride;
    int32_t first_piece, pieces;
} hu_comm_group;

/* Rank of a member, and its first piece; members are counted around. */
int32_t hu_comm_member(const hu_comm_group *group, int32_t i);
int32_t hu_comm_piece_of(const hu_comm_group *group, int32_t i);

/* size - 1 steps: partial sums travel around. Member i ends with the sum of the pieces of i + 1;
 * the pieces of member c are added in the order c, c + 1, ... */
void hu_comm_ring_reduce(hu_comm_list *list, const hu_comm_group *group);

/* size - 1 steps: every member sends each other one the pieces that it owns. Owners then add all in
 * the order of the members. */
void hu_comm_exchange(hu_comm_list *list, const hu_comm_group *group, int32_t level);

/* size - 1 steps: member i has the pieces of i + shift and gets all others. */
void hu_comm_ring_gather(hu_comm_list *list, const hu_comm_group *group, int32_t shift);

/* size - 1 steps each: member 0 gets the pieces of all, or sends everyone its own. */
void hu_comm_gather(hu_comm_list *list, const hu_comm_group *group);
void hu_comm_scatter(hu_comm_list *list, const hu_comm_group *group);

#endif
