#include "diagnose/tensor_table.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/rules.h"

/* Sums over all records that have the tensor. */
static void take_records(const hu_history *history, uint32_t number, hu_tensor_table_row *tensor) {
    *tensor = (hu_tensor_table_row){.name = history->tensors.name[number]};
    hu_round_counts_clear(&tensor->counts);
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count; i++) {
            if (row->tensor[i].tensor != number) continue;
            hu_round_counts_add(&tensor->counts, &row->tensor[i].counts);
            tensor->format = history->formats.name[row->tensor[i].format];
        }
    }
}

hu_status hu_tensor_table_create(const hu_run_record *run, const char *glob,
                                 hu_tensor_table_row **tensor, uint32_t *count) {
    hu_status st = HU_OK;
    char name[HU_TENSOR_NAME_BYTES];
    *count = 0;
    HU_TRY(HU_NEW_ARRAY(tensor, (size_t)run->walk.count + 1));
    for (uint32_t i = 0; i < run->walk.count; i++) {
        hu_tensor_name(run->graph, run->walk.tensor[i], name);
        uint32_t number = hu_names_find(&run->history->tensors, name);
        if (number == HU_NAMES_NONE || !hu_glob_match(glob, name)) continue;
        take_records(run->history, number, &(*tensor)[*count]);
        *count += (*tensor)[*count].counts.elements > 0;
    }
    if (*count == 0)
        st = hu_fail(HU_ERR_UNKNOWN, "%s has counts of no tensor that '%.100s' names", run->folder,
                     glob);
done:
    if (st != HU_OK) {
        hu_free(*tensor);
        *tensor = NULL;
    }
    return st;
}

static double share(uint64_t count, const hu_round_counts *of) {
    return of->elements ? (double)count / (double)of->elements : 0.0;
}

/* "2^-20 .. 2^3"; "-": no nonzero finite number. */
static const char *exponents_of(const hu_round_counts *c, char text[48]) {
    if (c->max_exponent == HU_NO_EXPONENT)
        snprintf(text, 48, "-");
    else if (c->min_exponent == HU_NO_EXPONENT)
        snprintf(text, 48, "up to 2^%d", c->max_exponent);
    else
        snprintf(text, 48, "2^%d .. 2^%d", c->min_exponent, c->max_exponent);
    return text;
}

hu_status hu_tensor_table_table(const hu_tensor_table_row *tensor, uint32_t count,
                                hu_table **table) {
    static const char *const titles[] = {"tensor",     "format", "became zero %",
                                         "overflow %", "NaN %",  "magnitudes"};
    hu_status st = HU_OK;
    char text[48];
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (uint32_t i = 0; i < count; i++) {
        const hu_round_counts *c = &tensor[i].counts;
        HU_TRY(hu_table_cell(*table, "%s", tensor[i].name));
        HU_TRY(hu_table_cell(*table, "%s", tensor[i].format));
        HU_TRY(hu_table_cell(*table, "%.3g", 100.0 * share(c->underflow, c)));
        HU_TRY(hu_table_cell(*table, "%.3g", 100.0 * share(c->overflow, c)));
        HU_TRY(hu_table_cell(*table, "%.3g", 100.0 * share(c->nan, c)));
        HU_TRY(hu_table_cell(*table, "%s", exponents_of(c, text)));
    }
done:
    return st;
}

static json_t *exponent_json(int32_t exponent) {
    return exponent == HU_NO_EXPONENT ? json_null() : json_integer(exponent);
}

json_t *hu_tensor_table_json(const hu_tensor_table_row *tensor, uint32_t count) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const hu_round_counts *c = &tensor[i].counts;
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "tensor",
                                              tensor[i].name, "format", tensor[i].format,
                                              "elements", (json_int_t)c->elements, "underflow",
                                              hu_json_number(share(c->underflow, c)), "overflow",
                                              hu_json_number(share(c->overflow, c)), "nan",
                                              hu_json_number(share(c->nan, c)), "max_exponent",
                                              exponent_json(c->max_exponent), "min_exponent",
                                              exponent_json(c->min_exponent)));
    }
    return list;
}
