#include "engine/learn.h"

#include <string.h>

#include "engine/residual.h"
#include "engine/run.h"
#include "engine/value.h"

static int64_t most_chunks(const hu_run *run) {
    return (run->options.batch + run->options.chunk - 1) / run->options.chunk;
}

size_t hu_learn_partials(const hu_run *run) {
    bool any = false;
    for (uint32_t u = 0; run->use && u < run->graph->use_count; u++)
        any = any || run->use[u].edge->learns;
    return any ? (size_t)run->graph->use_count * (size_t)most_chunks(run) : 0;
}

bool hu_learns_input(const hu_run *run, uint32_t n, int i) {
    uint32_t use = run->graph->node[n].first_use + (uint32_t)i;
    return run->edges->use[use].learns && hu_quantizer_rounds(&run->edges->use[use].quantizer);
}

void hu_learn_input(hu_chunk *visit, uint32_t n, int i, const float *dq) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + (uint32_t)i;
    if (!hu_learns_input(run, n, i)) return;
    const hu_slot *slot = &run->use[use];
    bool is_kept = slot->residual != HU_NONE;
    const float *x = is_kept ? NULL : hu_chunk_value(visit, node->in[i]);
    const float *q = hu_chunk_input(visit, n, i, false);
    hu_chunk_touch(visit, slot->residual);
    if (run->rehearsal.is_on) return;
    double *learned = &run->learned[(int64_t)use * most_chunks(run) + visit->chunk];
    if (visit->loop)
        *learned +=
            hu_residual_weigh_exact(visit->count * hu_chunk_elements(visit, slot), dq, q, x);
    else
        *learned = hu_residual_weigh(slot, visit->first, visit->count, dq, q, x);
}

void hu_learn_begin_loop(const hu_chunk *visit, uint32_t n) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->learned && !run->rehearsal.is_on && i < node->n_in; i++)
        run->learned[(int64_t)(node->first_use + (uint32_t)i) * most_chunks(run) + visit->chunk] =
            0.0;
}

void hu_learn_collect(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->learned && i < node->n_in; i++) {
        uint32_t use = node->first_use + (uint32_t)i;
        const double *part = run->learned + (int64_t)use * most_chunks(run);
        hu_edge *edge = run->use[use].edge;
        double sum = 0.0;
        if (!hu_learns_input(run, n, i) || !hu_is_step(run)) continue;
        for (int64_t c = 0; c < run->chunks; c++) sum += part[c];
        edge->sensitivity += sum;
    }
}

void hu_learn_parameter(hu_run *run, hu_value_id param, const float *dq) {
    enum { PART = 4096 };
    const hu_slot *slot = &run->value[param];
    const float *x = hu_weights_of(run->weights, param);
    float room[PART];
    double sum = 0.0;
    if (!slot->edge->learns || !hu_is_rounded_copy(slot) || !hu_is_step(run)) return;
    for (int64_t at = 0; at < slot->elements; at += PART) {
        int64_t n = slot->elements - at < PART ? slot->elements - at : PART;
        const float *q = hu_storage_read_part(&slot->storage, slot->data, at, n, room);
        sum += hu_residual_weigh_exact(n, dq + at, q, x + at);
    }
    slot->edge->sensitivity += sum;
}

/* ---- several workers ---- */

/* Calls each for every record that learns, in one order. */
static void each_learned(const hu_run *run, void (*each)(hu_edge *edge, void *context),
                         void *context) {
    const hu_edge_table *edges = run->edges;
    for (uint32_t v = 0; v < edges->value_count; v++)
        if (edges->value[v].learns) each(&edges->value[v], context);
    for (uint32_t u = 0; u < edges->use_count; u++)
        if (edges->use[u].learns) each(&edges->use[u], context);
}

static void end_one(hu_edge *edge, void *context) {
    (void)context;
    edge->of_workers += edge->sensitivity;
    edge->sensitivity = 0.0;
}

static void join_one(hu_edge *edge, void *context) {
    (void)context;
    edge->sensitivity = edge->of_workers;
    edge->of_workers = 0.0;
}

static void clear_one(hu_edge *edge, void *context) {
    (void)context;
    edge->of_workers = 0.0;
}

static void count_one(hu_edge *edge, void *context) {
    *(size_t *)context += sizeof edge->of_workers;
}

static void write_one(hu_edge *edge, void *context) {
    char **at = context;
    memcpy(*at, &edge->of_workers, sizeof edge->of_workers);
    *at += sizeof edge->of_workers;
}

static void add_one(hu_edge *edge, void *context) {
    const char **at = context;
    double more;
    memcpy(&more, *at, sizeof more);
    edge->of_workers += more;
    *at += sizeof more;
}

void hu_learn_end_worker(hu_run *run) {
    each_learned(run, end_one, NULL);
}

void hu_learn_join(hu_run *run) {
    each_learned(run, join_one, NULL);
}

size_t hu_learn_bytes(const hu_run *run) {
    size_t bytes = 0;
    each_learned(run, count_one, &bytes);
    return bytes;
}

void hu_learn_write(const hu_run *run, void *bytes) {
    each_learned(run, write_one, &bytes);
}

void hu_learn_clear(hu_run *run) {
    each_learned(run, clear_one, NULL);
}

void hu_learn_add(hu_run *run, const void *bytes) {
    each_learned(run, add_one, &bytes);
}
