#include "graph/edge.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "format/value.h"

static hu_status create_edges(uint32_t count, hu_edge **edges) {
    void *block;
    hu_status st = hu_alloc_array(count, sizeof(hu_edge), &block);
    *edges = block;
    return st;
}

/* X(array of hu_factors, its length in the table). */
#define FACTOR_LIST(X)                                                                             \
    X(made, value_count)                                                                           \
    X(read, use_count)                                                                             \
    X(given, use_count)                                                                            \
    X(held, value_count)                                                                           \
    X(drawn, value_count)                                                                          \
    X(start, value_count)

static hu_status create_factors(hu_edge_table *edges) {
    hu_status st = HU_OK;
#define CREATE(name, count) HU_TRY(HU_NEW_ARRAY(&edges->factors.name, edges->count));
    FACTOR_LIST(CREATE)
#undef CREATE
    hu_edge_table_unscale(edges);
done:
    return st;
}

void hu_edge_table_unscale(hu_edge_table *edges) {
    hu_factors *factors = &edges->factors;
    factors->any = false;
    for (uint32_t v = 0; v < edges->value_count; v++) {
        factors->made[v] = 1.0f;
        factors->held[v] = factors->drawn[v] = factors->start[v] = 1.0;
    }
    for (uint32_t u = 0; u < edges->use_count; u++) factors->read[u] = factors->given[u] = 1.0f;
}

static void free_factors(hu_factors *factors) {
#define FREE(name, count) hu_free(factors->name);
    FACTOR_LIST(FREE)
#undef FREE
}

static void copy_factors(const hu_edge_table *from, hu_edge_table *to) {
    to->factors.any = from->factors.any;
#define COPY(name, count)                                                                          \
    memcpy(to->factors.name, from->factors.name, from->count * sizeof *to->factors.name);
    FACTOR_LIST(COPY)
#undef COPY
}

hu_status hu_edge_table_create(const hu_graph *graph, hu_edge_table *edges) {
    hu_status st = HU_OK;
    enum { USUAL_LOW_BITS = 8 };
    *edges = (hu_edge_table){.value_count = graph->value_count, .use_count = graph->use_count};
    for (int r = 0; r < HU_LOW_KINDS; r++) edges->low_bits[r] = USUAL_LOW_BITS;
    HU_TRY(create_edges(edges->value_count, &edges->value));
    HU_TRY(create_edges(edges->use_count, &edges->use));
    HU_TRY(create_edges(edges->use_count, &edges->grad));
    HU_TRY(create_edges(edges->value_count, &edges->grad_sum));
    HU_TRY(create_edges(edges->value_count, &edges->grad_weights));
    HU_TRY(create_edges(edges->value_count, &edges->wire));
    HU_TRY(create_edges(edges->value_count, &edges->wire_sum));
    for (int s = 0; s < HU_STATE_SORTS; s++)
        HU_TRY(create_edges(edges->value_count, &edges->state[s]));
    void *products;
    HU_TRY(hu_alloc_array(graph->node_count, sizeof(hu_node_products), &products));
    edges->products = products;
    edges->node_count = graph->node_count;
    HU_TRY(create_factors(edges));
    hu_edge_table_clear(edges);
done:
    if (st != HU_OK) hu_edge_table_free(edges);
    return st;
}

void hu_edge_table_free(hu_edge_table *edges) {
    hu_free(edges->value);
    hu_free(edges->use);
    hu_free(edges->grad);
    hu_free(edges->grad_sum);
    hu_free(edges->grad_weights);
    hu_free(edges->wire);
    hu_free(edges->wire_sum);
    for (int s = 0; s < HU_STATE_SORTS; s++) hu_free(edges->state[s]);
    hu_free(edges->products);
    free_factors(&edges->factors);
    *edges = (hu_edge_table){0};
}

static void copy_edges(hu_edge *to, const hu_edge *from, uint32_t count) {
    memcpy(to, from, count * sizeof *to);
}

void hu_edge_table_copy(const hu_edge_table *from, hu_edge_table *to) {
    copy_edges(to->value, from->value, from->value_count);
    copy_edges(to->use, from->use, from->use_count);
    copy_edges(to->grad, from->grad, from->use_count);
    copy_edges(to->grad_sum, from->grad_sum, from->value_count);
    copy_edges(to->grad_weights, from->grad_weights, from->value_count);
    copy_edges(to->wire, from->wire, from->value_count);
    copy_edges(to->wire_sum, from->wire_sum, from->value_count);
    for (int s = 0; s < HU_STATE_SORTS; s++)
        copy_edges(to->state[s], from->state[s], from->value_count);
    memcpy(to->has_state, from->has_state, sizeof to->has_state);
    memcpy(to->products, from->products, from->node_count * sizeof *to->products);
    memcpy(to->low_bits, from->low_bits, sizeof to->low_bits);
    to->has_wire = from->has_wire;
    to->has_apart = from->has_apart;
    to->has_operands = from->has_operands;
    copy_factors(from, to);
}

void hu_edge_table_clear(hu_edge_table *edges) {
    for (uint32_t v = 0; v < edges->value_count; v++) {
        hu_round_counts_clear(&edges->value[v].counts);
        edges->value[v].update = (hu_update_counts){0};
        edges->value[v].sensitivity = edges->value[v].of_workers = 0.0;
        hu_round_counts_clear(&edges->grad_sum[v].counts);
        hu_round_counts_clear(&edges->grad_weights[v].counts);
        hu_round_counts_clear(&edges->wire[v].counts);
        hu_round_counts_clear(&edges->wire_sum[v].counts);
        for (int s = 0; s < HU_STATE_SORTS; s++) {
            hu_round_counts_clear(&edges->state[s][v].counts);
            edges->state[s][v].exponents = NULL;
        }
    }
    for (uint32_t u = 0; u < edges->use_count; u++) {
        hu_round_counts_clear(&edges->use[u].counts);
        edges->use[u].sensitivity = edges->use[u].of_workers = 0.0;
        hu_round_counts_clear(&edges->grad[u].counts);
    }
    for (uint32_t n = 0; n < edges->node_count; n++) {
        for (int r = 0; r < HU_PRODUCT_ROLES; r++)
            edges->products[n].counts[r] = (hu_gemm_counts){0};
        for (int o = 0; o < HU_OPERANDS; o++) hu_round_counts_clear(&edges->products[n].rounded[o]);
    }
}

/* NaNs become what infinities become, and these have a code in every storage. */
static bool is_lee(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->format.nan == HU_NAN_OVERFLOWS;
}

bool hu_edge_nonfinite(const hu_quantizer *quantizer, const hu_round_counts *counts) {
    if (counts->nan && !is_lee(quantizer)) return true;
    if (!counts->overflow && !counts->nan) return false;
    switch (quantizer->kind) {
    case HU_QUANTIZER_NONE:
        return true;
    case HU_QUANTIZER_FLOAT:
        return quantizer->format.overflow != HU_OVERFLOW_SAT;
    default:
        return false; /* blocks saturate, uniform integers are cut to their range */
    }
}

bool hu_edge_unencodable(const hu_quantizer *quantizer, const hu_round_counts *counts) {
    /* Blocks have NaN in every format. A tensor with a NaN or an infinity has no range, and its
     * uniform integers are NaN in every storage; counts are not kept where ranges are not the
     * tensor's own. */
    if (quantizer->kind != HU_QUANTIZER_FLOAT) return false;
    const hu_format *format = &quantizer->format;
    bool has_nan = hu_format_has_nan(format), has_inf = hu_format_has_infinity(format);
    if (counts->nan && !has_nan && !is_lee(quantizer)) return true;
    if (!counts->overflow && !(counts->nan && is_lee(quantizer))) return false;
    if (format->overflow == HU_OVERFLOW_INF) return !has_inf && !is_lee(quantizer);
    return format->overflow == HU_OVERFLOW_NAN && !has_nan;
}
