#include "engine/chunk.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/gemm/operand.h"

/* ---- tally ---- */

/* The counts of the threads go to the edges, and stop a pass where a format could
 * not encode a number. */

void hu_tally_clear(hu_run *run) {
    for (int t = 0; t < run->options.threads; t++) {
        for (int k = 0; k < HU_LOSSES_MOST; k++) run->thread[t].units[k] = 0;
        for (uint32_t i = 0; i < hu_tally_count(run); i++) {
            hu_round_counts_clear(&run->thread[t].tally[i].counts);
            run->thread[t].tally[i].top = 0;
            run->thread[t].tally[i].low = INFINITY;
            run->thread[t].tally[i].high = -INFINITY;
        }
    }
}

void hu_tally_add(hu_run *run, hu_edge *edge, const hu_round_counts *counts, hu_value_id value,
                  uint32_t end) {
    bool in_gradient = end == HU_NONE;
    /* How nodes are joined decides which tensor is met first: the earliest node's is told. */
    bool is_earlier = !in_gradient && end > 0 && end <= run->counted_nodes;
    bool counts_pass = run->pass.training || run->pass.counts_all;
    if (counts_pass && !run->repeats) hu_round_counts_add(&edge->counts, counts);
    if (!hu_edge_unencodable(&edge->quantizer, counts)) return;
    if (run->overflowed && !is_earlier) return;
    if (!in_gradient) run->counted_nodes = end;
    run->overflowed = true;
    run->overflow_name = run->graph->value[value].name;
    run->overflow_in_gradient = in_gradient;
}

/* ---- numbers that are missing ---- */

/* Of a node in a loop: in every step that a sample takes part in. */
static uint64_t absent_in_steps(const hu_run *run, uint32_t n, const float **given) {
    const hu_node *node = &run->graph->node[n];
    const hu_loop *loop = hu_loop_of(run->graph, node);
    const float *lengths =
        loop->lengths == HU_NONE ? NULL : (const void *)run->value[loop->lengths].data;
    int64_t absent = 0;
    for (int64_t s = 0; s < run->pass.samples; s++) {
        int64_t steps = lengths ? hu_rows_of_length(lengths[s], loop->steps) : loop->steps;
        absent += steps * node->op->absent(&run->exec[n].info, run->pass.training, 1, given);
        for (int i = 0; i < node->n_in; i++)
            if (given[i]) given[i] += run->graph->value[node->in[i]].elements;
    }
    return (uint64_t)absent;
}

void hu_tally_note_absent(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    uint32_t before = node->n_in > 0 ? run->graph->value[node->in[0]].producer : HU_NONE;
    uint64_t absent = 0;
    if (node->op->absent) {
        const float **given = run->thread[0].call[n].in;
        hu_point_given(run, n, given);
        absent = node->loop == HU_NONE
                     ? (uint64_t)node->op->absent(&run->exec[n].info, run->pass.training,
                                                  run->pass.samples, given)
                     : absent_in_steps(run, n, given);
    } else if (node->op->keeps_absent && before != HU_NONE) {
        absent = run->exec[before].absent;
    }
    run->exec[n].absent = absent;
}

static uint64_t less(uint64_t n, uint64_t absent) {
    return n > absent ? n - absent : 0;
}

/* Numbers of a tensor that are missing: rows that are padding, and what the op that makes them
 * leaves out; outside of loops that lies in the same rows. */
typedef struct missing {
    bool is_padded;
    uint64_t absent, padding;
} missing;

static missing missing_of(const hu_run *run, const hu_tallied_numbers *of, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    uint32_t p = value->producer;
    missing m = {.is_padded = hu_has_padding(run, v) && !of->by_step};
    bool has_rows = m.is_padded && (p == HU_NONE || !hu_loop_at(run, p));
    if (m.is_padded) m.padding = hu_padding_elements(run, v);
    if (p != HU_NONE && value->output == 0 && !has_rows) m.absent = run->exec[p].absent;
    return m;
}

static void leave_out_of_histogram(hu_histogram *histogram, uint64_t absent) {
    histogram->elements = less(histogram->elements, absent);
    histogram->zero = less(histogram->zero, absent);
}

/* They were counted as exact zeros. records: they are in the tally's histogram too, still. */
static hu_round_counts sum_of_threads(const hu_run *run, uint32_t index, hu_value_id value,
                                      bool records) {
    const hu_tallied_numbers of = hu_tallied(run, index);
    const missing m = missing_of(run, &of, value);
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    for (int t = 0; t < run->options.threads; t++)
        hu_round_counts_add(&counts, &run->thread[t].tally[index].counts);
    if (m.is_padded) hu_padding_uncount(run, of.slot, value, &counts);
    counts.elements = less(counts.elements, m.absent);
    counts.zero = less(counts.zero, m.absent);
    if (records && run->records && !run->repeats)
        leave_out_of_histogram(&run->histogram[index], m.absent + m.padding);
    return counts;
}

hu_round_counts hu_tally_sum(const hu_run *run, uint32_t index, hu_value_id value) {
    return sum_of_threads(run, index, value, true);
}

void hu_tally_collect(hu_run *run, uint32_t index, hu_slot *slot, hu_value_id value,
                      bool in_gradient) {
    uint32_t producer = run->graph->value[value].producer;
    uint32_t end = in_gradient ? HU_NONE : producer == HU_NONE ? 0 : producer + 1;
    hu_rescale_finish(run, slot, index); /* rounds staged rows, and so counts them */
    /* The gradients of two inputs may be stored as one, which belongs to the first of them. */
    bool is_own = hu_tallied(run, index).slot == slot;
    hu_round_counts counts = sum_of_threads(run, index, value, is_own);
    hu_tally_add(run, slot->edge, &counts, value, end);
}

void hu_tally_collect_inputs(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->use && i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i, index = hu_tally_of_input(run, use);
        if (!hu_use_slot(run, use)) continue;
        hu_round_counts counts = hu_tally_sum(run, index, node->in[i]);
        hu_rescale_note(run, &run->use[use], index);
        hu_tally_add(run, run->use[use].edge, &counts, node->in[i], n);
    }
}

void hu_products_begin(hu_run *run, uint32_t n) {
    bool is_first = !run->pass.scan && !run->repeats, counts = run->pass.count_products && is_first;
    bool counts_operands = (run->pass.training || run->pass.counts_all) && is_first;
    for (int t = 0; t < run->options.threads; t++) {
        hu_thread *thread = &run->thread[t];
        for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++) {
            thread->call[m].product_counts = counts ? thread->product_counts[m] : NULL;
            thread->call[m].operand_counts = counts_operands ? thread->operand_counts[m] : NULL;
            for (int r = 0; r < HU_PRODUCT_ROLES; r++)
                thread->product_counts[m][r] = (hu_gemm_counts){0};
            for (int o = 0; o < HU_OPERANDS; o++)
                hu_round_counts_clear(&thread->operand_counts[m][o]);
        }
    }
}

void hu_products_collect(hu_run *run, uint32_t n) {
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++)
        for (int t = 0; t < run->options.threads; t++) {
            for (int r = 0; r < HU_PRODUCT_ROLES; r++)
                hu_gemm_counts_add(&run->edges->products[m].counts[r],
                                   &run->thread[t].product_counts[m][r]);
            for (int o = 0; o < HU_OPERANDS; o++)
                hu_round_counts_add(&run->edges->products[m].rounded[o],
                                    &run->thread[t].operand_counts[m][o]);
        }
}

/* ---- findings ---- */

/* What the passes of a step counted in one process, as bytes: so that all
 * processes of a training can know what they counted together, and decide alike.
 *
 * Counts of weights are left out: every process rounds the same ones.
 */

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
    for (uint32_t n = 0; n < edges->node_count; n++)
        for (int o = 0; o < HU_OPERANDS; o++)
            if (hu_quantizer_rounds(&edges->products[n].operands.quantizer[o]))
                each(&edges->products[n].rounded[o], context);
}

static void count_one(hu_round_counts *counts, void *context) {
    (void)counts;
    ++*(size_t *)context;
}

/* Products count only where an accumulator was chosen; then in all processes. */
static size_t product_bytes(const hu_run *run) {
    return sizeof run->edges->products->counts * (size_t)run->graph->node_count;
}

size_t hu_counters_bytes(const hu_run *run) {
    size_t records = 0;
    each_counts(run, count_one, &records);
    return records * sizeof(hu_round_counts) + product_bytes(run) +
           hu_tensor_scale_tops(run) * sizeof(uint32_t) + hu_learn_bytes(run);
}

static void write_one(hu_round_counts *counts, void *context) {
    char **at = context;
    memcpy(*at, counts, sizeof *counts);
    *at += sizeof *counts;
}

void hu_counters_write(const hu_run *run, void *bytes) {
    char *at = bytes;
    each_counts(run, write_one, &at);
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        memcpy(at, run->edges->products[n].counts, sizeof run->edges->products[n].counts);
        at += sizeof run->edges->products[n].counts;
    }
    hu_tensor_scale_read_tops(run, at);
    hu_learn_write(run, at + hu_tensor_scale_tops(run) * sizeof(uint32_t));
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

void hu_counters_merge(hu_run *run, const void *all, int32_t rows) {
    size_t bytes = hu_counters_bytes(run);
    each_counts(run, clear_one, NULL);
    hu_learn_clear(run);
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        memset(run->edges->products[n].counts, 0, sizeof run->edges->products[n].counts);
    for (int32_t row = 0; row < rows; row++) {
        const char *at = (const char *)all + (size_t)row * bytes;
        each_counts(run, add_one, &at);
        at = add_products(run, at);
        hu_tensor_scale_raise_tops(run, at);
        hu_learn_add(run, at + hu_tensor_scale_tops(run) * sizeof(uint32_t));
    }
}
