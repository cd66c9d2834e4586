#include "engine/findings.h"

#include <string.h>

#include "engine/learn.h"
#include "engine/scale.h"
#include "engine/state.h"
#include "kernel/gemm/counts.h"

typedef void counts_fn(hu_round_counts *counts, void *context);

/* Every record whose counts belong to passes, in one order. */
static void each_counts(const hu_run *run, counts_fn *each, void *context) {
    const hu_edge_table *edges = run->edges;
    for (uint32_t v = 0; v < edges->value_count; v++) {
        bool is_parameter = run->graph->value[v].role == HU_VALUE_PARAMETER;
        if (!is_parameter && hu_quantizer_rounds(&edges->value[v].quantizer))
            each(&edges->value[v].counts, context);
        if (hu_quantizer_rounds(&edges->grad_sum[v].quantizer))
            each(&edges->grad_sum[v].counts, context);
        if (hu_quantizer_rounds(&edges->grad_weights[v].quantizer))
            each(&edges->grad_weights[v].counts, context);
        if (hu_quantizer_rounds(&edges->wire[v].quantizer)) {
            each(&edges->wire[v].counts, context);
            each(&edges->wire_sum[v].counts, context);
        }
    }
    for (uint32_t u = 0; u < edges->use_count; u++) {
        if (hu_quantizer_rounds(&edges->use[u].quantizer)) each(&edges->use[u].counts, context);
        if (hu_quantizer_rounds(&edges->grad[u].quantizer)) each(&edges->grad[u].counts, context);
    }
}

static void count_one(hu_round_counts *counts, void *context) {
    (void)counts;
    ++*(size_t *)context;
}

/* Products count only where an accumulator was chosen; then in all processes. */
static size_t product_bytes(const hu_run *run) {
    return sizeof run->edges->products->counts * (size_t)run->graph->node_count;
}

size_t hu_findings_bytes(const hu_run *run) {
    size_t records = 0;
    each_counts(run, count_one, &records);
    return records * sizeof(hu_round_counts) + product_bytes(run) +
           hu_scale_tops(run) * sizeof(uint32_t) + hu_learn_bytes(run);
}

static void write_one(hu_round_counts *counts, void *context) {
    char **at = context;
    memcpy(*at, counts, sizeof *counts);
    *at += sizeof *counts;
}

void hu_findings_write(const hu_run *run, void *bytes) {
    char *at = bytes;
    each_counts(run, write_one, &at);
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        memcpy(at, run->edges->products[n].counts, sizeof run->edges->products[n].counts);
        at += sizeof run->edges->products[n].counts;
    }
    hu_scale_read_tops(run, at);
    hu_learn_write(run, at + hu_scale_tops(run) * sizeof(uint32_t));
}

static void clear_one(hu_round_counts *counts, void *context) {
    (void)context;
    hu_round_counts_clear(counts);
}

static void add_one(hu_round_counts *counts, void *context) {
    const char **at = context;
    hu_round_counts more;
    memcpy(&more, *at, sizeof more);
    hu_round_counts_add(counts, &more);
    *at += sizeof more;
}

static const char *add_products(hu_run *run, const char *at) {
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            hu_gemm_counts more;
            memcpy(&more, at, sizeof more);
            hu_gemm_counts_add(&run->edges->products[n].counts[r], &more);
            at += sizeof more;
        }
    return at;
}

void hu_findings_merge(hu_run *run, const void *all, int32_t rows) {
    size_t bytes = hu_findings_bytes(run);
    each_counts(run, clear_one, NULL);
    hu_learn_clear(run);
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        memset(run->edges->products[n].counts, 0, sizeof run->edges->products[n].counts);
    for (int32_t row = 0; row < rows; row++) {
        const char *at = (const char *)all + (size_t)row * bytes;
        each_counts(run, add_one, &at);
        at = add_products(run, at);
        hu_scale_raise_tops(run, at);
        hu_learn_add(run, at + hu_scale_tops(run) * sizeof(uint32_t));
    }
}
