#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "precision/assignment.h"

/* ---- assign demote ---- */

/* Demotion by group: the largest groups go low first, until the low-precision ratio or the memory
 * asked for is reached. Source: Lee et al., algorithm 1. */

static const char expected[] =
    "demote:R or demote:memory=S, R and S within 0..1, then :increasing, :random or :random:SEED";

/* Decreasing is the paper's; the others are its baselines. */
static hu_status parse_order(const char *text, hu_assignment *assignment) {
    static const char random[] = "random";
    char *end;
    if (strcmp(text, "decreasing") == 0) return HU_OK;
    assignment->order = HU_GROUPS_INCREASING;
    if (strcmp(text, "increasing") == 0) return HU_OK;
    assignment->order = HU_GROUPS_RANDOM;
    if (strcmp(text, random) == 0) return HU_OK;
    bool has_seed = strncmp(text, random, sizeof random - 1) == 0 && text[sizeof random - 1] == ':';
    const char *digits = has_seed ? text + sizeof random : "";
    errno = 0;
    assignment->seed = strtoull(digits, &end, 10);
    if (*digits && errno == 0 && strspn(digits, "0123456789") == strlen(digits)) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "found the order '%s', expected %s", text, expected);
}

/* "R[:ORDER]" or "memory=S[:ORDER]". */
static hu_status parse(const char *argument, hu_assignment *assignment) {
    static const char memory[] = "memory=";
    char *end;
    if (!argument) return hu_fail(HU_ERR_PARSE, "found no ratio, expected %s", expected);
    const char *number = argument;
    if (strncmp(argument, memory, sizeof memory - 1) == 0) {
        assignment->by_memory = true;
        number += sizeof memory - 1;
    }
    assignment->target = strtod(number, &end);
    bool is_number = end != number && (*end == '\0' || *end == ':') && *number != ' ';
    char share[HU_DECIMAL_BYTES], point[HU_DECIMAL_BYTES];
    snprintf(share, sizeof share, "%.*s", (int)strcspn(number, ":"), number);
    if (hu_decimal_has_comma(share, point))
        return hu_fail(HU_ERR_PARSE, "found '%s', expected a number with a point: %s", share,
                       point);
    if (!is_number) return hu_fail(HU_ERR_PARSE, "found '%s', expected %s", argument, expected);
    if (!(assignment->target >= 0.0 && assignment->target <= 1.0))
        return hu_fail(HU_ERR_ARGUMENT, "found %g, expected a number within 0..1",
                       assignment->target);
    return *end ? parse_order(end + 1, assignment) : HU_OK;
}

/* A random order is a function of its seed alone: the same on every machine. */
static void order_groups(const hu_assignment_task *task, uint32_t *order) {
    const hu_assignment *assignment = task->assignment;
    if (assignment->order == HU_GROUPS_RANDOM) {
        hu_random_key key = {assignment->seed, hu_stream_id("demote", ""), 0};
        hu_random_permutation(&key, task->groups->count, order);
        return;
    }
    hu_groups_by_size(task->groups, assignment->order == HU_GROUPS_INCREASING, order);
}

/* Demotes a group; gives the change of all bits. */
static int64_t demote(const hu_assignment_task *task, uint32_t group, hu_low_set *low) {
    int64_t change = 0;
    for (hu_value_id v = 0; v < task->graph->value_count; v++) {
        if (task->groups->of_value[v] != group) continue;
        change -= hu_candidate_bits(task, v, low->value[v], low->gradient[v]);
        low->value[v] = low->gradient[v] = true;
        change += hu_candidate_bits(task, v, low->value[v], low->gradient[v]);
    }
    return change;
}

/* Bits of all tensors of the set with what is low so far. */
static int64_t all_bits(const hu_assignment_task *task, const hu_low_set *low) {
    int64_t bits = 0;
    for (hu_value_id v = 0; v < task->graph->value_count; v++)
        if (task->groups->of_value[v] != HU_NONE)
            bits += hu_candidate_bits(task, v, low->value[v], low->gradient[v]);
    return bits;
}

/* The ratio counts the gradients of parameters with their groups, as the released code does. */
static hu_status choose(const hu_assignment_task *task, hu_low_set *low) {
    enum { FLOAT32_BITS = 32 };
    const hu_tensor_groups *groups = task->groups;
    const hu_assignment *assignment = task->assignment;
    /* Budgets in memory are shares of what float32 would take. */
    double plain = FLOAT32_BITS * (double)groups->all, target = assignment->target;
    int64_t bits = all_bits(task, low), demoted = 0;
    void *block;
    hu_status st = hu_alloc_array(groups->count, sizeof(uint32_t), &block);
    if (st != HU_OK) return st;
    uint32_t *order = block, done = 0;
    order_groups(task, order);
    for (; done < groups->count; done++) {
        double ratio = (double)demoted / (double)groups->all;
        if (assignment->by_memory ? (double)bits <= target * plain : ratio >= target) break;
        bits += demote(task, order[done], low);
        demoted += groups->elements[order[done]];
    }
    hu_free(order);
    if (assignment->by_memory && (double)bits > target * plain)
        return hu_fail(HU_ERR_ARGUMENT,
                       "demote: found memory=%g, expected at least %.4f: the share of float32's "
                       "bits with every group low",
                       target, ceil(1e4 * (double)bits / plain) / 1e4);
    return HU_OK;
}

const hu_assignment_kind hu_assignment_demote = {
    .name = "demote",
    .argument = "R|memory=S[:increasing|:random[:SEED]]",
    .help = "largest groups low until the ratio R of the elements is low, or S of float32's bits",
    .parse = parse,
    .choose = choose};
