#include "engine/visit.h"

#include "engine/facts.h"
#include "engine/gradient.h"
#include "engine/loop.h"
#include "engine/rows.h"
#include "engine/value.h"

static void point_partial(hu_visit *visit, uint32_t n, hu_op_call *call) {
    const hu_exec *exec = &visit->run->exec[n];
    double *all = hu_buffer_data(visit->run, exec->partial[visit->pass]);
    hu_visit_touch(visit, exec->partial[visit->pass]);
    call->partial = all ? all + (size_t)visit->chunk * exec->partial_count[visit->pass] : NULL;
}

/* The partial result of a node. */
static void reduce(hu_visit *visit, uint32_t n) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_op_call *call = hu_visit_call(visit, n);
    /* Forward, reduce sees all inputs; backward, the saved ones and the outputs' gradients. */
    for (int i = 0; i < node->n_in; i++)
        call->in[i] = visit->pass == HU_FORWARD ? hu_visit_input(visit, n, i, false)
                                                : hu_visit_saved(visit, n, i);
    for (int i = 0; i < node->n_out && visit->pass == HU_BACKWARD; i++)
        call->dout[i] = hu_visit_gradient(visit, n, node->out[i], NULL).rows;
    point_partial(visit, n, call);
    hu_visit_point_mask(visit, n, call);
    hu_visit_lend_scratch(visit, n, call);
    if (run->rehearsal.is_on) return;
    hu_work_start(visit);
    node->op->reduce(call, visit->pass);
    hu_work_stop(visit, run->exec[n].kind);
}

static void reduce_guests(hu_visit *visit) {
    const hu_exec *exec = visit->run->exec;
    for (uint32_t n = exec[visit->region].first[visit->pass]; n != HU_NONE;
         n = exec[n].next[visit->pass])
        reduce(visit, n);
}

/* A region that is one node. */
static void forward_alone(hu_visit *visit) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[visit->region];
    hu_op_call *call = hu_visit_call(visit, visit->region);
    for (int i = 0; i < node->n_in; i++)
        call->in[i] = hu_visit_input(visit, visit->region, i, true);
    hu_visit_point_mask(visit, visit->region, call);
    for (int i = 0; i < node->n_out; i++) call->out[i] = hu_visit_room(visit, node->out[i]);
    hu_visit_lend_scratch(visit, visit->region, call);
    hu_visit_run_op(visit, visit->region, node->op->forward, call);
    for (int i = 0; i < node->n_out; i++) hu_visit_store(visit, node->out[i], call->out[i]);
    uint32_t taker = hu_taker(run, visit->region);
    if (taker != HU_NONE) (void)hu_visit_value(visit, run->graph->node[taker].out[0]);
}

void hu_visit_forward(hu_visit *visit) {
    if (hu_loop_at(visit->run, visit->region))
        hu_loop_forward(visit);
    else
        forward_alone(visit);
    reduce_guests(visit);
}

void hu_visit_backward(hu_visit *visit) {
    const hu_exec *exec = visit->run->exec;
    if (hu_loop_at(visit->run, visit->region))
        hu_loop_backward(visit);
    else
        hu_visit_run_backward(visit, visit->region);
    for (uint32_t n = exec[visit->region].first[HU_GUESTS_PUSHED]; n != HU_NONE;
         n = exec[n].next[HU_GUESTS_PUSHED])
        hu_visit_run_backward(visit, n);
    reduce_guests(visit);
}

void hu_visit_reduce(hu_visit *visit) {
    reduce(visit, visit->region);
}
