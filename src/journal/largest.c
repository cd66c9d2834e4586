#include "journal/largest.h"

#include <math.h>
#include <string.h>

#include "journal/history.h"
#include "tensor/exponent_histogram.h"

static void offer(hu_largest *largest, double magnitude, bool is_bound, int64_t step) {
    if (!(magnitude > largest->magnitude)) return;
    *largest = (hu_largest){magnitude, is_bound, step};
}

/* The end of a binade, which its numbers do not reach. */
static double bound_of(int32_t exponent) {
    return ldexp(1.0, exponent + 1) * (1.0 - 0x1p-24);
}

/* Tensors that are not rounded are counted where histograms are taken, and in some steps beside:
 * these matter where they reach another binade. */
static void search_rows(const hu_history *history, uint32_t tensor, hu_largest *largest) {
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count && !row->skipped; i++) {
            const hu_tensor_record *record = &row->tensor[i];
            int32_t exponent = record->counts.max_exponent;
            if (record->tensor != tensor || exponent == HU_NO_EXPONENT) continue;
            double bound = bound_of(exponent) / hu_history_loss_scale(history, row->step);
            bool rounds = strcmp(history->formats.name[record->format], "float32") != 0;
            if (!rounds && largest->magnitude > 0.0 && ilogb(bound) <= ilogb(largest->magnitude))
                continue;
            offer(largest, bound, true, row->step);
        }
    }
}

static void search_histograms(const hu_history *history, uint32_t tensor, hu_largest *largest) {
    for (size_t r = 0; r < history->histogram_count; r++) {
        const hu_histogram_record *record = &history->histograms[r];
        for (uint32_t i = 0; i < record->count; i++) {
            const hu_exponents *x = &record->tensor[i].exponents;
            int32_t top = hu_exponents_top(x);
            if (record->tensor[i].tensor != tensor || top == HU_NO_EXPONENT) continue;
            if (hu_history_was_skipped(history, record->step)) continue;
            bool is_known = x->largest > 0.0;
            offer(largest,
                  (is_known ? x->largest : bound_of(top)) /
                      hu_history_loss_scale(history, record->step),
                  !is_known, record->step);
        }
    }
}

void hu_history_largest(const hu_history *history, const hu_walk *walk,
                        hu_largest largest[HU_LARGEST_KINDS]) {
    char name[HU_TENSOR_NAME_BYTES];
    memset(largest, 0, HU_LARGEST_KINDS * sizeof *largest);
    for (uint32_t t = 0; t < walk->count; t++) {
        const hu_value_info *value = &walk->graph->value[walk->tensor[t].value];
        bool is_parameter = value->role == HU_VALUE_PARAMETER;
        if (walk->tensor[t].kind != HU_TENSOR_GRADIENT || !hu_is_rounded_kind(value)) continue;
        hu_tensor_name(walk->graph, walk->tensor[t], name);
        uint32_t tensor = hu_names_find(&history->tensors, name);
        if (tensor == HU_NAMES_NONE) continue;
        hu_largest *kind = &largest[is_parameter ? HU_LARGEST_PARAMETER : HU_LARGEST_ACT];
        search_histograms(history, tensor, kind);
        search_rows(history, tensor, kind);
    }
}

hu_largest hu_largest_of_all(const hu_largest largest[HU_LARGEST_KINDS]) {
    const hu_largest *act = &largest[HU_LARGEST_ACT], *rest = &largest[HU_LARGEST_PARAMETER];
    return act->magnitude >= rest->magnitude ? *act : *rest;
}
