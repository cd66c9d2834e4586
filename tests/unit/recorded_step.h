/* Trainings whose operations note what they are handed, all samples of a step. */
#ifndef HU_TEST_RECORDED_STEP_H
#define HU_TEST_RECORDED_STEP_H
#include "engine/internal.h"
#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { REC_BATCH = 6, REC_MOST = 4096, REC_IDS = 224, REC_NODES = 96 };

typedef struct recording {
    float value[REC_IDS][REC_MOST];  /* by value: as its node made it; images and labels */
    float param[REC_IDS][REC_MOST];  /* by value: as its nodes read it */
    float master[REC_IDS][REC_MOST]; /* by value: of parameters, before the step */
    float in[REC_IDS][REC_MOST];     /* by use: as the node reads it forward */
    float saved[REC_IDS][REC_MOST];  /* by use: as it reads it backward */
    float dout[REC_IDS][REC_MOST];   /* by value: the gradient that its node reads */
    float apart[REC_IDS][REC_MOST];  /* by value: the same as its node's parameters read it */
    float din[REC_IDS][REC_MOST];    /* by use: the gradient that its node brings */
    float dparam[REC_IDS][REC_MOST]; /* by value: of parameters, of the whole batch */
    bool has_din[REC_IDS], has_saved[REC_IDS];
} recording;

static recording rec;
static const hu_trainer *rec_trainer;
static hu_op rec_op[REC_NODES];
static const hu_op *rec_original[REC_NODES];

/* Number of the node that a call is for. */
static inline uint32_t rec_node_of(const hu_op_call *call) {
    const hu_graph *graph = rec_trainer->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->node[n].name, call->info->name) == 0) return n;
    fail_msg("no node '%s'", call->info->name);
    return 0;
}

/* Threads note different samples. */
static inline void rec_note(float *to, const float *from, const hu_op_call *call,
                            const hu_shape *shape) {
    int64_t n = hu_shape_elements(shape);
    assert_true((call->first + call->count) * n <= REC_MOST);
    if (from) memcpy(to + call->first * n, from, (size_t)(call->count * n) * sizeof *to);
}

/* What visits read of the parameters may be packed: they are noted before. */
static inline void rec_params(const hu_op_call *call, hu_pass pass) {
    uint32_t n = rec_node_of(call);
    const hu_node *node = &rec_trainer->graph->node[n];
    for (int p = 0; pass == HU_FORWARD && p < node->n_params; p++)
        memcpy(rec.param[node->param[p]], call->param[p],
               (size_t)hu_shape_elements(&call->info->param[p]) * sizeof(float));
    if (rec_original[n]->begin) rec_original[n]->begin(call, pass);
}

static inline void rec_forward(const hu_op_call *call) {
    uint32_t n = rec_node_of(call);
    const hu_node *node = &rec_trainer->graph->node[n];
    for (int i = 0; i < node->n_in; i++)
        rec_note(rec.in[node->first_use + (uint32_t)i], call->in[i], call, &call->info->in[i]);
    rec_original[n]->forward(call);
    rec_note(rec.value[node->out[0]], call->out[0], call, &call->info->out[0]);
}

static inline void rec_backward(const hu_op_call *call) {
    uint32_t n = rec_node_of(call);
    const hu_node *node = &rec_trainer->graph->node[n];
    bool is_apart = rec_trainer->edges.grad_weights[node->out[0]].is_apart;
    if (is_apart && call->dparam[0]) {
        rec_note(rec.apart[node->out[0]], call->dout[0], call, &call->info->out[0]);
        assert_null(call->din[0]);
        rec_original[n]->backward(call);
        return;
    }
    rec_note(rec.dout[node->out[0]], call->dout[0], call, &call->info->out[0]);
    for (int i = 0; i < node->n_in; i++)
        if (call->in[i]) {
            rec_note(rec.saved[node->first_use + (uint32_t)i], call->in[i], call,
                     &call->info->in[i]);
            rec.has_saved[node->first_use + (uint32_t)i] = true;
        }
    rec_original[n]->backward(call);
    for (int i = 0; i < node->n_in; i++)
        if (call->din[i]) {
            rec_note(rec.din[node->first_use + (uint32_t)i], call->din[i], call,
                     &call->info->in[i]);
            rec.has_din[node->first_use + (uint32_t)i] = true;
        }
}

/* The plan is made with the real operations. */
static inline void rec_begin(fixture *f) {
    hu_graph *graph = f->trainer->graph;
    rec_trainer = f->trainer;
    assert_true(graph->node_count <= REC_NODES && graph->value_count <= REC_IDS &&
                graph->use_count <= REC_IDS);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        rec_original[n] = graph->node[n].op;
        rec_op[n] = *graph->node[n].op;
        rec_op[n].forward = rec_forward;
        rec_op[n].begin = rec_params;
        rec_op[n].backward = rec_backward;
        rec_op[n].forward_relu = NULL;
        graph->node[n].op = &rec_op[n];
    }
}

static inline void rec_note_parameters(const fixture *f, bool is_before) {
    const hu_graph *graph = f->trainer->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        size_t bytes = (size_t)value->elements * sizeof(float);
        if (value->role != HU_VALUE_PARAMETER) continue;
        if (is_before)
            memcpy(rec.master[v], f->trainer->weights.block + f->trainer->weights.offset[v], bytes);
        else
            memmove(rec.dparam[v],
                    hu_run_param_grad(f->trainer->run, v, 0, value->elements, rec.dparam[v]),
                    bytes);
    }
}

/* One step with all that is recorded of it. */
static inline hu_step_report rec_step(fixture *f) {
    hu_trainer *trainer = f->trainer;
    memset(&rec, 0, sizeof rec);
    rec_note_parameters(f, true);
    hu_step_report report = step(f);
    assert_int_equal(report.samples, REC_BATCH);
    rec_note_parameters(f, false);
    int64_t in_epoch = report.step % trainer->steps_per_epoch;
    hu_batch_source source = {trainer, trainer->train_loader, in_epoch * REC_BATCH, NULL};
    for (uint32_t k = 0; k < trainer->graph->loaded_count; k++)
        hu_fill_batch(&source, k, 0, REC_BATCH, rec.value[trainer->graph->loaded[k]]);
    return report;
}

#endif
