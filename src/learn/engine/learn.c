#include <string.h>

#include "base/bits.h"
#include "engine/chunk.h"
#include "format/value.h"
#include "kernel/reduce/channel.h"

/* Elements of a piece: a multiple of HU_LANES, and of 8, so that pieces of codes end at whole
 * bytes. */
enum { PIECE = 1024 };

uint32_t hu_residual_bits(const hu_slot *slot) {
    hu_quantizer_kind kind = slot->edge->quantizer.kind;
    bool has_spacing = kind == HU_QUANTIZER_UNIFORM || kind == HU_QUANTIZER_FLOAT;
    return slot->edge->learns && has_spacing ? slot->edge->residual_bits : 0;
}

size_t hu_residual_bytes(const hu_slot *slot, int64_t rows) {
    return hu_uniform_residual_bytes(hu_residual_bits(slot), (size_t)slot->elements) * (size_t)rows;
}

/* ---- the spacing of floats ---- */

/* Exponents of the least normal number, and of its spacing. */
typedef struct grid {
    int32_t least, man_bits;
} grid;

static grid grid_of(const hu_slot *slot) {
    const hu_format *format = &slot->storage.format;
    return (grid){hu_format_limits_of(format).emin, hu_format_precision(format)};
}

/* 2^n, of a normal number in double precision. */
static double power_of_two(int32_t n) {
    enum { BIAS = 1023, FRACTION = 52 };
    return hu_f64_of_bits((uint64_t)(n + BIAS) << FRACTION);
}

/* Exponent of the spacing at q, a number of the format. */
static int32_t spacing_at(grid g, float q) {
    enum { BIAS = 127, FRACTION = 23, EXPONENTS = 0xFF };
    int32_t exponent = (int32_t)(hu_f32_bits(q) >> FRACTION & EXPONENTS) - BIAS;
    return (exponent > g.least ? exponent : g.least) - g.man_bits;
}

/* ---- pieces ---- */

/* Residuals of n elements as they are: numbers beyond the largest float have more than 1/2, which
 * codes cut. */
static void measure(const hu_slot *slot, int64_t n, const float *x, const float *q, float *c) {
    if (slot->uniformer) {
        hu_uniform_residual_of(slot->uniformer, slot->scale[0], (size_t)n, x, c);
        return;
    }
    grid g = grid_of(slot);
    for (int64_t i = 0; i < n; i++)
        c[i] = (float)(((double)q[i] - (double)x[i]) * power_of_two(-spacing_at(g, q[i])));
}

/* Adds dq times residual times spacing of a piece of a row; the spacing of uniform numbers is the
 * same for all, and stays out. */
static void weigh_piece(const hu_slot *slot, int64_t at, int64_t n, const float *dq, const float *q,
                        const float *c, hu_lanes *lanes) {
    double term[PIECE];
    grid g;
    if (slot->uniformer) {
        hu_lanes_add_products(lanes, at, n, dq, c);
        return;
    }
    g = grid_of(slot);
    for (int64_t i = 0; i < n; i++)
        term[i] = (double)dq[i] * ((double)c[i] * power_of_two(spacing_at(g, q[i])));
    hu_lanes_add(lanes, at, n, term);
}

static void weigh_piece_exact(int64_t n, const float *dq, const float *q, const float *x,
                              double *term) {
    for (int64_t i = 0; i < n; i++) term[i] = (double)dq[i] * ((double)q[i] - (double)x[i]);
}

static int64_t piece_at(int64_t first, int64_t end) {
    return end - first < PIECE ? end - first : PIECE;
}

/* ---- rows ---- */

/* Rows whose codes end at a byte follow one another as one long row. */
static int64_t elements_of_phase(const hu_slot *slot, int64_t rows) {
    enum { BYTE_BITS = 8 };
    bool is_seamless = slot->elements * hu_residual_bits(slot) % BYTE_BITS == 0;
    return is_seamless ? rows * slot->elements : slot->elements;
}

/* Where the codes of element `at` after row `first` begin; at: of a piece. */
static unsigned char *codes_at(const hu_slot *slot, int64_t first, int64_t phase, int64_t at) {
    int64_t row = first + at / phase * phase / slot->elements;
    return slot->residuals + hu_residual_bytes(slot, row) +
           hu_uniform_residual_bytes(hu_residual_bits(slot), (size_t)(at % phase));
}

void hu_residual_keep(const hu_slot *slot, int64_t first, int64_t rows, const float *x,
                      const float *q) {
    float c[PIECE];
    uint32_t r = hu_residual_bits(slot);
    int64_t all = rows * slot->elements, phase = elements_of_phase(slot, rows);
    for (int64_t at = 0, n; at < all; at += n) {
        n = piece_at(at % phase, phase);
        measure(slot, n, x + at, q + at, c);
        hu_uniform_residual_pack(r, (size_t)n, c, codes_at(slot, first, phase, at));
    }
}

/* Residuals of n elements that were not kept, rounded as if they had been. */
static void round_piece(const hu_slot *slot, int64_t n, const float *x, const float *q, float *c) {
    uint8_t codes[PIECE];
    uint32_t r = hu_residual_bits(slot);
    measure(slot, n, x, q, c);
    hu_uniform_residual_pack(r, (size_t)n, c, codes);
    hu_uniform_residual_unpack(r, (size_t)n, codes, c);
}

/* The same of n elements, from Q - x as it is. */
static double residual_weigh_exact(int64_t n, const float *dq, const float *q, const float *x) {
    double term[PIECE];
    hu_lanes lanes = {{0.0}};
    for (int64_t at = 0; at < n; at += PIECE) {
        weigh_piece_exact(piece_at(at, n), dq + at, q + at, x + at, term);
        hu_lanes_add(&lanes, at, piece_at(at, n), term);
    }
    return hu_lanes_total(&lanes);
}

/* Sum over the elements of rows first .. of dq (Q - x), in double precision: element i of them is
 * added to sum i mod 16, in order, and these at the end. x: NULL where residuals were kept. */
static double residual_weigh(const hu_slot *slot, int64_t first, int64_t rows, const float *dq,
                             const float *q, const float *x) {
    float c[PIECE];
    hu_lanes lanes = {{0.0}};
    uint32_t r = hu_residual_bits(slot);
    int64_t all = rows * slot->elements, phase = elements_of_phase(slot, rows);
    if (r == 0) return residual_weigh_exact(all, dq, q, x);
    for (int64_t at = 0, n; at < all; at += n) {
        n = piece_at(at % phase, phase);
        if (x)
            round_piece(slot, n, x + at, q + at, c);
        else
            hu_uniform_residual_unpack(r, (size_t)n, codes_at(slot, first, phase, at), c);
        weigh_piece(slot, at, n, dq + at, q + at, c, &lanes);
    }
    return hu_lanes_total(&lanes) * (slot->uniformer ? (double)slot->scale[0].step : 1.0);
}

/* ---- The loss and the bits ---- */

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
        *learned += residual_weigh_exact(visit->count * hu_chunk_elements(visit, slot), dq, q, x);
    else
        *learned = residual_weigh(slot, visit->first, visit->count, dq, q, x);
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
        sum += residual_weigh_exact(n, dq + at, q, x + at);
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
