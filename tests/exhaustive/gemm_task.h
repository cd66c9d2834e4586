/* Random tasks of every kind that hu_gemm takes, with their memory, for the proof of the driver. */
#ifndef HU_TESTS_GEMM_TASK_H
#define HU_TESTS_GEMM_TASK_H
#include <halfulp/gemm.h>
#include <stdlib.h>

#include "gemm_data.h"

enum { TERMS_MOST = 4096, EXTENT_MOST = 200, VOLUME_MOST = 300000, GUARD = 16 };

/* A factor with its memory. */
typedef struct factor {
    hu_operand operand;
    hu_patches patches;
    hu_format format;
    hu_round_counts expected; /* of the reference */
    float *memory;
} factor;

typedef struct trial {
    hu_gemm_task task; /* c, operands' counts and counts are set by the run */
    factor a, b;
    float bias[EXTENT_MOST * 8];
    hu_gemm_counts expected_counts;
    float *expected;  /* [c_floats] with what must not be written */
    int64_t c_floats; /* of c's memory: the last row is complete, GUARD floats around */
} trial;

static const char *const trial_formats[] = {
    "e5m10", "e6m9", "e5m2", "e4m3",     "e8m7",      "e7m12",         "e8m21", "e8m22", "e8m23",
    "e7m23", "e2m1", "e2m0", "e4m3fnuz", "fp(4,3,4)", "e5m0:bias=140", "e3m16", "e8m10"};
static const char *const trial_options[] = {
    "", ":sub=n", ":ovf=sat", ":sub=n:ovf=sat", ":ovf=nan", ":sub=nearest", ":sub=nearest:ovf=sat"};

#define COUNT_OF(array) (int)(sizeof(array) / sizeof(array)[0])

static inline hu_format random_format(words *w) {
    char text[64];
    hu_format format;
    snprintf(text, sizeof text, "%s%s", trial_formats[between(w, 0, COUNT_OF(trial_formats) - 1)],
             trial_options[between(w, 0, COUNT_OF(trial_options) - 1)]);
    if (hu_format_parse(text, &format) != HU_OK) printf("%s\n", hu_last_error());
    return format;
}

static inline float *floats_of(int64_t count) {
    float *memory = aligned_alloc(64, ((size_t)count * sizeof(float) + 63) / 64 * 64);
    if (!memory) abort();
    return memory;
}

/* Geometry of patches; `up` and negative dilation as in the gradient of a convolution's input. */
static inline hu_patches random_patches(words *w) {
    hu_patches p = {.count = between(w, 1, 3),
                    .in_h = between(w, 1, 9),
                    .in_w = between(w, 1, 9),
                    .channels = log_uniform(w, 40),
                    .out_h = between(w, 1, 8),
                    .out_w = between(w, 1, 8),
                    .kernel_h = between(w, 1, 4),
                    .kernel_w = between(w, 1, 4),
                    .stride_h = between(w, 1, 3),
                    .stride_w = between(w, 1, 3),
                    .pad_h = between(w, -2, 4),
                    .pad_w = between(w, -2, 4),
                    .dilation_h = between(w, -2, 2),
                    .dilation_w = between(w, -2, 2),
                    .up_h = between(w, 1, 3),
                    .up_w = between(w, 1, 3)};
    p.pixel_stride = p.channels + between(w, 0, 3);
    return p;
}

/* Row i, [terms], of a matrix factor. */
static inline void put_row(factor *f, int64_t i, int64_t terms, const float *values) {
    const hu_operand *o = &f->operand;
    float *data = f->memory + (o->data - f->memory);
    for (int64_t k = 0; k < terms; k++) {
        int64_t run = o->inner ? k / o->inner : 0, rest = o->inner ? k % o->inner : k;
        data[i * o->stride + run * o->outer_stride + rest * o->k_stride] = values[k];
    }
}

static inline void open_matrix(words *w, factor *f, int64_t rows, int64_t terms) {
    hu_operand *o = &f->operand;
    int64_t floats;
    switch (between(w, 0, 3)) {
    case 0: /* rows of terms */
        o->k_stride = 1;
        o->stride = terms + between(w, 0, 5);
        floats = rows * o->stride;
        break;
    case 1: /* terms of rows */
        o->stride = 1;
        o->k_stride = rows + between(w, 0, 5);
        floats = terms * o->k_stride;
        break;
    case 2: /* every other number */
        o->k_stride = 2;
        o->stride = 2 * terms + between(w, 0, 5);
        floats = rows * o->stride;
        break;
    default: /* runs [terms / inner][inner][rows], the outer ones padded */
        o->inner = log_uniform(w, terms);
        o->stride = 1;
        o->k_stride = rows;
        o->outer_stride = o->inner * rows + between(w, 0, 5);
        floats = (terms / o->inner + 1) * o->outer_stride;
    }
    int64_t offset = between(w, 0, 15);
    f->memory = floats_of(floats + offset);
    for (int64_t i = 0; i < floats + offset; i++) f->memory[i] = NAN;
    o->data = f->memory + offset;
}

/* Images full of terms of one kind, NaN between the pixels. */
static inline void open_images(words *w, factor *f, const hu_format *kind_of) {
    static const int kinds[] = {DATA_GAUSSIAN, DATA_SPREAD, DATA_UNDERFLOW,
                                DATA_OVERFLOW, DATA_BITS,   DATA_NARROW};
    const hu_patches *p = &f->patches;
    int64_t pixels = p->count * p->in_h * p->in_w, offset = between(w, 0, 15);
    int kind = kinds[between(w, 0, COUNT_OF(kinds) - 1)];
    f->memory = floats_of(pixels * p->pixel_stride + offset);
    f->operand.data = f->memory + offset;
    for (int64_t i = 0; i < pixels * p->pixel_stride + offset; i++) f->memory[i] = NAN;
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        for (int64_t c = 0; c < p->channels; c++) {
            float ignored;
            make_term(w, kind_of, kind, c, &f->memory[offset + pixel * p->pixel_stride + c],
                      &ignored);
        }
}

/* Same terms for every row of a matrix beside images, paired terms otherwise: those of row r of a
 * and of b belong together. */
static inline void fill(words *w, trial *t) {
    static _Thread_local float x[TERMS_MOST], y[TERMS_MOST];
    const hu_gemm_task *task = &t->task;
    int64_t rows = task->m > task->n ? task->m : task->n;
    int is_uniform = (int)(word(w) % 2), kind = between(w, 0, DATA_KINDS - 1);
    for (int64_t r = 0; r < rows; r++) {
        if (is_uniform)
            for (int64_t k = 0; k < task->k; k++)
                make_term(w, &task->accumulator.format, kind, k, &x[k], &y[k]);
        else
            make_terms(w, &task->accumulator.format, task->k, x, y);
        if (r < task->m && !t->a.operand.patches) put_row(&t->a, r, task->k, x);
        if (r < task->n && !t->b.operand.patches) put_row(&t->b, r, task->k, y);
    }
}

/* A few infinities, NaNs and zeros among the numbers of a matrix. */
static inline void spoil(words *w, factor *f, int64_t rows, int64_t terms) {
    static const float specials[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f};
    float *data = f->memory + (f->operand.data - f->memory);
    if (f->operand.patches || f->operand.inner) return;
    for (int i = between(w, 1, 4); i > 0; i--) {
        int64_t row = between(w, 0, (int)rows - 1), k = between(w, 0, (int)terms - 1);
        data[row * f->operand.stride + k * f->operand.k_stride] = specials[word(w) % 5];
    }
}

static inline void choose_extents(words *w, trial *t) {
    hu_gemm_task *task = &t->task;
    int which = between(w, 0, 5); /* 0: patches in a, 1: in b */
    task->m = log_uniform(w, EXTENT_MOST);
    task->n = log_uniform(w, EXTENT_MOST);
    task->k = log_uniform(w, TERMS_MOST);
    if (which < 2) {
        factor *f = which == 0 ? &t->a : &t->b;
        hu_patches *p = &f->patches;
        *p = random_patches(w);
        f->operand.transposed = word(w) % 2;
        f->operand.patches = p;
        int64_t patches = p->count * p->out_h * p->out_w;
        int64_t columns = p->kernel_h * p->kernel_w * p->channels;
        *(which == 0 ? &task->m : &task->n) = f->operand.transposed ? columns : patches;
        task->k = f->operand.transposed ? patches : columns;
    }
    while (task->m * task->n * task->k > VOLUME_MOST) {
        int64_t *cut = which == 0 || (which != 1 && task->n > task->m) ? &task->n : &task->m;
        if (*cut == 1) break;
        *cut = (*cut + 1) / 2;
    }
}

static inline void choose_rounding(words *w, factor *f) {
    if (word(w) % 3 != 0) return;
    f->format = random_format(w);
    f->operand.format = &f->format;
    f->operand.rounding = (hu_rounding)between(w, 0, HU_ROUND_STOCHASTIC - 1);
}

/* The numbers of a tensor core beside its format: published ones, or any. */
static inline void choose_core(words *w, hu_accumulator *core) {
    static const int steps[] = {4, 8, 16, 32, 1, 64}, bits[] = {13, 23, 24, 25, 35, 45};
    bool is_usual = word(w) % 2;
    core->block = is_usual ? steps[word(w) % 6] : log_uniform(w, 256);
    core->align_bits = is_usual ? bits[word(w) % 6] : between(w, 1, 52);
    core->rounding = word(w) % 3 ? HU_ROUND_TOWARD_ZERO : HU_ROUND_NEAREST_EVEN;
    core->is_late = word(w) % 4 == 0;
    core->promote = word(w) % 3 ? 0 : core->block * between(w, 1, 9);
    for (int i = 0; i < 2; i++)
        core->least_exponent[i] = word(w) % 3   ? -126
                                  : word(w) % 2 ? between(w, -20, 0)
                                                : between(w, -149, 127);
    if (word(w) % 2) hu_format_parse(word(w) % 2 ? "e8m13" : "fp32", &core->format);
    core->format.subnormals = 1;
    core->format.underflow = HU_UNDERFLOW_FLUSH;
}

/* Trial number `index` of an accumulator's mode and semantics; the trial stays where it is. */
static inline void trial_open(trial *t, hu_mac mac, hu_semantics semantics, uint64_t index) {
    words w = words_of(1000 + (uint64_t)mac * 2 + semantics, index);
    hu_gemm_task *task = &t->task;
    *t = (trial){.task.threads = 1};
    task->accumulator = (hu_accumulator){.mac = mac,
                                         .semantics = semantics,
                                         .block = between(&w, 1, 20),
                                         .format = random_format(&w)};
    if (mac == HU_MAC_TC) choose_core(&w, &task->accumulator);
    choose_extents(&w, t);
    if (t->a.operand.patches)
        open_images(&w, &t->a, &task->accumulator.format);
    else
        open_matrix(&w, &t->a, task->m, task->k);
    if (t->b.operand.patches)
        open_images(&w, &t->b, &task->accumulator.format);
    else
        open_matrix(&w, &t->b, task->n, task->k);
    fill(&w, t);
    if (word(&w) % 8 == 0) spoil(&w, &t->a, task->m, task->k);
    if (word(&w) % 8 == 0) spoil(&w, &t->b, task->n, task->k);
    choose_rounding(&w, &t->a);
    choose_rounding(&w, &t->b);
    task->a = t->a.operand;
    task->b = t->b.operand;
    task->c_stride = task->n + between(&w, 0, 5);
    if (word(&w) % 4 == 0) task->bias = t->bias;
    for (int64_t j = 0; j < task->n; j++) t->bias[j] = gaussian(&w);
    t->c_floats = GUARD + task->m * task->c_stride + GUARD;
    t->expected = floats_of(t->c_floats);
}

/* A small product on the edge of a range proof, exact semantics: any widths, factors of so many
 * bits that products have about m + 1, 23 - m or 24, over few or many octaves, their last places at
 * that of the least subnormal, or their sums at the largest number, or in the middle. */
static inline void trial_open_edge(trial *t, hu_mac mac, uint64_t index) {
    words w = words_of(2000 + (uint64_t)mac, index);
    hu_gemm_task *task = &t->task;
    char text[64];
    *t = (trial){.task.threads = 1};
    task->accumulator.mac = mac;
    task->accumulator.block = word(&w) % 2 ? 8 : between(&w, 1, 60);
    snprintf(text, sizeof text, "e%dm%d%s", between(&w, 2, 8), between(&w, 0, 22),
             trial_options[word(&w) % 2]);
    if (hu_format_parse(text, &task->accumulator.format) != HU_OK) printf("%s\n", hu_last_error());
    if (mac == HU_MAC_TC) choose_core(&w, &task->accumulator);
    task->m = between(&w, 1, 7);
    task->n = between(&w, 1, 20);
    task->k = log_uniform(&w, 400);
    hu_format_limits limits = hu_format_limits_of(&task->accumulator.format);
    int m = task->accumulator.format.man_bits, octaves = 1 << between(&w, 0, 5);
    int centre = (const int[]){m + 1, 23 - m, 24, 52 - m}[word(&w) % 4];
    int bits = centre + between(&w, -1, 2), half = bits / 2 + between(&w, -2, 2);
    int last = (const int[]){limits.emin - m + between(&w, -2, 2) + octaves,
                             limits.emax - bits - ilogb((double)task->k) + between(&w, -1, 4),
                             -bits / 2}[word(&w) % 3];
    half = half < 1 ? 1 : half > 24 ? 24 : half;
    int rest = bits - half < 1 ? 1 : bits - half > 24 ? 24 : bits - half;
    open_matrix(&w, &t->a, task->m, task->k);
    open_matrix(&w, &t->b, task->n, task->k);
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < (side ? task->n : task->m); i++) {
            float row[TERMS_MOST];
            for (int64_t k = 0; k < task->k; k++)
                row[k] = scaled(signed_one(&w) * odd_number(&w, side ? rest : half),
                                (side ? last - last / 2 : last / 2 - between(&w, 0, octaves)));
            put_row(side ? &t->b : &t->a, i, task->k, row);
        }
    task->a = t->a.operand;
    task->b = t->b.operand;
    task->c_stride = task->n;
    t->c_floats = GUARD + task->m * task->c_stride + GUARD;
    t->expected = floats_of(t->c_floats);
}

static inline void trial_close(trial *t) {
    free(t->a.memory);
    free(t->b.memory);
    free(t->expected);
}

/* Terms from..to of an operand as one of its own; false where the layout does not allow it. */
static inline bool cut_terms(const hu_operand *whole, hu_patches *patches, int64_t from, int64_t to,
                             hu_operand *part) {
    *part = *whole;
    if (whole->patches) {
        const hu_patches *p = whole->patches;
        int64_t image = p->out_h * p->out_w;
        if (!whole->transposed || from % image != 0 || to % image != 0) return false;
        *patches = *p;
        patches->count = (to - from) / image;
        part->patches = patches;
        part->data += from / image * p->in_h * p->in_w * p->pixel_stride;
        return true;
    }
    if (whole->inner && from % whole->inner != 0) return false;
    part->data += whole->inner ? from / whole->inner * whole->outer_stride : from * whole->k_stride;
    return true;
}

#endif
