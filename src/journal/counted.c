#include "journal/counted.h"

#include <inttypes.h>

#include "journal/trouble.h"

static void write_product(hu_append *file, const char *layer, const hu_node_products *products,
                          int role, const char *separator) {
    char text[128] = "";
    const hu_gemm_counts *c = &products->counts[role];
    hu_accumulator_print(&products->accumulation.accumulator[role], text, sizeof text);
    hu_append_format(file,
                     "%s[\"%s.%s\", \"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                     ", %" PRIu64 "]",
                     separator, layer, hu_product_role_name((hu_product_role)role), text, c->values,
                     c->subnormal, c->overflow, c->terms, c->stalled);
}

void hu_counted_products_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges) {
    bool is_first = true;
    for (uint32_t n = 0; n < edges->node_count; n++)
        for (int role = 0; role < HU_PRODUCT_ROLES; role++) {
            char layer[HU_NAME_BYTES];
            if (edges->products[n].counts[role].values == 0) continue;
            hu_graph_layer_name(graph, &graph->node[n], layer);
            write_product(file, layer, &edges->products[n], role,
                          is_first ? ", \"products\": [" : ", ");
            is_first = false;
        }
    if (!is_first) hu_append_text(file, "]");
}

static bool is_in_trouble(const hu_node_products *products, int role) {
    const hu_gemm_counts *c = &products->counts[role];
    if (c->values == 0 || c->terms == 0) return false;
    double values = (double)c->values;
    return hu_sums_are_in_trouble(&products->accumulation.accumulator[role],
                                  (double)c->overflow / values, (double)c->subnormal / values,
                                  (double)c->stalled / (double)c->terms);
}

bool hu_counted_products_trouble(const hu_edge_table *edges, uint8_t *failed) {
    bool is_new = false;
    for (uint32_t n = 0; n < edges->node_count; n++)
        for (int role = 0; role < HU_PRODUCT_ROLES; role++) {
            uint8_t *mark = &failed[n * HU_PRODUCT_ROLES + (uint32_t)role];
            if (*mark || !is_in_trouble(&edges->products[n], role)) continue;
            *mark = 1;
            is_new = true;
        }
    return is_new;
}

void hu_counted_updates_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges) {
    bool is_first = true;
    for (hu_value_id v = 0; v < edges->value_count; v++) {
        const hu_update_counts *update = &edges->value[v].update;
        if (update->asked == 0) continue;
        hu_append_format(file, "%s[\"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                         is_first ? ", \"updates\": [" : ", ", graph->value[v].name, update->asked,
                         update->lost, update->small);
        is_first = false;
    }
    if (!is_first) hu_append_text(file, "]");
}
