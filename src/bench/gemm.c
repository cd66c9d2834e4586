/* halfulp bench kernel=gemm: products with accumulators beside oneDNN's sgemm and the machine's
 * peak of multiply-adds, taking turns in one run. */
#include "bench/gemm.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "kernel/peak/peak.h"
#include "kernel/round/round.h"
#include "product/dnn.h"

enum { MOST_CONTESTANTS = HU_ACCUMULATORS_MOST + 4, MOST_TURNS = 40, ROUND_CHUNK = 16384 };

/* Seconds that a contestant may take for one shape beyond its first `repeat` turns. */
static const double time_limit = 0.4;

typedef struct shape {
    int64_t m, n, k;
    bool has_quantised; /* the product with rounding of its factors too */
} shape;

/* Squares, and the products of ResNet-20 and ResNet-18: forward by stages, weight gradients. */
static const shape usual_shapes[] = {
    {512, 512, 512, false}, {1024, 1024, 1024, false}, {2048, 2048, 2048, false},
    {16, 32768, 144, true}, {32, 16384, 288, true},    {64, 8192, 576, true},
    {16, 144, 32768, true}, {64, 576, 8192, true},     {64, 12544, 576, true},
    {512, 392, 4608, true}, {512, 4608, 392, true}};

typedef struct bench bench;

/* One that takes turns. */
typedef struct contestant {
    hu_status (*run)(bench *b, struct contestant *self);
    const struct contestant *reference; /* NULL: not a row */
    hu_accumulator accumulator;
    bool quantises;
    double best_seconds, spent, work; /* work: multiply-adds of a turn */
    int turns;
    void *scratch;
} contestant;

/* The numbers of all shapes: a [m][k], b [k][n]; raw, and members of the format. */
struct bench {
    hu_accumulator_list list;
    hu_format format; /* of the factors: that of the first accumulator with one, else 1/6/9 */
    int threads;
    int64_t repeat;
    shape shapes[sizeof usual_shapes / sizeof *usual_shapes];
    int shape_count;
    float *a, *b, *raw_a, *raw_b, *rounded_a, *rounded_b, *c;
    shape now;
    contestant contestants[MOST_CONTESTANTS];
    int contestant_count;
    hu_bench_gemm_row *rows;
    int row_count;
    float sink; /* of the peak */
};

/* Multiply-adds in registers, by as many threads as the products have. */
static hu_status run_peak(bench *b, contestant *self) {
    uint64_t done = 0;
    float sink = 0.0f;
#pragma omp parallel num_threads(b->threads) reduction(+ : done, sink)
    {
        float own;
        done += hu_peak_run(5000000, &own);
        sink += own;
    }
    self->work = (double)done;
    b->sink = sink;
    return HU_OK;
}

static hu_status run_sgemm(bench *b, contestant *self) {
    (void)self;
    return hu_dnn_sgemm(b->now.m, b->now.n, b->now.k, b->a, b->b, b->c, b->threads);
}

/* Rounds n numbers, in pieces that threads share. */
static void round_pass(const bench *b, const hu_rounder *rounder, int64_t n, const float *x,
                       float *y) {
#pragma omp parallel for num_threads(b->threads) schedule(static)
    for (int64_t at = 0; at < n; at += ROUND_CHUNK) {
        int64_t count = n - at < ROUND_CHUNK ? n - at : ROUND_CHUNK;
        hu_rounder_run(rounder, (size_t)count, &x[at], &y[at], NULL, 0, NULL);
    }
}

/* What a program without our products does: round both factors, then multiply. */
static hu_status run_rounded_sgemm(bench *b, contestant *self) {
    hu_rounder rounder;
    hu_status st = hu_rounder_init(&rounder, &b->format, HU_ROUND_NEAREST_EVEN);
    (void)self;
    if (st != HU_OK) return st;
    round_pass(b, &rounder, b->now.m * b->now.k, b->raw_a, b->rounded_a);
    round_pass(b, &rounder, b->now.k * b->now.n, b->raw_b, b->rounded_b);
    return hu_dnn_sgemm(b->now.m, b->now.n, b->now.k, b->rounded_a, b->rounded_b, b->c, b->threads);
}

/* a [m][k] and b [k][n] as they lie, c [m][n]; with rounding the raw factors and the format. */
static hu_gemm_task task_of(const bench *b, const contestant *self) {
    const hu_format *format = self->quantises ? &b->format : NULL;
    return (hu_gemm_task){.m = b->now.m,
                          .n = b->now.n,
                          .k = b->now.k,
                          .a = {.data = self->quantises ? b->raw_a : b->a,
                                .stride = b->now.k,
                                .k_stride = 1,
                                .format = format},
                          .b = {.data = self->quantises ? b->raw_b : b->b,
                                .stride = 1,
                                .k_stride = b->now.n,
                                .format = format},
                          .accumulator = self->accumulator,
                          .c = b->c,
                          .c_stride = b->now.n,
                          .threads = b->threads,
                          .scratch = self->scratch};
}

static hu_status run_product(bench *b, contestant *self) {
    const hu_gemm_task task = task_of(b, self);
    return hu_gemm(&task);
}

/* Adds one that takes turns, of the shape at hand. */
static contestant *enter(bench *b, hu_status (*run)(bench *, contestant *)) {
    contestant *c = &b->contestants[b->contestant_count++];
    *c = (contestant){.run = run,
                      .best_seconds = 1e30,
                      .work = (double)b->now.m * (double)b->now.n * (double)b->now.k};
    return c;
}

static hu_status enter_product(bench *b, const hu_accumulator *accumulator,
                               const contestant *reference, bool quantises) {
    contestant *c = enter(b, run_product);
    size_t bytes;
    c->accumulator = *accumulator;
    c->reference = reference;
    c->quantises = quantises;
    const hu_gemm_task task = task_of(b, c);
    hu_status st = hu_gemm_scratch_bytes(&task, &bytes);
    return st == HU_OK ? hu_alloc(bytes, &c->scratch) : st;
}

/* The peak, the references, then every accumulator. fmacs also with rounding while it packs, beside
 * the reference that rounds before. */
static hu_status enter_all(bench *b) {
    hu_status st = HU_OK;
    const contestant *sgemm, *rounded = NULL;
    b->contestant_count = 0;
    enter(b, run_peak);
    sgemm = enter(b, run_sgemm);
    if (b->now.has_quantised) rounded = enter(b, run_rounded_sgemm);
    for (int i = 0; i < b->list.count; i++) {
        const hu_accumulator *accumulator = &b->list.items[i];
        HU_TRY(enter_product(b, accumulator, sgemm, false));
        if (accumulator->mac != HU_MAC_FMACS || !rounded) continue;
        HU_TRY(enter_product(b, accumulator, rounded, true));
        rounded = NULL;
    }
done:
    return st;
}

static hu_status take_turn(bench *b, contestant *c) {
    double start = hu_bench_seconds(b->threads);
    hu_status st = c->run(b, c);
    double seconds = hu_bench_seconds(b->threads) - start;
    if (seconds < c->best_seconds) c->best_seconds = seconds;
    c->spent += seconds;
    c->turns++;
    return st;
}

/* References take every turn, others until their time is up. */
static hu_status take_turns(bench *b) {
    bool is_open = true;
    for (int turn = 0; is_open && (turn < MOST_TURNS || turn < b->repeat); turn++) {
        is_open = false;
        for (int i = 0; i < b->contestant_count; i++) {
            contestant *c = &b->contestants[i];
            if (c->reference && c->turns >= b->repeat && c->spent > time_limit) continue;
            is_open = is_open || c->reference;
            hu_status st = take_turn(b, c);
            if (st != HU_OK) return st;
        }
    }
    return HU_OK;
}

static double rate_of(const contestant *c) {
    return 1e-9 * c->work / c->best_seconds;
}

static hu_status put_row(bench *b, const contestant *c) {
    hu_bench_gemm_row *row = &b->rows[b->row_count++];
    const hu_format *format = c->quantises                         ? &b->format
                              : c->accumulator.mac == HU_MAC_FMACS ? NULL
                                                                   : &c->accumulator.format;
    *row =
        (hu_bench_gemm_row){.semantics = hu_semantics_name(c->accumulator.semantics),
                            .reference = c->quantises ? "hu_round_f32 + dnnl_sgemm" : "dnnl_sgemm",
                            .m = b->now.m,
                            .n = b->now.n,
                            .k = b->now.k,
                            .threads = b->threads,
                            .rate = rate_of(c),
                            .reference_rate = rate_of(c->reference),
                            .peak = rate_of(&b->contestants[0])};
    hu_accumulator_mode_text(&c->accumulator, row->mode, sizeof row->mode);
    if (c->quantises) snprintf(row->mode, sizeof row->mode, "quantise+fmacs");
    snprintf(row->format, sizeof row->format, "fp32");
    return format ? hu_format_print(format, row->format, sizeof row->format) : HU_OK;
}

/* One shape from entry to rows. */
static hu_status run_shape(bench *b, const shape *now) {
    hu_status st = HU_OK;
    b->now = *now;
    HU_TRY(enter_all(b));
    HU_TRY(take_turns(b));
    for (int i = 0; i < b->contestant_count; i++)
        if (b->contestants[i].reference) HU_TRY(put_row(b, &b->contestants[i]));
done:
    for (int i = 0; i < b->contestant_count; i++) hu_free(b->contestants[i].scratch);
    b->contestant_count = 0;
    return st;
}

/* One shape of the keys m, n, k (512 where left open), or the usual ones if all are. */
static hu_status choose_shapes(const hu_config *config, bench *b) {
    static const char *const keys[] = {"gemm.m", "gemm.n", "gemm.k"};
    hu_status st = HU_OK;
    int64_t extents[3] = {512, 512, 512};
    bool is_given = false;
    for (int i = 0; i < 3; i++) {
        if (hu_config_is_auto(config, keys[i])) continue;
        is_given = true;
        HU_TRY(hu_config_i64(config, keys[i], &extents[i]));
    }
    b->shape_count = is_given ? 1 : (int)(sizeof usual_shapes / sizeof *usual_shapes);
    for (int i = 0; i < b->shape_count; i++) b->shapes[i] = usual_shapes[i];
    if (is_given) b->shapes[0] = (shape){extents[0], extents[1], extents[2], true};
done:
    return st;
}

/* The format that factors are members of: that of the first accumulator which has one. */
static hu_status choose_format(bench *b) {
    for (int i = 0; i < b->list.count; i++)
        if (b->list.items[i].mac != HU_MAC_FMACS) {
            b->format = b->list.items[i].format;
            return HU_OK;
        }
    return hu_format_parse("1/6/9", &b->format);
}

/* Room for the largest of all shapes, filled once. */
static hu_status allocate(bench *b) {
    hu_status st = HU_OK;
    size_t a = 0, n = 0, c = 0;
    for (int i = 0; i < b->shape_count; i++) {
        const shape *s = &b->shapes[i];
        if ((size_t)(s->m * s->k) > a) a = (size_t)(s->m * s->k);
        if ((size_t)(s->k * s->n) > n) n = (size_t)(s->k * s->n);
        if ((size_t)(s->m * s->n) > c) c = (size_t)(s->m * s->n);
    }
    float **of_a[] = {&b->a, &b->raw_a, &b->rounded_a},
          **of_b[] = {&b->b, &b->raw_b, &b->rounded_b};
    for (int i = 0; i < 3; i++) {
        HU_TRY(HU_NEW_ARRAY(of_a[i], a));
        HU_TRY(HU_NEW_ARRAY(of_b[i], n));
    }
    HU_TRY(HU_NEW_ARRAY(&b->c, c));
    HU_TRY(HU_NEW_ARRAY(&b->rows, (size_t)b->shape_count * MOST_CONTESTANTS));
    hu_factor_fill("normal", 1, "a", (int64_t)a, b->raw_a);
    hu_factor_fill("normal", 1, "b", (int64_t)n, b->raw_b);
    HU_TRY(hu_round_f32(a, b->raw_a, b->a, &b->format, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL));
    HU_TRY(hu_round_f32(n, b->raw_b, b->b, &b->format, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL));
done:
    return st;
}

static void release(bench *b) {
    float *floats[] = {b->a, b->b, b->raw_a, b->raw_b, b->rounded_a, b->rounded_b, b->c};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) hu_free(floats[i]);
    hu_free(b->rows);
}

/* The micro-kernels of the accumulators, whose rate bounds that of products. */
static int measure_tiles(const bench *b, hu_bench_tile_row *tiles) {
    int count = 0;
    for (int i = 0; i < b->list.count; i++)
        if (b->list.items[i].semantics == HU_SEMANTICS_F32FMA &&
            hu_bench_tile(&b->list.items[i], &tiles[count]))
            count++;
    return count;
}

hu_status hu_bench_gemm(hu_config *config) {
    hu_status st = HU_OK;
    bench b = {0};
    hu_bench_tile_row tiles[HU_ACCUMULATORS_MOST];
    HU_TRY(hu_accumulator_list_read(config, &b.list));
    HU_TRY(hu_threads_read(config, &b.threads));
    HU_TRY(hu_config_i64(config, "run.repeat", &b.repeat));
    HU_TRY(choose_shapes(config, &b));
    HU_TRY(choose_format(&b));
    HU_TRY(allocate(&b));
    for (int i = 0; i < b.shape_count; i++) HU_TRY(run_shape(&b, &b.shapes[i]));
    int tile_count = measure_tiles(&b, tiles);
    st = hu_config_flag(config, "json", NULL)
             ? hu_bench_gemm_json(b.rows, b.row_count, tiles, tile_count)
             : hu_bench_gemm_print(b.rows, b.row_count, tiles, tile_count);
done:
    release(&b);
    return st;
}
