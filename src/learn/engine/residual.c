#include "engine/residual.h"

#include "base/bits.h"
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
    return (grid){1 - format->bias, format->man_bits};
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

/* Where the codes of element `at` behind row `first` begin; at: of a piece. */
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

double hu_residual_weigh(const hu_slot *slot, int64_t first, int64_t rows, const float *dq,
                         const float *q, const float *x) {
    float c[PIECE];
    hu_lanes lanes = {{0.0}};
    uint32_t r = hu_residual_bits(slot);
    int64_t all = rows * slot->elements, phase = elements_of_phase(slot, rows);
    if (r == 0) return hu_residual_weigh_exact(all, dq, q, x);
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

double hu_residual_weigh_exact(int64_t n, const float *dq, const float *q, const float *x) {
    double term[PIECE];
    hu_lanes lanes = {{0.0}};
    for (int64_t at = 0; at < n; at += PIECE) {
        weigh_piece_exact(piece_at(at, n), dq + at, q + at, x + at, term);
        hu_lanes_add(&lanes, at, piece_at(at, n), term);
    }
    return hu_lanes_total(&lanes);
}
