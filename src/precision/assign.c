#include "precision/assign.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "precision/tensor_set.h"

const hu_assignment_kind *const hu_assignment_table[] = {
#define ASSIGNMENT_ROW(identifier) &hu_assignment_##identifier,
    HU_ASSIGNMENT_LIST(ASSIGNMENT_ROW)
#undef ASSIGNMENT_ROW
};
const int hu_assignment_count = sizeof hu_assignment_table / sizeof *hu_assignment_table;

/* The name ends at the first colon; the rest is the argument of the kind. */
hu_status hu_assignment_parse(const char *text, hu_assignment *assignment, bool *found) {
    size_t length = strcspn(text, ":");
    const char *argument = text[length] ? text + length + 1 : NULL;
    *assignment = (hu_assignment){0};
    *found = false;
    for (int k = 0; k < hu_assignment_count; k++) {
        const hu_assignment_kind *kind = hu_assignment_table[k];
        if (strlen(kind->name) != length || memcmp(kind->name, text, length) != 0) continue;
        *found = true;
        assignment->kind = kind;
        if (kind->parse) return kind->parse(argument, assignment);
        if (!argument) return HU_OK;
        return hu_fail(HU_ERR_PARSE, "found ':%s', expected '%s' alone", argument, kind->name);
    }
    return HU_OK;
}

static hu_status choose_none(const hu_assignment_task *task, hu_low_set *low) {
    (void)task, (void)low;
    return HU_OK;
}

static hu_status choose_all(const hu_assignment_task *task, hu_low_set *low) {
    for (hu_value_id v = 0; v < task->graph->value_count; v++)
        low->value[v] = low->gradient[v] = task->groups->of_value[v] != HU_NONE;
    return HU_OK;
}

const hu_assignment_kind hu_assignment_high = {
    .name = "high", .argument = "", .help = "all tensors high", .choose = choose_none};
const hu_assignment_kind hu_assignment_uniform = {
    .name = "uniform",
    .argument = "",
    .help = "all tensors low but the gradients of the parameters",
    .choose = choose_all};
const hu_assignment_kind hu_assignment_hfp8 = {
    .name = "hfp8",
    .argument = "",
    .help = "uniform by its usual name, hybrid 8 bits: other formats forward and backward",
    .choose = choose_all};

/* A low candidate that does not round is none: the tensor stays high. */
static const hu_quantizer *candidate(const hu_assignment_task *task, hu_role role, bool is_low) {
    const hu_quantizer *low = &task->low[role];
    return is_low && hu_quantizer_rounds(low) ? low : &task->high[role];
}

/* A value and its gradient move together, so that they are weighed together. */
int64_t hu_candidate_bits(const hu_assignment_task *task, hu_value_id v, bool value_low,
                          bool gradient_low) {
    const hu_value_info *value = &task->graph->value[v];
    bool is_param = value->role == HU_VALUE_PARAMETER;
    const hu_quantizer *here = candidate(task, is_param ? HU_ROLE_WEIGHT : HU_ROLE_ACT, value_low);
    const hu_quantizer *gradient =
        candidate(task, is_param ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD, gradient_low);
    return hu_tensor_bits(value, here, task->batch) + hu_tensor_bits(value, gradient, task->batch);
}
