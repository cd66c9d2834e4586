/* Low what the user lists: the assignment of plan files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/assign.h"

/* "group:5" -> 5. */
static bool reads_group(const char *item, uint64_t *group) {
    static const char word[] = "group:";
    char *end;
    if (strncmp(item, word, sizeof word - 1) != 0) return false;
    const char *digits = item + sizeof word - 1;
    *group = strtoull(digits, &end, 10);
    return *digits && strspn(digits, "0123456789") == strlen(digits);
}

static bool matches(const char *item, hu_role role, const char *name) {
    return strcmp(item, hu_role_names[role]) == 0 || hu_glob_match(item, name);
}

/* Marks what the item means; returns how many tensors that were. */
static uint32_t mark(const hu_assignment_task *task, const char *item, hu_low_set *low) {
    uint32_t matched = 0;
    uint64_t group = 0;
    bool is_group = reads_group(item, &group);
    char gradient[HU_NAME_BYTES + sizeof ".grad"];
    for (hu_value_id v = 0; v < task->graph->value_count; v++) {
        const hu_value_info *value = &task->graph->value[v];
        if (task->groups->of_value[v] == HU_NONE) continue;
        bool is_param = value->role == HU_VALUE_PARAMETER;
        bool in_group = is_group && task->groups->of_value[v] == group;
        snprintf(gradient, sizeof gradient, "%s.grad", value->name);
        bool here = in_group || matches(item, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value->name);
        bool there =
            in_group || matches(item, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, gradient);
        low->value[v] |= here;
        low->gradient[v] |= there;
        matched += here || there;
    }
    return matched;
}

/* An item that means nothing is a mistake: groups are told their range, names the nearest. */
static hu_status missing(const hu_assignment_task *task, const char *item) {
    char nearest[512];
    void *block;
    uint64_t group;
    size_t count = 0;
    if (reads_group(item, &group))
        return hu_fail(HU_ERR_UNKNOWN,
                       "precision.low_tensors: found '%s', expected group:0 to "
                       "group:%u",
                       item, (unsigned)task->groups->count - 1);
    hu_status st = hu_alloc_array(task->graph->value_count, sizeof(char *), &block);
    if (st != HU_OK) return st;
    const char **names = block;
    for (hu_value_id v = 0; v < task->graph->value_count; v++)
        if (task->groups->of_value[v] != HU_NONE) names[count++] = task->graph->value[v].name;
    hu_nearest(item, names, count, nearest, sizeof nearest);
    hu_free(block);
    return hu_fail(HU_ERR_UNKNOWN,
                   "precision.low_tensors: '%s' matches no tensor; nearest names: %s", item,
                   nearest);
}

static hu_status choose(const hu_assignment_task *task, hu_low_set *low) {
    for (uint32_t i = 0; i < task->listed_count; i++)
        if (mark(task, task->listed[i], low) == 0) return missing(task, task->listed[i]);
    return HU_OK;
}

const hu_assignment_kind hu_assignment_listed = {
    .name = "listed",
    .argument = "",
    .help = "low the tensors of precision.low_tensors: names, globs, roles or group:N",
    .choose = choose};
