/* Drives one operation over a batch as an executor does: chunks with a short tail, partial results
 * merged in a tree over the chunk index, everything the op did not declare to save poisoned. */
#ifndef OP_DRIVE_H
#define OP_DRIVE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "op/op.h"

enum { DRIVE_INS = 4, POISON = 0xff };

typedef struct drive {
    const hu_op *op;
    hu_node_info info;
    hu_shape in_shape[DRIVE_INS], out_shape[HU_MAX_OUTPUTS], param_shape[HU_MAX_PARAMS];
    hu_param_decl decl[HU_MAX_PARAMS];
    bool need_din[DRIVE_INS];
    void *state;
    int64_t batch, chunk, chunks;
    bool training, reversed; /* reversed: chunks run from the last to the first */
    hu_random_key key;
    bool by_formula; /* noise, which then counts from so many samples */
    uint64_t drawn;
    float *in[DRIVE_INS], *din[DRIVE_INS]; /* [batch, shape] */
    float *out[HU_MAX_OUTPUTS], *dout[HU_MAX_OUTPUTS];
    float *param[HU_MAX_PARAMS], *dparam[HU_MAX_PARAMS], *chunk_dparam[HU_MAX_PARAMS];
    uint8_t *mask;
    double *stats, *partial;
    void *blocks[128];
    int block_count;
} drive;

/* A poisoned block of the drive: NaN as float32 and as double. */
static inline void *drive_block(drive *d, size_t bytes) {
    void *block;
    assert_true(d->block_count < 128);
    assert_int_equal(hu_alloc(bytes + 64, &block), HU_OK);
    memset(block, POISON, bytes + 64);
    d->blocks[d->block_count++] = block;
    return block;
}

static inline float *drive_floats(drive *d, int64_t count) {
    return drive_block(d, (size_t)count * sizeof(float));
}

/* Standard normal numbers. */
static inline void drive_fill(float *x, int64_t count, uint64_t stream) {
    hu_random_key key = {.seed = 7, .stream = stream, .step = 0};
    for (int64_t i = 0; i < count; i++) x[i] = hu_random_normal(&key, (uint64_t)i);
}

static inline int64_t drive_in_elements(const drive *d, int i) {
    return d->batch * hu_shape_elements(&d->in_shape[i]);
}
static inline int64_t drive_out_elements(const drive *d, int i) {
    return d->batch * hu_shape_elements(&d->out_shape[i]);
}
static inline int64_t drive_param_elements(const drive *d, int i) {
    return hu_shape_elements(&d->param_shape[i]);
}

static inline void drive_params(drive *d) {
    if (d->op->params)
        assert_int_equal(d->op->params(d->info.attrs, d->in_shape, d->decl, &d->info.n_params),
                         HU_OK);
    for (int p = 0; p < d->info.n_params; p++) {
        d->param_shape[p] = d->decl[p].shape;
        int64_t n = drive_param_elements(d, p);
        d->param[p] = drive_floats(d, n);
        d->dparam[p] = d->decl[p].trained ? drive_floats(d, n) : NULL;
        d->chunk_dparam[p] = d->decl[p].trained ? drive_floats(d, n * d->chunks) : NULL;
        drive_fill(d->param[p], n, 100 + (uint64_t)p);
        for (int64_t i = 0; i < n; i++) {
            float start = d->decl[p].init.kind == HU_INIT_CONSTANT ? d->decl[p].init.scale : 0;
            d->param[p][i] = start + (d->decl[p].trained ? 0.3f * d->param[p][i] : 0);
        }
    }
}

static inline size_t drive_partial_count(const drive *d, hu_pass pass) {
    return d->op->partial_count ? d->op->partial_count(&d->info, pass) : 0;
}

/* Inputs and output gradients are standard normal; callers overwrite what needs other numbers. */
static inline void drive_open(drive *d, const hu_op *op, const void *attrs, int n_in,
                              const hu_shape *in, int64_t batch, int64_t chunk) {
    *d = (drive){.op = op, .batch = batch, .chunk = chunk, .training = true};
    d->chunks = (batch + chunk - 1) / chunk;
    d->key = (hu_random_key){.seed = 3, .stream = 11, .step = 5};
    if (n_in > 0) memcpy(d->in_shape, in, (size_t)n_in * sizeof *in);
    d->info = (hu_node_info){.attrs = attrs,
                             .name = "case",
                             .n_in = n_in,
                             .in = d->in_shape,
                             .out = d->out_shape,
                             .param = d->param_shape,
                             .need_din = d->need_din,
                             .chunk = chunk,
                             .threads = 1};
    hu_status st = op->shape(attrs, n_in, in, &d->info.n_out, d->out_shape);
    if (st != HU_OK) fail_msg("%s: %s", op->name, hu_last_error());
    for (int i = 0; i < n_in; i++) {
        d->need_din[i] = true;
        d->in[i] = drive_floats(d, drive_in_elements(d, i));
        d->din[i] = drive_floats(d, drive_in_elements(d, i));
        drive_fill(d->in[i], drive_in_elements(d, i), 1 + (uint64_t)i);
    }
    for (int i = 0; i < d->info.n_out; i++) {
        d->out[i] = drive_floats(d, drive_out_elements(d, i));
        d->dout[i] = drive_floats(d, drive_out_elements(d, i));
        drive_fill(d->dout[i], drive_out_elements(d, i), 50 + (uint64_t)i);
    }
    drive_params(d);
    size_t mask = op->mask_bytes ? op->mask_bytes(&d->info) : 0;
    size_t forward = drive_partial_count(d, HU_FORWARD);
    size_t backward = drive_partial_count(d, HU_BACKWARD);
    d->mask = drive_block(d, mask * (size_t)batch);
    d->stats = drive_block(d, (op->stats_count ? op->stats_count(&d->info) : 0) * sizeof(double));
    d->partial = drive_block(d, (forward > backward ? forward : backward) * (size_t)d->chunks *
                                    sizeof(double));
    if (op->create && op->create(&d->info, &d->state) != HU_OK)
        fail_msg("%s: %s", op->name, hu_last_error());
    if (op->prepare && batch % chunk)
        assert_int_equal(op->prepare(&d->info, d->state, batch % chunk), HU_OK);
}

static inline void drive_close(drive *d) {
    if (d->op->release) d->op->release(d->state);
    for (int i = 0; i < d->block_count; i++) hu_free(d->blocks[i]);
}

/* The arrays a call points to. */
typedef struct drive_pointers {
    const float *in[DRIVE_INS], *param[HU_MAX_PARAMS], *dout[HU_MAX_OUTPUTS];
    float *out[HU_MAX_OUTPUTS], *din[DRIVE_INS], *dparam[HU_MAX_PARAMS];
} drive_pointers;

/* What the pass may not read stays in `poison`, [largest array] of NaN. */
static inline void drive_point(const drive *d, hu_pass pass, int64_t first, int64_t c,
                               float *poison, drive_pointers *p) {
    *p = (drive_pointers){0};
    for (int i = 0; i < d->info.n_in; i++) {
        bool may_read = pass == HU_FORWARD || (d->op->saves >> i & 1);
        p->in[i] = may_read ? d->in[i] + first * hu_shape_elements(&d->in_shape[i]) : poison;
        if (pass == HU_BACKWARD && d->need_din[i])
            p->din[i] = d->din[i] + first * hu_shape_elements(&d->in_shape[i]);
    }
    for (int i = 0; i < d->info.n_out; i++) {
        int64_t at = first * hu_shape_elements(&d->out_shape[i]);
        bool may_read = pass == HU_FORWARD || hu_saves_output(d->op, i);
        p->out[i] = may_read ? d->out[i] + at : poison;
        if (pass == HU_BACKWARD) p->dout[i] = d->dout[i] + at;
    }
    for (int i = 0; i < d->info.n_params; i++) {
        p->param[i] = d->param[i];
        if (pass == HU_BACKWARD && d->decl[i].trained)
            p->dparam[i] = d->op->dparam_per_chunk
                               ? d->chunk_dparam[i] + c * drive_param_elements(d, i)
                               : d->dparam[i];
    }
}

static inline size_t drive_bytes(const drive *d, hu_pass pass,
                                 size_t (*bytes)(const hu_node_info *, void *, hu_pass)) {
    return bytes ? bytes(&d->info, d->state, pass) : 0;
}

static inline void drive_merge(drive *d, hu_pass pass) {
    size_t count = drive_partial_count(d, pass);
    for (int64_t stride = 1; stride < d->chunks; stride *= 2)
        for (int64_t c = 0; c + stride < d->chunks; c += 2 * stride) {
            double *left = d->partial + (size_t)c * count;
            const double *right = d->partial + (size_t)(c + stride) * count;
            if (d->op->merge)
                d->op->merge(&d->info, pass, left, right);
            else
                for (size_t i = 0; i < count; i++) left[i] += right[i];
        }
}

static inline void drive_sum_dparams(drive *d) {
    for (int p = 0; p < d->info.n_params; p++) {
        int64_t n = drive_param_elements(d, p);
        if (!d->decl[p].trained || !d->op->dparam_per_chunk) continue;
        for (int64_t stride = 1; stride < d->chunks; stride *= 2)
            for (int64_t c = 0; c + stride < d->chunks; c += 2 * stride)
                for (int64_t i = 0; i < n; i++)
                    d->chunk_dparam[p][c * n + i] += d->chunk_dparam[p][(c + stride) * n + i];
        memcpy(d->dparam[p], d->chunk_dparam[p], (size_t)n * sizeof(float));
    }
}

/* One pass over all chunks. */
static inline void drive_pass(drive *d, hu_pass pass) {
    int64_t largest = 1;
    int mark = d->block_count;
    for (int i = 0; i < d->info.n_in; i++)
        if (drive_in_elements(d, i) > largest) largest = drive_in_elements(d, i);
    for (int i = 0; i < d->info.n_out; i++)
        if (drive_out_elements(d, i) > largest) largest = drive_out_elements(d, i);
    float *poison = drive_floats(d, largest);
    size_t scratch_bytes = drive_bytes(d, pass, d->op->scratch_bytes);
    drive_pointers p;
    hu_op_call call = {.info = &d->info,
                       .state = d->state,
                       .training = d->training,
                       .total = d->batch,
                       .key = d->key,
                       .by_formula = d->by_formula,
                       .drawn = d->drawn,
                       .in = p.in,
                       .out = p.out,
                       .param = p.param,
                       .dout = p.dout,
                       .din = p.din,
                       .dparam = p.dparam,
                       .stats = d->stats,
                       .workspace = drive_block(d, drive_bytes(d, pass, d->op->workspace_bytes)),
                       .scratch = drive_block(d, scratch_bytes)};
    drive_point(d, pass, 0, 0, poison, &p);
    if (d->op->begin) d->op->begin(&call, pass);
    for (int round = 0; round < 2; round++) {
        bool reduces_first = pass == HU_BACKWARD || !d->op->reduce_after_forward;
        bool reduce = (round == 0) == reduces_first;
        if (reduce && (!d->op->reduce || !drive_partial_count(d, pass))) continue;
        for (int64_t k = 0; k < d->chunks; k++) {
            int64_t c = d->reversed ? d->chunks - 1 - k : k;
            call.first = c * d->chunk;
            call.count = d->batch - call.first < d->chunk ? d->batch - call.first : d->chunk;
            call.mask = d->mask +
                        (size_t)call.first * (d->op->mask_bytes ? d->op->mask_bytes(&d->info) : 0);
            call.partial = d->partial + (size_t)c * drive_partial_count(d, pass);
            memset(call.scratch, POISON, scratch_bytes);
            drive_point(d, pass, call.first, c, poison, &p);
            if (reduce)
                d->op->reduce(&call, pass);
            else if (pass == HU_FORWARD)
                d->op->forward(&call);
            else
                d->op->backward(&call);
        }
        if (reduce) drive_merge(d, pass);
        call.partial = d->partial;
        drive_point(d, pass, 0, 0, poison, &p);
        if (reduce && d->op->finish) d->op->finish(&call, pass);
    }
    bool in_order = pass == HU_BACKWARD && d->op->in_batch_order && d->op->in_batch_order(&d->info);
    for (int64_t c = 0; in_order && c < d->chunks; c++) {
        call.first = c * d->chunk;
        call.count = d->batch - call.first < d->chunk ? d->batch - call.first : d->chunk;
        drive_point(d, pass, call.first, c, poison, &p);
        d->op->accumulate(&call);
    }
    if (pass == HU_BACKWARD) drive_sum_dparams(d);
    while (d->block_count > mark) hu_free(d->blocks[--d->block_count]);
}

static inline void drive_forward(drive *d) {
    drive_pass(d, HU_FORWARD);
}
static inline void drive_backward(drive *d) {
    drive_pass(d, HU_BACKWARD);
}

/* Updates the buffers as after a finite step. */
static inline void drive_commit(drive *d) {
    float *buffers[HU_MAX_PARAMS];
    hu_op_call call = {.info = &d->info,
                       .state = d->state,
                       .training = true,
                       .total = d->batch,
                       .stats = d->stats};
    for (int i = 0; i < d->info.n_params; i++) buffers[i] = d->decl[i].trained ? NULL : d->param[i];
    d->op->commit(&call, buffers);
}

#define DRIVE_SHAPE(...)                                                                           \
    (hu_shape) {                                                                                   \
        .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .extent = {         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#endif
