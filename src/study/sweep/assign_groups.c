/* What is known of every group before the race, as a table and as JSON. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "render/table.h"
#include "sweep/search_report.h"

static double share_of(const hu_assign *assign, int64_t bits) {
    return hu_assign_share(assign, (double)bits);
}

/* "conv1.out and 3 more": the tensors of a group, in the order of the graph. */
static hu_status name_cell(const hu_assign *assign, uint32_t g, hu_table *table) {
    const char *first = "";
    uint32_t count = 0;
    for (hu_value_id v = 0; v < assign->graph->value_count; v++) {
        if (assign->groups.tensors.of_value[v] != g) continue;
        if (count++ == 0) first = assign->graph->value[v].name;
    }
    if (count < 2) return hu_table_cell(table, "%s", first);
    return hu_table_cell(table, "%s and %u more", first, count - 1);
}

/* Degrees between two updates. */
static double angle_of(double cosine) {
    const double half_phase = 180.0, pi = 3.14159265358979323846;
    return acos(fmax(-1.0, fmin(1.0, cosine))) * half_phase / pi;
}

static hu_status cost_cell(const hu_assign *assign, uint32_t g, hu_table *table) {
    const hu_assign_short_runs *made = &assign->short_runs;
    if (made->steps == 0) return hu_table_cell(table, "-");
    if (isnan(made->cost[g]))
        return hu_table_cell(table, assign->groups.trained[g] > 0.0 ? "diverged" : "not known");
    if (isnan(made->noise)) return hu_table_cell(table, "%+.4f", made->cost[g]);
    return hu_table_cell(table, "%+.4f +- %.4f", made->cost[g], made->noise);
}

static hu_status group_row(const hu_assign *assign, uint32_t g, hu_table *table) {
    hu_status st = HU_OK;
    const hu_search_groups *groups = &assign->groups;
    HU_TRY(hu_table_cell(table, "%u", g));
    HU_TRY(name_cell(assign, g, table));
    HU_TRY(hu_table_cell(table, "%.4f", share_of(assign, groups->saved[g])));
    HU_TRY(hu_table_cell(table, "%.4f", share_of(assign, groups->promoted[g])));
    HU_TRY(hu_table_cell(table, "%.2e", groups->rounding[g]));
    HU_TRY(hu_table_cell(table, "%.2e", groups->loss[g]));
    HU_TRY(hu_table_cell(table, "%.2e", groups->direction[g]));
    HU_TRY(hu_table_cell(table, "%.1f", angle_of(assign->cosine[g])));
    HU_TRY(cost_cell(assign, g, table));
done:
    return st;
}

hu_status hu_assign_print_groups(const hu_assign *assign, char **text) {
    static const char *const titles[] = {"group",    "tensors", "saves", "promoted",  "rounding",
                                         "gradient", "update",  "angle", "short runs"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    *text = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) HU_TRY(group_row(assign, g, table));
    HU_TRY(hu_table_print(table, text));
done:
    hu_table_free(table);
    return st;
}

void hu_assign_say_short_runs(const hu_assign *assign, char *text, size_t capacity) {
    const hu_assign_short_runs *made = &assign->short_runs;
    if (made->steps == 0)
        snprintf(text, capacity, "none: assign.short=%g leaves fewer than 2 steps for each of %u",
                 made->share, assign->groups.tensors.count + 1);
    else
        snprintf(
            text, capacity,
            "%d of %lld steps (assign.short=%g: %lld steps at most in all), each judged on "
            "%lld validation samples",
            made->runs, (long long)made->steps, made->share,
            (long long)(made->share * (double)assign->steps * (double)hu_keys_count(assign->seeds)),
            (long long)assign->dataset->validation.count);
}

/* ---- JSON ---- */

/* [groups]; empty where nothing was measured. */
static json_t *numbers(const hu_assign *assign, const double *number) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && assign->count > 0 && g < assign->groups.tensors.count; g++)
        json_array_append_new(list, hu_json_number(number[g]));
    return list;
}

static json_t *shares(const hu_assign *assign, const int64_t *bits) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && assign->count > 0 && g < assign->groups.tensors.count; g++)
        json_array_append_new(list, hu_json_number(share_of(assign, bits[g])));
    return list;
}

void hu_assign_put_groups(const hu_assign *assign, json_t *object) {
    const hu_search_groups *groups = &assign->groups;
    const hu_assign_short_runs *made = &assign->short_runs;
    json_object_set_new(object, "group_saves", shares(assign, groups->saved));
    json_object_set_new(object, "group_promoted", shares(assign, groups->promoted));
    json_object_set_new(object, "group_rounding", numbers(assign, groups->rounding));
    json_object_set_new(object, "group_losses", numbers(assign, groups->loss));
    json_object_set_new(object, "group_directions", numbers(assign, groups->direction));
    json_object_set_new(object, "group_cosines", numbers(assign, assign->cosine));
    json_object_set_new(object, "high_cosine", hu_json_number(assign->high_cosine));
    if (made->steps == 0) {
        json_object_set_new(object, "short_runs", json_null());
        return;
    }
    json_object_set_new(object, "short_runs",
                        json_pack("{s:i, s:I, s:o, s:o}", "count", made->runs, "steps",
                                  (json_int_t)made->steps, "costs", numbers(assign, made->cost),
                                  "noise", hu_json_number(made->noise)));
}
