#include "product/accumulate.h"

#include <omp.h>

#include "base/checked.h"
#include "kernel/gemm/operand.h"
#include "product/call.h"

enum { ALIGNMENT = 64 };

/* Products smaller than this many multiply-accumulates are not worth a team of threads. */
static const int64_t worth_a_team = 1 << 17;

/* One product for one group; groups lie `*_step` floats apart. task.a.patches or task.b.patches may
 * point at patches: a job is not copied. */
typedef struct job {
    hu_gemm_task task;
    hu_patches patches;
    int64_t a_step, b_step, c_step;
} job;

/* A product without windows: pixels are rows of a plain matrix. */
static bool is_plain(const hu_product *p) {
    return p->kernel_h == 1 && p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 &&
           p->pad_h == 0 && p->pad_w == 0 && p->out_h == p->in_h && p->out_w == p->in_w;
}

/* Windows over the input, as the forward product and the weight gradient read it. */
static hu_patches input_patches(const hu_product *p, int64_t count) {
    return (hu_patches){.count = count,
                        .in_h = p->in_h,
                        .in_w = p->in_w,
                        .channels = p->in_c / p->groups,
                        .pixel_stride = p->in_c,
                        .out_h = p->out_h,
                        .out_w = p->out_w,
                        .kernel_h = p->kernel_h,
                        .kernel_w = p->kernel_w,
                        .stride_h = p->stride_h,
                        .stride_w = p->stride_w,
                        .pad_h = p->pad_h,
                        .pad_w = p->pad_w,
                        .dilation_h = p->dilation_h,
                        .dilation_w = p->dilation_w,
                        .up_h = 1,
                        .up_w = 1};
}

/* Windows over the output gradient: input row y meets output row (y + pad - k dilation) / stride.
 * So input and output change places, padding and dilation their signs, and strides lie between
 * taps. */
static hu_patches gradient_patches(const hu_product *p, int64_t count) {
    hu_patches patches = input_patches(p, count);
    patches.in_h = p->out_h;
    patches.in_w = p->out_w;
    patches.channels = p->out_c / p->groups;
    patches.pixel_stride = p->out_c;
    patches.out_h = p->in_h;
    patches.out_w = p->in_w;
    patches.stride_h = patches.stride_w = 1;
    patches.pad_h = -p->pad_h;
    patches.pad_w = -p->pad_w;
    patches.dilation_h = -p->dilation_h;
    patches.dilation_w = -p->dilation_w;
    patches.up_h = p->stride_h;
    patches.up_w = p->stride_w;
    return patches;
}

/* C [pixels, out_c] = A [pixels, taps x in_c] B [taps x in_c, out_c] */
static void forward_job(const hu_product *p, int64_t count, job *j) {
    int64_t depth = p->in_c / p->groups, filters = p->out_c / p->groups;
    int64_t terms = p->kernel_h * p->kernel_w * depth;
    j->task.m = count * p->out_h * p->out_w;
    j->task.n = filters;
    j->task.k = terms;
    j->patches = input_patches(p, count);
    j->task.a = (hu_operand){.stride = p->in_c, .k_stride = 1};
    if (!is_plain(p)) j->task.a.patches = &j->patches;
    j->task.b = (hu_operand){.stride = terms, .k_stride = 1};
    j->task.c_stride = p->out_c;
    j->a_step = depth;
    j->b_step = filters * terms;
    j->c_step = filters;
}

/* C [pixels, in_c] = A [pixels, taps x out_c] B [taps x out_c, in_c] */
static void input_grad_job(const hu_product *p, int64_t count, job *j) {
    int64_t depth = p->in_c / p->groups, filters = p->out_c / p->groups;
    int64_t taps = p->kernel_h * p->kernel_w;
    j->task.m = count * p->in_h * p->in_w;
    j->task.n = depth;
    j->task.k = taps * filters;
    j->patches = gradient_patches(p, count);
    j->task.a = (hu_operand){.stride = p->out_c, .k_stride = 1};
    if (!is_plain(p)) j->task.a.patches = &j->patches;
    j->task.b = (hu_operand){
        .stride = 1, .k_stride = taps * depth, .inner = filters, .outer_stride = depth};
    j->task.c_stride = p->in_c;
    j->a_step = filters;
    j->b_step = filters * taps * depth;
    j->c_step = depth;
}

/* C [out_c, taps x in_c] = A [out_c, pixels] B [pixels, taps x in_c] */
static void weight_grad_job(const hu_product *p, int64_t count, job *j) {
    int64_t depth = p->in_c / p->groups, filters = p->out_c / p->groups;
    int64_t width = p->kernel_h * p->kernel_w * depth;
    j->task.m = filters;
    j->task.n = width;
    j->task.k = count * p->out_h * p->out_w;
    j->patches = input_patches(p, count);
    j->task.a = (hu_operand){.stride = 1, .k_stride = p->out_c};
    j->task.b = (hu_operand){.stride = 1, .k_stride = p->in_c, .transposed = !is_plain(p)};
    if (!is_plain(p)) j->task.b.patches = &j->patches;
    j->task.c_stride = width;
    j->a_step = filters;
    j->b_step = depth;
    j->c_step = filters * width;
}

static void make_job(const hu_product_facts *facts, hu_product_role role, int64_t count, job *j) {
    static void (*const make[])(const hu_product *, int64_t, job *) = {forward_job, input_grad_job,
                                                                       weight_grad_job};
    *j = (job){0};
    j->task.accumulator =
        facts->accumulation->accumulator[hu_product_swapped(facts->transposed, role)];
    j->task.threads = 1;
    make[role](&facts->geometry, count, j);
}

/* ---- planning ---- */

/* Threads of one weight gradient; groups are shared out whole. */
static int team_of(const hu_product_facts *facts, const hu_gemm_task *task) {
    bool small = task->m * task->n * task->k < worth_a_team;
    return facts->geometry.groups > 1 || small ? 1 : facts->threads;
}

static hu_status job_scratch(const hu_product_facts *facts, hu_product_role role, size_t *bytes) {
    job j;
    *bytes = 0;
    if (!hu_product_is_accumulated(facts, role)) return HU_OK;
    make_job(facts, role, facts->chunk, &j);
    if (role == HU_PRODUCT_WEIGHT_GRAD) j.task.threads = team_of(facts, &j.task);
    hu_status st = hu_gemm_scratch_bytes(&j.task, bytes);
    *bytes = hu_round_up(*bytes, ALIGNMENT);
    return st;
}

hu_status hu_accumulate_plan(const hu_product_facts *facts) {
    size_t bytes;
    hu_status st = HU_OK;
    for (int role = 0; st == HU_OK && role < HU_PRODUCT_ROLES; role++)
        st = job_scratch(facts, (hu_product_role)role, &bytes);
    return st;
}

size_t hu_accumulate_scratch_bytes(const hu_product_facts *facts, hu_product_role role) {
    size_t bytes = 0;
    if (role != HU_PRODUCT_WEIGHT_GRAD) job_scratch(facts, role, &bytes);
    return bytes;
}

/* Of one group. */
static size_t carry_floats(const hu_product_facts *facts) {
    const hu_product *p = &facts->geometry;
    job j;
    make_job(facts, HU_PRODUCT_WEIGHT_GRAD, 1, &j);
    size_t floats = hu_gemm_carry_floats(&j.task.accumulator, p->out_c / p->groups,
                                         p->kernel_h * p->kernel_w * (p->in_c / p->groups));
    return hu_round_up(floats, ALIGNMENT / sizeof(float));
}

/* Call.carry: a carry per group, then scratch, one part per thread where there are groups. */
size_t hu_accumulate_carry_bytes(const hu_product_facts *facts) {
    const hu_product *p = &facts->geometry;
    size_t scratch, parts = p->groups > 1 ? (size_t)facts->threads : 1;
    if (!hu_product_is_accumulated(facts, HU_PRODUCT_WEIGHT_GRAD)) return 0;
    job_scratch(facts, HU_PRODUCT_WEIGHT_GRAD, &scratch);
    return (size_t)p->groups * carry_floats(facts) * sizeof(float) + parts * scratch;
}

/* ---- running ---- */

/* Where the three matrices of group 0 begin. */
static void point(job *j, const float *a, const float *b, float *c) {
    j->task.a.data = a;
    j->task.b.data = b;
    j->task.c = c;
}

static hu_gemm_counts *counts_of(const hu_product_facts *facts, const hu_product_call *call,
                                 hu_product_role role) {
    return call->counts ? &call->counts[hu_product_swapped(facts->transposed, role)] : NULL;
}

static bool run_group(const job *j, int64_t group) {
    hu_gemm_task task = j->task;
    task.a.data += group * j->a_step;
    task.b.data += group * j->b_step;
    task.c += group * j->c_step;
    if (task.bias) task.bias += group * j->c_step;
    return hu_gemm(&task) == HU_OK;
}

static bool run_groups(const job *j, int64_t groups) {
    bool done = true;
    for (int64_t g = 0; done && g < groups; g++) done = run_group(j, g);
    return done;
}

/* FORWARD or INPUT_GRAD, of the first rows of all samples of the call as one array; rows negative:
 * of all of them. */
static bool run_outputs(const hu_product_facts *facts, hu_product_role role,
                        const hu_product_call *call, int64_t rows) {
    const hu_product *p = &facts->geometry;
    job j;
    make_job(facts, role, call->count, &j);
    if (rows >= 0) j.task.m = rows;
    if (role == HU_PRODUCT_FORWARD) {
        point(&j, call->x, call->w, call->y);
        j.task.bias = p->has_bias ? call->bias : NULL;
    } else {
        point(&j, call->dy, call->w, call->dx);
    }
    j.task.counts = counts_of(facts, call, role);
    j.task.scratch = call->scratch;
    return run_groups(&j, p->groups);
}

static bool run_chunk(const hu_product_facts *facts, hu_product_role role,
                      const hu_product_call *call) {
    bool done = true;
    if (!call->lengths) return run_outputs(facts, role, call, -1);
    for (int64_t s = 0; done && s < call->count; s++) {
        const hu_product_call one = hu_call_of_sample(&facts->geometry, call, s);
        int64_t rows = hu_rows_valid(&facts->geometry, call, one.first);
        done = rows == 0 || run_outputs(facts, role, &one, rows);
    }
    return done;
}

/* Groups are shared out over the threads; sums of integers do not feel the order. */
static bool run_weight_groups(job *j, const hu_product_facts *facts, float *carry, char *scratch,
                              size_t scratch_bytes) {
    const hu_product *p = &facts->geometry;
    const int threads = facts->threads;
    size_t floats = carry_floats(facts);
    hu_gemm_counts *total = j->task.counts;
    int failed = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : failed)
    for (int64_t g = 0; g < p->groups; g++) {
        job mine = *j;
        hu_gemm_counts counts = {0};
        if (mine.task.b.patches) mine.task.b.patches = &mine.patches;
        mine.task.carry = carry + (size_t)g * floats;
        mine.task.scratch = scratch + (size_t)omp_get_thread_num() * scratch_bytes;
        if (total) mine.task.counts = &counts;
        failed += !run_group(&mine, g);
#pragma omp critical
        if (total) hu_gemm_counts_add(total, &counts);
    }
    return failed == 0;
}

/* x [terms, in], dy [terms, out] -> dw [weights], after `before` terms of other calls. */
static bool run_terms(const hu_product_facts *facts, const hu_product_call *call, int64_t terms,
                      int64_t before) {
    const hu_product *p = &facts->geometry;
    job j;
    size_t scratch_bytes;
    float *carry = call->carry;
    char *scratch = (char *)call->carry + (size_t)p->groups * carry_floats(facts) * sizeof *carry;
    make_job(facts, HU_PRODUCT_WEIGHT_GRAD, call->count, &j);
    point(&j, call->dy, call->x, call->dw);
    j.task.k = terms;
    j.task.before = before;
    j.task.counts = counts_of(facts, call, HU_PRODUCT_WEIGHT_GRAD);
    job_scratch(facts, HU_PRODUCT_WEIGHT_GRAD, &scratch_bytes);
    if (p->groups > 1) return run_weight_groups(&j, facts, carry, scratch, scratch_bytes);
    j.task.carry = carry;
    j.task.scratch = scratch;
    j.task.threads = team_of(facts, &j.task);
    return run_group(&j, 0);
}

/* Sample by sample, the rows that are present; the first call begins the sum, whatever it has. */
static bool run_terms_there(const hu_product_facts *facts, const hu_product_call *call) {
    const hu_product *p = &facts->geometry;
    int64_t before = 0;
    bool done = true;
    for (int64_t s = 0; s < call->first; s++) before += hu_rows_valid(p, call, s);
    for (int64_t s = 0; done && s < call->count; s++) {
        const hu_product_call one = hu_call_of_sample(p, call, s);
        int64_t rows = hu_rows_valid(p, call, one.first);
        done = (rows == 0 && before > 0) || run_terms(facts, &one, rows, before);
        before += rows;
    }
    return done;
}

/* x [count, in], dy [count, out] -> dw [weights], db [out_c] */
static bool run_weight_grad(const hu_product_facts *facts, const hu_product_call *call) {
    const hu_product *p = &facts->geometry;
    int64_t pixels = p->out_h * p->out_w;
    if (p->has_bias && call->db)
        hu_bias_add_rows(call->first == 0, call->count * pixels, p->out_c, call->dy, call->db);
    if (call->lengths) return run_terms_there(facts, call);
    return run_terms(facts, call, call->count * pixels, call->first * pixels);
}

bool hu_accumulate_run(const hu_product_facts *facts, hu_product_role role,
                       const hu_product_call *call) {
    return role == HU_PRODUCT_WEIGHT_GRAD ? run_weight_grad(facts, call)
                                          : run_chunk(facts, role, call);
}
