#include "comm/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/internal.h"

#define ADDRESS(identifier) &hu_comm_schedule_##identifier,
static const hu_comm_schedule *const schedules[] = {HU_COMM_SCHEDULE_LIST(ADDRESS)};
#undef ADDRESS
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

const hu_comm_schedule *hu_comm_schedule_at(size_t i) {
    return i < SCHEDULES ? schedules[i] : NULL;
}

/* They are few: all are told, as they are written. */
static hu_status unknown(const char *text) {
    char list[256] = "";
    for (size_t i = 0; i < SCHEDULES; i++) {
        size_t used = strlen(list);
        const char *before = i == 0 ? "" : i + 1 < SCHEDULES ? ", " : " or ";
        snprintf(list + used, sizeof list - used, "%s%s%s", before, schedules[i]->name,
                 schedules[i]->has_groups ? ":K" : "");
    }
    return hu_fail(HU_ERR_UNKNOWN, "schedule '%s': expected %s", text, list);
}

/* What stands after the colon of "hier:16". */
static hu_status parse_group(const char *text, const char *number, int32_t *group) {
    char *end;
    long value = strtol(number, &end, 10);
    if (end == number || *end != '\0' || value < 1 || value > INT32_MAX)
        return hu_fail(HU_ERR_PARSE, "schedule '%s': found group size '%s', expected 1 or more",
                       text, number);
    *group = (int32_t)value;
    return HU_OK;
}

hu_status hu_comm_schedule_parse(const char *text, const hu_comm_schedule **schedule,
                                 int32_t *group) {
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *schedule = NULL;
    *group = 0;
    for (size_t i = 0; i < SCHEDULES; i++)
        if (strlen(schedules[i]->name) == length && !memcmp(schedules[i]->name, text, length))
            *schedule = schedules[i];
    if (!*schedule) return unknown(text);
    if (colon && (*schedule)->has_groups) return parse_group(text, colon + 1, group);
    if (!colon && !(*schedule)->has_groups) return HU_OK;
    return (*schedule)->has_groups
               ? hu_fail(HU_ERR_PARSE,
                         "schedule '%s': found no group size, expected %s:K with K workers in a "
                         "group",
                         text, (*schedule)->name)
               : hu_fail(HU_ERR_PARSE,
                         "schedule '%s': found '%s', expected %s, which has no groups", text, colon,
                         (*schedule)->name);
}

void hu_comm_schedule_print(const hu_comm_schedule *schedule, int32_t group, char *text,
                            size_t capacity) {
    if (schedule->has_groups)
        snprintf(text, capacity, "%s:%d", schedule->name, group);
    else
        snprintf(text, capacity, "%s", schedule->name);
}

hu_status hu_comm_schedule_check(const hu_comm_schedule *schedule, const hu_comm_shape *shape) {
    if (shape->workers < 1)
        return hu_fail(HU_ERR_ARGUMENT, "found %d workers, expected 1 or more", shape->workers);
    if (schedule->has_groups && (shape->group < 1 || shape->workers % shape->group != 0))
        return hu_fail(HU_ERR_ARGUMENT,
                       "schedule %s:%d: found %d workers, expected a multiple of the group size %d",
                       schedule->name, shape->group, shape->workers, shape->group);
    if (shape->wide && schedule->adds_on_way)
        return hu_fail(HU_ERR_ARGUMENT,
                       "schedule %s: its partial sums travel, so that no worker can add them in "
                       "float32; expected seq, pairwise, hier:K or hier2d:K",
                       schedule->name);
    return HU_OK;
}

/* Gradients travel until a worker has combined or taken sums. */
static void mark_sums(hu_comm_list *list) {
    bool has_sums = false;
    for (int32_t a = 0; a < list->count; a++) {
        hu_comm_action *action = &list->action[a];
        has_sums |= action->act == HU_COMM_TAKE;
        action->is_sum = has_sums;
        has_sums |= action->act == HU_COMM_COMBINE;
    }
}

hu_status hu_comm_list_make(const hu_comm_schedule *schedule, const hu_comm_shape *shape,
                            int32_t rank, hu_comm_list *list) {
    *list = (hu_comm_list){.pieces = schedule->pieces(shape)};
    schedule->write(shape, rank, list);
    mark_sums(list);
    hu_status st = list->status;
    if (st != HU_OK) hu_comm_list_free(list);
    return st;
}

void hu_comm_list_free(hu_comm_list *list) {
    hu_free(list->action);
    *list = (hu_comm_list){0};
}

/* ---- list ---- */

/* How schedules write their lists: single actions, and the phases that they share. */

/* Workers among whom a phase runs, and the pieces that it is about. Member i is worker
 * first_rank + i stride and owns the pieces from first_piece + i pieces on. */
typedef struct hu_comm_group {
    int32_t size, index; /* members, and which of them writes its list */
    int32_t first_rank, stride;
    int32_t first_piece, pieces;
} hu_comm_group;

/* Begins the next step: actions written from now on belong to it. All workers must begin as many.
 */
static void hu_comm_list_step(hu_comm_list *list) {
    list->steps++;
}

/* Actions of the present step. */
static void hu_comm_list_add(hu_comm_list *list, hu_comm_action action) {
    if (list->status != HU_OK) return;
    list->status =
        hu_grow(&list->action, (size_t)list->count, &list->capacity, sizeof *list->action);
    if (list->status != HU_OK) return;
    action.step = list->steps - 1;
    list->action[list->count++] = action;
}

static void hu_comm_list_send(hu_comm_list *list, int32_t peer, int32_t first, int32_t count) {
    hu_comm_list_add(
        list, (hu_comm_action){.act = HU_COMM_SEND, .peer = peer, .first = first, .count = count});
}

static void hu_comm_list_receive(hu_comm_list *list, hu_comm_act act, int32_t peer, int32_t first,
                                 int32_t count) {
    hu_comm_list_add(list,
                     (hu_comm_action){.act = act, .peer = peer, .first = first, .count = count});
}

/* i may lie one round below 0 or above size. */
static int32_t around(const hu_comm_group *group, int32_t i) {
    return (i % group->size + group->size) % group->size;
}

/* Rank of a member, and its first piece; members are counted around. */
static int32_t hu_comm_member(const hu_comm_group *group, int32_t i) {
    return group->first_rank + around(group, i) * group->stride;
}

static int32_t hu_comm_piece_of(const hu_comm_group *group, int32_t i) {
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

/* size - 1 steps: partial sums travel around. Member i ends with the sum of the pieces of i + 1;
 * the pieces of member c are added in the order c, c + 1, ... */
static void hu_comm_ring_reduce(hu_comm_list *list, const hu_comm_group *group) {
    for (int32_t s = 0; s < group->size - 1; s++)
        pass_on(list, group, HU_COMM_ADD, group->index - s);
}

/* size - 1 steps: member i has the pieces of i + shift and gets all others. */
static void hu_comm_ring_gather(hu_comm_list *list, const hu_comm_group *group, int32_t shift) {
    for (int32_t s = 0; s < group->size - 1; s++)
        pass_on(list, group, HU_COMM_TAKE, group->index + shift - s);
}

/* size - 1 steps: every member sends each other one the pieces that it owns. Owners then add all in
 * the order of the members. */
static void hu_comm_exchange(hu_comm_list *list, const hu_comm_group *group, int32_t level) {
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

/* size - 1 steps each: member 0 gets the pieces of all, or sends everyone its own. */
static void hu_comm_gather(hu_comm_list *list, const hu_comm_group *group) {
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

static void hu_comm_scatter(hu_comm_list *list, const hu_comm_group *group) {
    for (int32_t s = 1; s < group->size; s++) {
        hu_comm_list_step(list);
        int32_t piece = hu_comm_piece_of(group, s);
        if (group->index == 0)
            hu_comm_list_send(list, hu_comm_member(group, s), piece, group->pieces);
        else if (group->index == s)
            hu_comm_list_receive(list, HU_COMM_TAKE, group->first_rank, piece, group->pieces);
    }
}

/* ---- schedule halving ---- */

/* Recursive halving and doubling: 2 log2(p) steps, halves of what is left. Workers beyond the
 * largest power of two hand their gradient to another one first and get the result last. */

/* Largest power of two that is not above the number of workers. */
static int32_t core_of(const hu_comm_shape *shape) {
    int32_t core = 1;
    while (core <= shape->workers / 2) core *= 2;
    return core;
}

static int32_t halving_pieces(const hu_comm_shape *shape) {
    return core_of(shape);
}

/* One step between the workers beyond the core and their partners in it. */
static void fold(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list, bool out) {
    int32_t core = core_of(shape), partner = rank < core ? rank + core : rank - core;
    if (shape->workers == core) return;
    hu_comm_list_step(list);
    if (partner >= shape->workers) return;
    if ((rank >= core) != out)
        hu_comm_list_send(list, partner, 0, core);
    else
        hu_comm_list_receive(list, out ? HU_COMM_TAKE : HU_COMM_ADD, partner, 0, core);
}

static void halving_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    int32_t core = core_of(shape), first = 0;
    bool inside = rank < core;
    fold(shape, rank, list, false);
    /* The worker keeps the half in which its own piece lies. */
    for (int32_t half = core / 2; half >= 1; half /= 2) {
        hu_comm_list_step(list);
        if (!inside) continue;
        int32_t upper = first + half;
        bool is_upper = (rank & half) != 0;
        hu_comm_list_send(list, rank ^ half, is_upper ? first : upper, half);
        if (is_upper) first = upper;
        hu_comm_list_receive(list, HU_COMM_ADD, rank ^ half, first, half);
    }
    for (int32_t half = 1; half < core; half *= 2) {
        hu_comm_list_step(list);
        if (!inside) continue;
        hu_comm_list_send(list, rank ^ half, first, half);
        hu_comm_list_receive(list, HU_COMM_TAKE, rank ^ half, first ^ half, half);
        first &= ~half;
    }
    fold(shape, rank, list, true);
}

const hu_comm_schedule hu_comm_schedule_halving = {
    .name = "halving",
    .help = "recursive halving and doubling; 2 log2(p) steps",
    .adds_on_way = true,
    .pieces = halving_pieces,
    .write = halving_write};

/* ---- schedule hier ---- */

/* Masters and workers in groups of k: 4 (k - 1) + 2 (p / k - 1) steps. The group adds its gradients
 * in the order of its members (each member a part of the tensor) and gathers them at its first
 * member, the master; the masters reduce; each master spreads the result over its group.
 * Source: APS paper, section 3.4 and its count of steps; algorithms of additions as CPD. */

/* Both the members of a group and the masters cut the tensor evenly. */
static int32_t hier_pieces(const hu_comm_shape *shape) {
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

static void hier_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
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
    .pieces = hier_pieces,
    .write = hier_write};

/* ---- schedule hier2d ---- */

/* Groups in two dimensions: 2 (k - 1) + 2 (p / k - 1) steps. Every member of a group owns a part of
 * the tensor, and the owners of the same part reduce it across the groups: no step carries more
 * than n / k elements. */

static int32_t hier2d_pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

static void hier2d_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
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
    .pieces = hier2d_pieces,
    .write = hier2d_write};

/* ---- schedule pairwise ---- */

/* Pairwise exchange: every worker owns one piece, gets it from all others, adds it in the order of
 * the workers, and the sums go around a ring. 2 (p - 1) steps of n / p elements. */

static int32_t pairwise_pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

static void pairwise_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    hu_comm_group all = {.size = shape->workers, .index = rank, .stride = 1, .pieces = 1};
    hu_comm_exchange(list, &all, 0);
    hu_comm_ring_gather(list, &all, 0);
}

const hu_comm_schedule hu_comm_schedule_pairwise = {
    .name = "pairwise",
    .help = "every worker adds one piece of all the others; 2 (p - 1) steps",
    .pieces = pairwise_pieces,
    .write = pairwise_write};

/* ---- schedule collective ---- */

/* Pairwise exchange as an all-to-all and an all-gather carry it: the same sums, but an owner's
 * reaches all others by one message, in one step. Not in the list of schedules: users know it as
 * pairwise, whose bits it has. */

static void collective_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    hu_comm_group all = {.size = shape->workers, .index = rank, .stride = 1, .pieces = 1};
    hu_comm_exchange(list, &all, 0);
    hu_comm_list_step(list);
    hu_comm_list_send(list, HU_COMM_EVERYONE, rank, 1);
    for (int32_t w = 0; w < shape->workers; w++)
        if (w != rank) hu_comm_list_receive(list, HU_COMM_TAKE, w, w, 1);
}

const hu_comm_schedule hu_comm_schedule_collective = {
    .name = "pairwise",
    .help = "pairwise, whose messages an all-to-all and an all-gather carry",
    .pieces = pairwise_pieces,
    .write = collective_write};

/* ---- schedule ring ---- */

/* The ring: reduce-scatter and all-gather in 2 (p - 1) steps of n / p elements. Chunk c is added in
 * the order of the workers c, c + 1, ... */

static int32_t ring_pieces(const hu_comm_shape *shape) {
    return shape->workers;
}

static void ring_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    hu_comm_group all = {.size = shape->workers, .index = rank, .stride = 1, .pieces = 1};
    hu_comm_ring_reduce(list, &all);
    hu_comm_ring_gather(list, &all, 1);
}

const hu_comm_schedule hu_comm_schedule_ring = {
    .name = "ring",
    .help = "partial sums travel around a ring; 2 (p - 1) steps",
    .adds_on_way = true,
    .pieces = ring_pieces,
    .write = ring_write};

/* ---- schedule seq ---- */

/* One after the other: worker 0 adds the gradients of all, from zero and in the order of the
 * workers, and sends everyone the sum. The order of the released CPD code, on one worker. */

static int32_t seq_pieces(const hu_comm_shape *shape) {
    (void)shape;
    return 1;
}

static void seq_write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
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
    .pieces = seq_pieces,
    .write = seq_write};
