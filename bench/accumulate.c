/* Products of attention and of a recurrence with a chosen accumulator beside the same in float32.
 *
 *   cmake --build build --target bench-accumulate
 *   build/bench-accumulate [ACCUMULATOR [ROWS]]       fmac8:1/6/9 and 64
 *
 * Attention: four heads of 32 numbers, ROWS rows that see all or, causal, the keys up to their own;
 * the three products of product/batched_matmul.h. Recurrence: the products of 32 samples in one
 * step of an LSTM of 128 cells, forward and for the gradient of the state. Both sides go through
 * the doors that operations use, in turns; seconds are processor time, and the least of all turns
 * counts. The ratio to hold it against: `halfulp bench kernel=gemm` with m, n and k of the line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"

#include "base/memory.h"
#include "base/rng.h"
#include "product/batched_matmul.h"
#include "product/product.h"

enum { HEADS = 4, DEPTH = 32, SAMPLES = 32, CELLS = 128, GATES = 4 * CELLS, TURNS = 12 };

/* Seconds that a turn takes, at least. */
static const double turn = 0.02;

static float *drawn(int64_t count, uint64_t stream) {
    const hu_random_key key = {1, stream, 0};
    void *block;
    must(hu_alloc_array((size_t)count, sizeof(float), &block));
    float *x = block;
    for (int64_t i = 0; i < count; i++) x[i] = hu_random_normal(&key, (uint64_t)i);
    return x;
}

/* Something that is timed. */
typedef void action(const void *context);

/* Seconds of one call, the mean over a turn. */
static double time_of(action *run, const void *context) {
    double begin = seconds(), now = begin;
    int64_t calls = 0;
    for (; now - begin < turn; now = seconds())
        for (int k = 0; k < 8; k++, calls++) run(context);
    return (now - begin) / (double)calls;
}

/* Float32 first. mn, k: how kernel=gemm is asked for the shape. */
static void compare(const char *name, action *run, const void *const context[2], double macs,
                    const char *extents) {
    double best[2] = {INFINITY, INFINITY};
    for (int i = 0; i < TURNS; i++)
        for (int k = 0; k < 2; k++) best[k] = fmin(best[k], time_of(run, context[k]));
    printf("%-34s %-18s float32 %6.1f GMAC/s, accumulator %6.1f, ratio %.3f\n", name, extents,
           1e-9 * macs / best[0], 1e-9 * macs / best[1], best[0] / best[1]);
}

/* ---- attention ---- */

typedef struct heads_job {
    hu_heads heads;
    hu_heads_form form;
    hu_heads_call call;
} heads_job;

static void run_heads(const void *context) {
    const heads_job *job = context;
    hu_heads_run(&job->heads, job->form, &job->call);
}

static void compare_form(const hu_heads *h, hu_heads_form form, const hu_accumulator *accumulator) {
    static const char *const names[] = {"scores", "rows of pairs", "keys of pairs"};
    int64_t places = h->rows * HEADS * DEPTH, pairs = HEADS * h->rows * h->keys;
    float *p = drawn(pairs, 1), *x = drawn(places, 2), *y = drawn(places, 3);
    float *result = drawn(form == HU_HEADS_PAIRS ? pairs : places, 4);
    heads_job jobs[2];
    const void *context[2] = {&jobs[0], &jobs[1]};
    char name[64], extents[64];
    const hu_heads_valid valid = {h->rows, h->keys};
    for (int64_t i = 0; i < pairs; i++) /* as softmax leaves them */
        if (i % h->keys >= hu_heads_seen(h, valid, i / h->keys % h->rows)) p[i] = 0.0f;
    for (int k = 0; k < 2; k++) {
        size_t bytes;
        jobs[k] = (heads_job){.heads = *h, .form = form};
        jobs[k].call = (hu_heads_call){.first = form == HU_HEADS_PAIRS ? x : p,
                                       .second = y,
                                       .result = result,
                                       .valid = valid,
                                       .accumulator = k ? accumulator : NULL};
        must(hu_heads_scratch_bytes(h, form, jobs[k].call.accumulator, &bytes));
        must(hu_alloc(bytes, &jobs[k].call.scratch));
    }
    bool is_pairs = form == HU_HEADS_PAIRS;
    snprintf(name, sizeof name, "%s%s", names[form], h->is_causal ? ", causal" : "");
    snprintf(extents, sizeof extents, "m=%lld n=%lld k=%lld", (long long)h->rows,
             (long long)(is_pairs ? h->keys : DEPTH), (long long)(is_pairs ? DEPTH : h->keys));
    compare(name, run_heads, context, (double)HEADS * DEPTH * (double)hu_heads_pairs_seen(h, valid),
            extents);
    for (int k = 0; k < 2; k++) hu_free(jobs[k].call.scratch);
    hu_free(p), hu_free(x), hu_free(y), hu_free(result);
}

/* ---- recurrence ---- */

typedef struct step_job {
    hu_products *products;
    hu_product_role role;
    hu_product_call call;
} step_job;

static void run_step(const void *context) {
    const step_job *job = context;
    hu_products_run(job->products, job->role, &job->call);
}

static step_job open_step(hu_product_role role, const hu_accumulation *accumulation, const float *w,
                          float *hidden, float *gates) {
    hu_product geometry = hu_product_rows(1, CELLS, GATES);
    geometry.is_linear = true;
    const hu_product_facts facts = {.geometry = geometry,
                                    .accumulation = accumulation,
                                    .needs = {true, true, true},
                                    .engine = HU_ENGINE_OWN,
                                    .chunk = SAMPLES,
                                    .threads = 1};
    step_job job = {.role = role};
    must(hu_products_create(&facts, &job.products));
    job.call = (hu_product_call){
        .x = hidden, .w = w, .y = gates, .dy = gates, .dx = hidden, .count = SAMPLES};
    must(hu_alloc(hu_products_scratch_bytes(job.products, role) + 64, &job.call.scratch));
    must(hu_alloc(hu_products_packed_bytes(job.products, role) + 64, &job.call.packed));
    hu_products_pack(job.products, role, w, NULL, job.call.packed);
    return job;
}

static void compare_step(hu_product_role role, const hu_accumulator *accumulator) {
    hu_accumulation chosen = {.chosen = {true, true, true}};
    float *w = drawn(GATES * CELLS, 5), *hidden = drawn(SAMPLES * CELLS, 6);
    float *gates = drawn(SAMPLES * GATES, 7);
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) chosen.accumulator[r] = *accumulator;
    step_job jobs[2] = {open_step(role, NULL, w, hidden, gates),
                        open_step(role, &chosen, w, hidden, gates)};
    const void *context[2] = {&jobs[0], &jobs[1]};
    bool is_forward = role == HU_PRODUCT_FORWARD;
    compare(is_forward ? "a step of an LSTM" : "a step of an LSTM, backward", run_step, context,
            (double)SAMPLES * GATES * CELLS, is_forward ? "m=32 n=512 k=128" : "m=32 n=128 k=512");
    for (int k = 0; k < 2; k++) {
        hu_products_free(jobs[k].products);
        hu_free(jobs[k].call.scratch);
        hu_free(jobs[k].call.packed);
    }
    hu_free(w), hu_free(hidden), hu_free(gates);
}

int main(int argc, char **argv) {
    int64_t rows = argc > 2 ? atoll(argv[2]) : 64;
    hu_accumulator accumulator;
    must(hu_accumulator_parse(argc > 1 ? argv[1] : "fmac8:1/6/9", &accumulator));
    for (int causal = 0; causal < 2; causal++)
        for (int form = 0; form <= HU_HEADS_KEYS; form++) {
            const hu_heads h = {HEADS, rows, rows, DEPTH, causal > 0};
            compare_form(&h, (hu_heads_form)form, &accumulator);
        }
    compare_step(HU_PRODUCT_FORWARD, &accumulator);
    compare_step(HU_PRODUCT_INPUT_GRAD, &accumulator);
    return 0;
}
