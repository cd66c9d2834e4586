#include "journal/history_plan.h"

#include "base/error.h"
#include "base/memory.h"

static hu_status make_array(size_t count, size_t bytes, void *array) {
    return hu_alloc_array(count, bytes, (void **)array);
}

static hu_status read_memory(const hu_place *place, json_t *object, hu_plan_record *plan) {
    hu_status st = HU_OK;
    const char *role;
    json_t *bytes;
    if (!json_is_object(object)) return hu_place_fail(place, "memory_bytes: expected an object");
    HU_TRY(make_array(json_object_size(object), sizeof *plan->memory, &plan->memory));
    json_object_foreach(object, role, bytes) {
        hu_plan_memory *memory = &plan->memory[plan->memory_count++];
        HU_TRY(hu_strdup(role, &memory->role));
        HU_TRY(hu_json_u64(place, bytes, role, &memory->bytes));
    }
done:
    return st;
}

static hu_status read_group(const hu_place *place, const json_t *object, hu_plan_group *group) {
    hu_status st = HU_OK;
    const char *text;
    size_t count;
    const json_t *tensors = json_object_get(object, "tensors");
    HU_TRY(hu_json_i64(place, json_object_get(object, "id"), "id", &group->id));
    HU_TRY(hu_json_i64(place, json_object_get(object, "elements"), "elements", &group->elements));
    HU_TRY(hu_json_f64(place, json_object_get(object, "share"), "share", &group->share));
    HU_TRY(hu_json_text(place, json_object_get(object, "precision"), "precision", &text));
    HU_TRY(hu_strdup(text, &group->precision));
    HU_TRY(hu_json_list(place, tensors, "tensors", &count));
    HU_TRY(make_array(count, sizeof *group->tensor, &group->tensor));
    for (size_t i = 0; i < count; i++) {
        HU_TRY(hu_json_text(place, json_array_get(tensors, i), "tensor", &text));
        HU_TRY(hu_strdup(text, &group->tensor[i]));
        group->tensor_count++;
    }
done:
    return st;
}

static hu_status read_groups(const hu_place *place, const json_t *list, hu_plan_record *plan) {
    hu_status st = HU_OK;
    size_t count;
    HU_TRY(hu_json_list(place, list, "groups", &count));
    HU_TRY(make_array(count, sizeof *plan->group, &plan->group));
    for (size_t i = 0; i < count; i++) {
        const json_t *object = json_array_get(list, i);
        if (!json_is_object(object)) return hu_place_fail(place, "groups: expected objects");
        plan->group_count++;
        HU_TRY(read_group(place, object, &plan->group[i]));
    }
done:
    return st;
}

hu_status hu_history_plan(const hu_place *place, const json_t *object, hu_plan_record **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    if (!json_is_object(object)) return hu_place_fail(place, "found no object, expected {...}");
    HU_TRY(hu_alloc(sizeof(hu_plan_record), &block));
    hu_plan_record *plan = block;
    HU_TRY(hu_json_i64(place, json_object_get(object, "tensor_elements"), "tensor_elements",
                       &plan->tensor_elements));
    HU_TRY(hu_json_f64(place, json_object_get(object, "low_precision_ratio"), "low_precision_ratio",
                       &plan->low_precision_ratio));
    HU_TRY(hu_json_i64(place, json_object_get(object, "model_aggregate_bits"),
                       "model_aggregate_bits", &plan->model_aggregate_bits));
    HU_TRY(read_memory(place, json_object_get(object, "memory_bytes"), plan));
    HU_TRY(read_groups(place, json_object_get(object, "groups"), plan));
    *result = plan;
    block = NULL;
done:
    hu_history_plan_free(block);
    return st;
}

static void free_group(hu_plan_group *group) {
    for (uint32_t i = 0; i < group->tensor_count; i++) hu_free(group->tensor[i]);
    hu_free(group->tensor);
    hu_free(group->precision);
}

void hu_history_plan_free(hu_plan_record *plan) {
    if (!plan) return;
    for (uint32_t i = 0; i < plan->memory_count; i++) hu_free(plan->memory[i].role);
    for (uint32_t i = 0; i < plan->group_count; i++) free_group(&plan->group[i]);
    hu_free(plan->memory);
    hu_free(plan->group);
    hu_free(plan);
}
