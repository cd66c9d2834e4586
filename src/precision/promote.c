#include "precision/promote.h"

static const hu_quantizer *high_of(const hu_precision *precision, const hu_value_info *value) {
    return &precision->high[value->role == HU_VALUE_PARAMETER ? HU_ROLE_WEIGHT : HU_ROLE_ACT];
}

uint32_t hu_precision_overflowing(const hu_precision *precision, const hu_graph *graph,
                                  const hu_edge_table *edges, hu_promotion *promotions) {
    uint32_t count = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_edge *edge = &edges->value[v];
        const hu_round_counts *counts = &edge->counts;
        uint64_t beyond = counts->overflow + counts->nan;
        const hu_quantizer *high = high_of(precision, &graph->value[v]);
        if (!beyond || hu_quantizer_bits(&edge->quantizer) >= hu_quantizer_bits(high)) continue;
        double share = (double)beyond / (double)counts->elements;
        if (share >= precision->promote_at)
            promotions[count++] = (hu_promotion){v, edge->quantizer, *high, share};
    }
    return count;
}

void hu_precision_promote(const hu_precision *precision, const hu_graph *graph, hu_value_id v,
                          hu_edge_table *edges) {
    edges->value[v].quantizer = *high_of(precision, &graph->value[v]);
}
