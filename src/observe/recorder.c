#include "observe/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct hu_recorder {
    FILE *file;
    char *path;
    bool is_first; /* of the tensors of a line */
};

hu_status hu_recorder_open(const char *path, hu_recorder **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    HU_TRY(hu_alloc(sizeof(hu_recorder), &block));
    hu_recorder *recorder = block;
    HU_TRY(hu_strdup(path, &recorder->path));
    recorder->file = fopen(path, "a");
    if (!recorder->file) st = hu_fail(HU_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    if (st != HU_OK) goto done;
    *result = recorder;
    block = NULL;
done:
    if (block) {
        hu_free(((hu_recorder *)block)->path);
        hu_free(block);
    }
    return st;
}

static void write_tensor(hu_recorder *recorder, const char *name, const char *suffix,
                         const hu_edge *edge) {
    const hu_round_counts *c = &edge->counts;
    char format[HU_QUANTIZER_BYTES];
    if (!hu_quantizer_rounds(&edge->quantizer) || c->elements == 0) return;
    hu_quantizer_print(&edge->quantizer, format, sizeof format);
    fprintf(recorder->file,
            "%s[\"%s%s\", \"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
            ", %" PRIu64 ", ",
            recorder->is_first ? "" : ", ", name, suffix, format, c->elements, c->overflow,
            c->underflow, c->subnormal, c->zero, c->nan);
    if (c->max_exponent == HU_NO_EXPONENT)
        fputs("null]", recorder->file);
    else
        fprintf(recorder->file, "%d]", c->max_exponent);
    recorder->is_first = false;
}

/* The gradient of a value: the contributions of all consumers, and their rounded sum. */
static void write_gradient(hu_recorder *recorder, const hu_graph *graph, const hu_edge_table *edges,
                           hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    hu_edge total;
    if (value->use_count == 0) return;
    total = edges->grad[value->uses[0]];
    for (uint32_t k = 1; k < value->use_count; k++)
        hu_round_counts_add(&total.counts, &edges->grad[value->uses[k]].counts);
    write_tensor(recorder, value->name, ".grad", &total);
    write_tensor(recorder, value->name, ".grad.sum", &edges->grad_sum[v]);
}

/* Products with a chosen accumulator, in a step that counted. */
static bool write_products(hu_recorder *recorder, const hu_graph *graph,
                           const hu_edge_table *edges) {
    bool is_first = true;
    for (uint32_t n = 0; n < edges->node_count; n++)
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            const hu_node_products *products = &edges->products[n];
            const hu_gemm_counts *c = &products->counts[r];
            char layer[HU_NAME_BYTES], text[128] = "";
            if (c->values == 0) continue;
            hu_graph_layer_name(graph, &graph->node[n], layer);
            hu_accumulator_print(&products->accumulation.accumulator[r], text, sizeof text);
            fprintf(recorder->file, "%s[\"%s.%s\", \"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                    is_first ? ", \"products\": [" : ", ", layer,
                    hu_product_role_name((hu_product_role)r), text, c->values, c->subnormal,
                    c->overflow);
            is_first = false;
        }
    return !is_first;
}

hu_status hu_recorder_step(hu_recorder *recorder, int64_t step, const hu_graph *graph,
                           const hu_edge_table *edges) {
    recorder->is_first = true;
    fprintf(recorder->file, "{\"step\": %" PRId64 ", \"tensors\": [", step);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        write_tensor(recorder, graph->value[v].name, "", &edges->value[v]);
        write_gradient(recorder, graph, edges, v);
    }
    fputs("]", recorder->file);
    if (write_products(recorder, graph, edges)) fputs("]", recorder->file);
    fputs("}\n", recorder->file);
    if (fflush(recorder->file) != 0 || ferror(recorder->file))
        return hu_fail(HU_ERR_IO, "%s: cannot write: %s", recorder->path, strerror(errno));
    return HU_OK;
}

hu_status hu_recorder_line(hu_recorder *recorder, const char *line) {
    fprintf(recorder->file, "%s\n", line);
    if (fflush(recorder->file) != 0 || ferror(recorder->file))
        return hu_fail(HU_ERR_IO, "%s: cannot write: %s", recorder->path, strerror(errno));
    return HU_OK;
}

hu_status hu_recorder_close(hu_recorder *recorder) {
    hu_status st = HU_OK;
    if (!recorder) return HU_OK;
    if (fclose(recorder->file) != 0)
        st = hu_fail(HU_ERR_IO, "%s: cannot write: %s", recorder->path, strerror(errno));
    hu_free(recorder->path);
    hu_free(recorder);
    return st;
}
