#include "comm/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

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

/* What stands behind the colon of "hier:16". */
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
