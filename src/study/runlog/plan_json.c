#include "runlog/plan_json.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"

/* What the tensors of a group have in common. */
typedef struct group_sum {
    int64_t bits;
    uint32_t low, high, plain; /* tensors, gradients included, those of parameters not */
    hu_value_id first, last;
} group_sum;

static void add_quantizer(const hu_edge_table *edges, const hu_quantizer *quantizer, hu_role role,
                          group_sum *sum) {
    if (!hu_quantizer_rounds(quantizer))
        sum->plain++;
    else if (hu_is_low(edges, quantizer, role))
        sum->low++;
    else
        sum->high++;
}

static group_sum sum_group(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                           const hu_tensor_groups *groups, uint32_t group) {
    group_sum sum = {.first = HU_NONE};
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (groups->of_value[v] != group) continue;
        const hu_value_info *value = &graph->value[v];
        const hu_quantizer *here = &edges->value[v].quantizer;
        const hu_quantizer *gradient = hu_precision_gradient(graph, edges, v);
        sum.bits += hu_tensor_bits(value, here, batch) + hu_tensor_bits(value, gradient, batch);
        add_quantizer(edges, here, hu_role_of(value, false), &sum);
        if (value->role != HU_VALUE_PARAMETER)
            add_quantizer(edges, gradient, HU_ROLE_ACT_GRAD, &sum);
        if (value->role == HU_VALUE_PARAMETER) continue;
        if (sum.first == HU_NONE) sum.first = v;
        sum.last = v;
    }
    return sum;
}

static const char *precision_word(const group_sum *sum) {
    int kinds = (sum->low > 0) + (sum->high > 0) + (sum->plain > 0);
    if (kinds != 1) return "mixed";
    return sum->low ? "low" : sum->high ? "high" : "float32";
}

static json_t *tensor_names(const hu_graph *graph, const hu_tensor_groups *groups, uint32_t group) {
    json_t *names = json_array();
    for (hu_value_id v = 0; names && v < graph->value_count; v++)
        if (groups->of_value[v] == group)
            json_array_append_new(names, json_string(graph->value[v].name));
    return names;
}

json_t *hu_plan_json(const hu_graph *graph, const hu_edge_table *edges, int64_t batch) {
    hu_tensor_groups groups;
    json_t *list = json_array();
    if (hu_tensor_groups_create(graph, edges, batch, &groups) != HU_OK) {
        json_decref(list);
        return NULL;
    }
    for (uint32_t g = 0; list && g < groups.count; g++) {
        group_sum sum = sum_group(graph, edges, batch, &groups, g);
        json_array_append_new(list,
                              json_pack("{s:i, s:I, s:o, s:s, s:I, s:o}", "id", (int)g, "elements",
                                        (json_int_t)groups.elements[g], "share",
                                        hu_json_number(hu_group_share(&groups, g)), "precision",
                                        precision_word(&sum), "bits", (json_int_t)sum.bits,
                                        "tensors", tensor_names(graph, &groups, g)));
    }
    hu_tensor_groups_free(&groups);
    return json_pack(
        "{s:I, s:o, s:I, s:o}", "tensor_elements",
        (json_int_t)hu_precision_tensor_elements(graph, edges, batch), "low_precision_ratio",
        hu_json_number(hu_precision_low_ratio(graph, edges, batch)), "model_aggregate_bits",
        (json_int_t)hu_precision_aggregate_bits(graph, edges, batch), "groups", list);
}

static json_t *phase_json(int64_t epoch, int64_t steps_per_epoch, const char *precision) {
    return json_pack("{s:I, s:I, s:s}", "epoch", (json_int_t)epoch, "step",
                     (json_int_t)(epoch * steps_per_epoch), "precision", precision);
}

/* A precision without phases is one phase, so that readers need no second way. */
json_t *hu_plan_phases_json(const hu_precision *precision, int64_t steps_per_epoch) {
    json_t *list = json_array();
    if (precision->phase_count == 0)
        json_array_append_new(list, phase_json(0, steps_per_epoch, precision->name));
    for (uint32_t p = 0; list && p < precision->phase_count; p++) {
        const hu_precision_phase *phase = &precision->phases[p];
        json_array_append_new(list,
                              phase_json(phase->epoch, steps_per_epoch, phase->precision.name));
    }
    return list;
}

/* Where a group stands in the order of demotion. */
static uint32_t place_of(const uint32_t *order, uint32_t group) {
    uint32_t place = 0;
    while (order[place] != group) place++;
    return place;
}

static hu_status group_row(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                           const hu_tensor_groups *groups, const uint32_t *order, uint32_t g,
                           hu_table *table) {
    hu_status st = HU_OK;
    const double mib = 8.0 * 1048576.0, percent = 100.0;
    char text[HU_GROUPED_BYTES];
    group_sum sum = sum_group(graph, edges, batch, groups, g);
    HU_TRY(hu_table_cell(table, "%u", g));
    HU_TRY(hu_table_cell(table, "%s", sum.first == HU_NONE ? "-" : graph->value[sum.first].name));
    HU_TRY(hu_table_cell(table, "%s", sum.first == HU_NONE ? "-" : graph->value[sum.last].name));
    HU_TRY(hu_table_cell(table, "%s", hu_grouped(groups->elements[g], text)));
    HU_TRY(hu_table_cell(table, "%.2f", percent * hu_group_share(groups, g)));
    HU_TRY(hu_table_cell(table, "%u", place_of(order, g) + 1));
    HU_TRY(hu_table_cell(table, "%s", precision_word(&sum)));
    HU_TRY(hu_table_cell(table, "%.2f", (double)sum.bits / mib));
done:
    return st;
}

hu_status hu_plan_groups_table(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                               hu_table **table) {
    static const char *const titles[] = {"group",   "from",    "to",        "elements",
                                         "share %", "by size", "precision", "MiB"};
    hu_status st = HU_OK;
    hu_tensor_groups groups = {0};
    void *order = NULL;
    *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    HU_TRY(hu_tensor_groups_create(graph, edges, batch, &groups));
    HU_TRY(hu_alloc_array(groups.count, sizeof(uint32_t), &order));
    hu_groups_by_size(&groups, false, order);
    for (uint32_t g = 0; g < groups.count; g++)
        HU_TRY(group_row(graph, edges, batch, &groups, order, g, *table));
done:
    hu_free(order);
    hu_tensor_groups_free(&groups);
    return st;
}

json_t *hu_ledger_json(const hu_ledger *ledger) {
    json_t *roles = json_object();
    uint64_t padding = ledger->arena_bytes; /* between buffers, where the arena is fullest */
    for (int r = 0; roles && r < HU_BUFFER_ROLE_COUNT; r++) {
        json_object_set_new(roles, hu_buffer_role_name((hu_buffer_role)r),
                            json_integer((json_int_t)ledger->arena[r]));
        padding -= ledger->arena[r];
    }
    json_object_set_new(roles, "padding", json_integer((json_int_t)padding));
    json_object_set_new(roles, "masters", json_integer((json_int_t)ledger->parameters));
    json_object_set_new(roles, "optimizer", json_integer((json_int_t)ledger->optimizer));
    if (ledger->workers > 0) /* of several */
        json_object_set_new(roles, "workers", json_integer((json_int_t)ledger->workers));
    json_object_set_new(roles, "arena", json_integer((json_int_t)ledger->arena_bytes));
    json_object_set_new(roles, "saved", json_integer((json_int_t)ledger->saved));
    json_object_set_new(roles, "total", json_integer((json_int_t)ledger->total));
    return roles;
}
