/* halfulp bench kernel=conv: the three products of the convolutions of ResNet-20 and ResNet-18 by
 * kernel/conv, by oneDNN and, where it fits, by Winograd's algorithm on the same samples, taking
 * turns on one thread, beside the machine's peak of multiply-adds. All rates count the
 * multiply-adds of the definition. */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "kernel/peak/peak.h"
#include "op/attributes.h"
#include "render/json.h"
#include "render/table.h"

enum { USUAL_SAMPLES = 4, MOST_TURNS = 1000, PEAK_MACS = 2000000 };

/* Seconds that one engine may take for one row, beyond its first turns. */
static const double time_limit = 0.07;

/* Square images and kernels, padded to size / stride; so many layers of the model. */
typedef struct shape {
    const char *model;
    int64_t size, in_c, out_c, kernel, stride, layers;
    bool is_first; /* no data gradient is asked for */
} shape;

static const shape shapes[] = {
    {"resnet20", 32, 3, 16, 3, 1, 1, true},     {"resnet20", 32, 16, 16, 3, 1, 6, false},
    {"resnet20", 32, 16, 32, 3, 2, 1, false},   {"resnet20", 16, 32, 32, 3, 1, 5, false},
    {"resnet20", 16, 32, 64, 3, 2, 1, false},   {"resnet20", 8, 64, 64, 3, 1, 5, false},
    {"resnet18", 32, 3, 64, 3, 1, 1, true},     {"resnet18", 32, 64, 64, 3, 1, 4, false},
    {"resnet18", 32, 64, 128, 3, 2, 1, false},  {"resnet18", 32, 64, 128, 1, 2, 1, false},
    {"resnet18", 16, 128, 128, 3, 1, 3, false}, {"resnet18", 16, 128, 256, 3, 2, 1, false},
    {"resnet18", 16, 128, 256, 1, 2, 1, false}, {"resnet18", 8, 256, 256, 3, 1, 3, false},
    {"resnet18", 8, 256, 512, 3, 2, 1, false},  {"resnet18", 8, 256, 512, 1, 2, 1, false},
    {"resnet18", 4, 512, 512, 3, 1, 3, false}};

enum { SHAPES = sizeof shapes / sizeof *shapes };
enum { OWN, ONEDNN, WINOGRAD, ENGINES };
static const hu_product_engine engines[ENGINES] = {HU_ENGINE_OWN, HU_ENGINE_ONEDNN,
                                                   HU_ENGINE_WINOGRAD};

static const char *const role_names[HU_PRODUCT_ROLES] = {"forward", "input_grad", "weight_grad"};

/* The node of a shape, planned by both, and its arrays. */
typedef struct node {
    hu_conv_attrs attrs;
    hu_shape in, out, param;
    bool needs_data;
    hu_node_info info[ENGINES];
    void *state[ENGINES], *workspace[ENGINES][2], *scratch[ENGINES];
    float *x, *dy, *w, *y, *dx, *dw;
} node;

typedef struct row {
    const shape *shape;
    hu_product_role role;
    double rate[ENGINES], peak; /* multiply-adds per second */
    double spread[ENGINES];     /* as hu_bench_times_spread */
    int64_t turns;
} row;

/* count numbers in [-1, 1). */
static hu_status filled(int64_t count, uint64_t stream, float **to) {
    const hu_random_key key = {.seed = 1, .stream = stream};
    hu_status st = HU_NEW_ARRAY(to, (size_t)count);
    for (int64_t i = 0; st == HU_OK && i < count; i++)
        (*to)[i] = 2.0f * hu_random_uniform(&key, (uint64_t)i) - 1.0f;
    return st;
}

/* What all calls of one engine share; the arrays are the caller's. */
static hu_op_call call_of(const node *n, int engine, int64_t samples) {
    return (hu_op_call){.info = &n->info[engine],
                        .state = n->state[engine],
                        .training = true,
                        .count = samples,
                        .total = samples,
                        .scratch = n->scratch[engine]};
}

/* The op as a run would prepare it, with one thread and one chunk. */
static hu_status plan(node *n, int engine, int64_t samples) {
    const float *param[] = {n->w};
    size_t scratch = 0;
    hu_status st = HU_OK;
    n->info[engine] = (hu_node_info){.attrs = &n->attrs,
                                     .name = "bench",
                                     .n_in = 1,
                                     .n_out = 1,
                                     .n_params = 1,
                                     .in = &n->in,
                                     .out = &n->out,
                                     .param = &n->param,
                                     .need_din = &n->needs_data,
                                     .chunk = samples,
                                     .threads = 1,
                                     .engine = engines[engine]};
    const hu_node_info *info = &n->info[engine];
    HU_TRY(hu_op_conv2d.create(info, &n->state[engine]));
    for (int pass = HU_FORWARD; pass <= HU_BACKWARD; pass++) {
        size_t bytes = hu_op_conv2d.scratch_bytes(info, n->state[engine], (hu_pass)pass);
        if (bytes > scratch) scratch = bytes;
        bytes = hu_op_conv2d.workspace_bytes(info, n->state[engine], (hu_pass)pass);
        HU_TRY(hu_alloc(bytes, &n->workspace[engine][pass]));
        hu_op_call call = call_of(n, engine, samples);
        call.param = param;
        call.workspace = n->workspace[engine][pass];
        hu_op_conv2d.begin(&call, (hu_pass)pass);
    }
    HU_TRY(hu_alloc(scratch, &n->scratch[engine]));
done:
    return st;
}

/* Arrays of random numbers and the op planned by every engine. */
static hu_status make_node(const shape *s, int64_t samples, node *n) {
    hu_status st = HU_OK;
    int outputs;
    hu_param_decl param[HU_MAX_PARAMS];
    n->attrs = (hu_conv_attrs){.out_channels = s->out_c,
                               .kernel_h = s->kernel,
                               .kernel_w = s->kernel,
                               .stride_h = s->stride,
                               .stride_w = s->stride,
                               .pad_h = s->kernel / 2,
                               .pad_w = s->kernel / 2,
                               .dilation_h = 1,
                               .dilation_w = 1,
                               .groups = 1};
    n->in = (hu_shape){3, {s->size, s->size, s->in_c}};
    n->needs_data = !s->is_first;
    HU_TRY(hu_op_conv2d.shape(&n->attrs, 1, &n->in, &outputs, &n->out));
    HU_TRY(hu_op_conv2d.params(&n->attrs, &n->in, param, &outputs));
    n->param = param[0].shape;
    int64_t in = samples * hu_shape_elements(&n->in), out = samples * hu_shape_elements(&n->out);
    HU_TRY(filled(in, 1, &n->x));
    HU_TRY(filled(out, 2, &n->dy));
    HU_TRY(filled(hu_shape_elements(&n->param), 3, &n->w));
    HU_TRY(filled(in, 4, &n->dx));
    HU_TRY(filled(out, 5, &n->y));
    HU_TRY(filled(hu_shape_elements(&n->param), 6, &n->dw));
    for (int engine = 0; engine < ENGINES; engine++) HU_TRY(plan(n, engine, samples));
done:
    return st;
}

static void free_node(node *n) {
    float *floats[] = {n->x, n->dy, n->w, n->y, n->dx, n->dw};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) hu_free(floats[i]);
    for (int engine = 0; engine < ENGINES; engine++) {
        hu_op_conv2d.release(n->state[engine]);
        hu_free(n->workspace[engine][HU_FORWARD]);
        hu_free(n->workspace[engine][HU_BACKWARD]);
        hu_free(n->scratch[engine]);
    }
}

/* One product by one engine. Backward makes the gradients for which it gets an array. */
static void run_role(node *n, int engine, int64_t samples, hu_product_role role) {
    const float *in[] = {n->x}, *dout[] = {n->dy}, *param[] = {n->w};
    float *out[] = {n->y}, *din[] = {role == HU_PRODUCT_INPUT_GRAD ? n->dx : NULL};
    float *dparam[] = {role == HU_PRODUCT_WEIGHT_GRAD ? n->dw : NULL};
    hu_op_call call = call_of(n, engine, samples);
    call.param = param;
    call.in = in;
    call.out = out;
    call.param = param;
    call.dout = dout;
    call.din = din;
    call.dparam = dparam;
    call.workspace = n->workspace[engine][role == HU_PRODUCT_FORWARD ? HU_FORWARD : HU_BACKWARD];
    if (role == HU_PRODUCT_FORWARD)
        hu_op_conv2d.forward(&call);
    else
        hu_op_conv2d.backward(&call);
}

/* One turn of the peak: the higher of the best rate so far and this one. */
static void measure_peak(row *r) {
    float sink;
    double start = hu_bench_seconds(1);
    uint64_t done = hu_peak_run(PEAK_MACS, &sink);
    r->peak = fmax(r->peak, (double)done / (hu_bench_seconds(1) - start));
}

/* Engines take turns, so that what else the machine does meets all alike. */
static hu_status take_turns(node *n, int64_t samples, const hu_bench_pace *pace, row *r,
                            hu_bench_times times[ENGINES]) {
    hu_status st = HU_OK;
    for (int64_t turn = 0; hu_bench_takes(pace, &times[OWN]); turn++) {
        for (int engine = 0; engine < ENGINES; engine++) {
            double start = hu_bench_seconds(1);
            run_role(n, engine, samples, r->role);
            HU_TRY(hu_bench_times_add(&times[engine], hu_bench_seconds(1) - start));
        }
        if (turn % 8 == 0) measure_peak(r);
    }
done:
    return st;
}

/* The best turn of each counts. */
static hu_status measure(node *n, int64_t samples, const hu_bench_pace *pace, row *r) {
    double macs = (double)(samples * hu_op_conv2d.macs(&n->info[OWN]));
    hu_bench_times times[ENGINES] = {0};
    hu_status st = take_turns(n, samples, pace, r, times);
    r->turns = (int64_t)times[OWN].count;
    for (int engine = 0; engine < ENGINES; engine++) {
        r->rate[engine] = macs / times[engine].best;
        r->spread[engine] = hu_bench_times_spread(&times[engine]);
        hu_bench_times_free(&times[engine]);
    }
    return st;
}

/* Products that are measured of a shape. */
static int roles_of(const shape *s) {
    return s->is_first ? HU_PRODUCT_ROLES - 1 : HU_PRODUCT_ROLES;
}

/* A row for each product of a layer; `left`: products that still wait for their share of the time,
 * these among them. */
static hu_status measure_shape(hu_bench *bench, const shape *s, int64_t samples, int left,
                               row *rows, int *count) {
    node n = {0};
    hu_status st = make_node(s, samples, &n);
    for (int role = 0; st == HU_OK && role < HU_PRODUCT_ROLES; role++) {
        if (role == HU_PRODUCT_INPUT_GRAD && s->is_first) continue;
        row *r = &rows[(*count)++];
        *r = (row){.shape = s, .role = (hu_product_role)role};
        hu_bench_pace pace = hu_bench_pace_of(bench, 1.0 / left--, MOST_TURNS);
        pace.limit = time_limit;
        st = measure(&n, samples, &pace, r);
        hu_bench_note_spread(&bench->part, r->spread[OWN], r->spread[ONEDNN]);
    }
    free_node(&n);
    return st;
}

/* A multiply-add is two operations. */
static double gflops(double rate) {
    return 2e-9 * rate;
}

static bool has_winograd(const shape *s) {
    enum { SIDE = 3, LEAST_CHANNELS = 8 };
    return s->kernel == SIDE && s->stride == 1 && s->in_c >= LEAST_CHANNELS;
}

static json_t *winograd_json(const shape *s, double number) {
    return has_winograd(s) ? hu_json_number(number) : json_null();
}

static json_t *row_json(const row *r) {
    const shape *s = r->shape;
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, "
        "s:o, s:o}",
        "model", s->model, "product", role_names[r->role], "size", (json_int_t)s->size,
        "in_channels", (json_int_t)s->in_c, "out_channels", (json_int_t)s->out_c, "kernel",
        (json_int_t)s->kernel, "stride", (json_int_t)s->stride, "layers", (json_int_t)s->layers,
        "gflops", hu_json_number(gflops(r->rate[OWN])), "reference", "onednn", "reference_gflops",
        hu_json_number(gflops(r->rate[ONEDNN])), "ratio",
        hu_json_number(r->rate[OWN] / r->rate[ONEDNN]), "peak_gflops",
        hu_json_number(gflops(r->peak)), "share_of_peak", hu_json_number(r->rate[OWN] / r->peak),
        "winograd_gflops", winograd_json(s, gflops(r->rate[WINOGRAD])), "winograd_ratio",
        winograd_json(s, r->rate[WINOGRAD] / r->rate[OWN]), "turns", (json_int_t)r->turns, "spread",
        hu_json_number(r->spread[OWN]), "reference_spread", hu_json_number(r->spread[ONEDNN]));
}

static json_t *make_json(const row *rows, int count, int64_t samples) {
    json_t *array = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(array, row_json(&rows[i]));
    return json_pack("{s:s, s:s, s:s, s:I, s:o}", "kernel", "conv", "clock", "thread", "isa",
                     hu_isa_name(hu_cpu_isa()), "samples", (json_int_t)samples, "rows", array);
}

static hu_status put_row(hu_table *table, const row *r) {
    const shape *s = r->shape;
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "%s", s->model));
    HU_TRY(hu_table_cell(table, "%lldx%lld %lld-%lld k%lld s%lld", (long long)s->size,
                         (long long)s->size, (long long)s->in_c, (long long)s->out_c,
                         (long long)s->kernel, (long long)s->stride));
    HU_TRY(hu_table_cell(table, "%s", role_names[r->role]));
    HU_TRY(hu_table_cell(table, "%.1f", gflops(r->rate[OWN])));
    HU_TRY(hu_table_cell(table, "%.1f", gflops(r->rate[ONEDNN])));
    HU_TRY(hu_table_cell(table, "%.2f", r->rate[OWN] / r->rate[ONEDNN]));
    HU_TRY(hu_table_cell(table, "%.3f", r->rate[OWN] / r->peak));
    if (has_winograd(s)) {
        HU_TRY(hu_table_cell(table, "%.1f", gflops(r->rate[WINOGRAD])));
        HU_TRY(hu_table_cell(table, "%.2f", r->rate[WINOGRAD] / r->rate[OWN]));
    } else {
        HU_TRY(hu_table_cell(table, "-"));
        HU_TRY(hu_table_cell(table, "-"));
    }
    HU_TRY(hu_bench_spread_cell(table, r->spread[OWN]));
done:
    return st;
}

/* Multiply-adds of one sample in all layers of this shape, one product. */
static int64_t macs_of(const shape *s) {
    int64_t out = s->size / s->stride;
    return out * out * s->out_c * s->kernel * s->kernel * s->in_c * s->layers;
}

/* All layers of a model together: milliseconds per sample of a step, and rates. */
static hu_status tell_totals(hu_bench_part *part, const row *rows, int count, const char *model) {
    double seconds[ENGINES] = {0}, macs = 0, peak = 0;
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        if (strcmp(r->shape->model, model) != 0) continue;
        double work = (double)macs_of(r->shape);
        macs += work;
        for (int engine = 0; engine < ENGINES; engine++) seconds[engine] += work / r->rate[engine];
        if (r->peak > peak) peak = r->peak;
    }
    return hu_bench_tell(part,
                         "%s, all products of a step: %.3f ms a sample (%.1f GFLOP/s, %.3f of "
                         "peak), oneDNN %.3f ms (%.1f GFLOP/s), with winograd %.3f ms",
                         model, 1e3 * seconds[OWN], gflops(macs / seconds[OWN]),
                         macs / seconds[OWN] / peak, 1e3 * seconds[ONEDNN],
                         gflops(macs / seconds[ONEDNN]), 1e3 * seconds[WINOGRAD]);
}

static hu_status tell_rows(hu_bench_part *part, const row *rows, int count, int64_t samples) {
    static const char *const titles[] = {"model", "layer",   "product",  "GFLOP/s", "oneDNN",
                                         "ratio", "of peak", "winograd", "to own",  "spread %"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < count; i++) HU_TRY(put_row(table, &rows[i]));
    HU_TRY(hu_bench_tell_table(part, table));
    HU_TRY(hu_bench_tell(part,
                         "%lld samples a call, one thread, in turns; multiply-adds at borders "
                         "count, though they are left out: more than the peak is possible",
                         (long long)samples));
    HU_TRY(tell_totals(part, rows, count, "resnet20"));
    HU_TRY(tell_totals(part, rows, count, "resnet18"));
done:
    hu_table_free(table);
    return st;
}

hu_status hu_bench_conv(hu_bench *bench) {
    row rows[SHAPES * HU_PRODUCT_ROLES];
    int count = 0, left = 0;
    int64_t samples = USUAL_SAMPLES;
    hu_status st = HU_OK;
    if (!hu_config_is_auto(bench->config, "run.chunk"))
        HU_TRY(hu_config_i64(bench->config, "run.chunk", &samples));
    for (int i = 0; i < SHAPES; i++) left += roles_of(&shapes[i]);
    for (int i = 0; i < SHAPES; left -= roles_of(&shapes[i++]))
        HU_TRY(measure_shape(bench, &shapes[i], samples, left, rows, &count));
    if (bench->part.form == HU_BENCH_JSON)
        bench->part.json = make_json(rows, count, samples);
    else
        HU_TRY(tell_rows(&bench->part, rows, count, samples));
done:
    return st;
}
