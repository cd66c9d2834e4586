#include "planner/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/chunk.h"

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Adds the nodes that a region's visits have met to its members, in ascending order. */
static hu_status keep_members(hu_run *run, uint32_t region, hu_pass pass) {
    hu_members *members = &run->exec[region].members[pass];
    hu_rehearsal *seen = &run->rehearsal;
    void *array;
    hu_free(members->node); /* every course meets the same */
    *members = (hu_members){0};
    hu_status st = hu_alloc_array(seen->met_count, sizeof *members->node, &array);
    if (st != HU_OK) return st;
    *members = (hu_members){.node = array, .count = seen->met_count};
    for (uint32_t i = 0; i < seen->met_count; i++) {
        members->node[i] = seen->met[i];
        seen->has_met[seen->met[i]] = false;
    }
    if (members->count > 1) qsort(members->node, members->count, sizeof *members->node, ascending);
    seen->met_count = 0;
    return HU_OK;
}

/* One visit of a region, to a chunk of full length. */
static void rehearse_visit(hu_run *run, uint32_t n, hu_pass pass, void (*step)(hu_chunk *)) {
    hu_chunk visit = hu_chunk_begin(run, &run->thread[0], n, pass, 0);
    step(&visit);
}

/* The contributions to a parameter's gradient are added. */
static void rehearse_sum(hu_run *run, hu_value_id param) {
    const hu_value_info *value = &run->graph->value[param];
    for (uint32_t k = 0; k < value->use_count; k++)
        hu_rehearse_buffer(run, run->grad[value->uses[k]].buffer);
    hu_rehearse_buffer(run, run->grad_sum[param].buffer);
}

/* The chunks of a node are done: its partial results are merged, its parameter gradients stored. */
static void rehearse_finish(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_node *node = &run->graph->node[n];
    hu_rehearse_buffer(run, run->exec[n].partial[pass]);
    hu_rehearse_buffer(run, run->exec[n].stats);
    if (pass == HU_BACKWARD) hu_rehearse_buffer(run, run->exec[n].dpartial);
    for (int j = 0; j < node->n_params && pass == HU_BACKWARD; j++) {
        uint32_t use = node->first_use + (uint32_t)(node->n_in + j);
        hu_rehearse_buffer(run, run->grad[use].buffer);
        if (hu_contribution_completes(run, use)) rehearse_sum(run, node->param[j]);
    }
}

/* The partial results of a node are merged; what a product looks at leaves no gradients. */
static void rehearse_reduced(hu_run *run, uint32_t n, hu_pass pass) {
    if (!hu_looks_at_operands(run, n, pass)) {
        rehearse_finish(run, n, pass);
        return;
    }
    hu_rehearse_buffer(run, run->exec[n].partial[pass]);
    hu_rehearse_buffer(run, run->exec[n].stats);
}

/* What a region pulls reads an output of its node, as its first input. */
static void rehearse_pulled(hu_run *run, uint32_t n) {
    const hu_graph *graph = run->graph;
    for (int i = 0; i < graph->node[n].n_out; i++) {
        const hu_value_info *value = &graph->value[graph->node[n].out[i]];
        for (uint32_t k = value->use_count; k-- > 0;) {
            const hu_use *use = &graph->use[value->uses[k]];
            if (use->index == 0 && hu_sums_pulled(run, use->node, n))
                rehearse_finish(run, use->node, HU_BACKWARD);
        }
    }
}

static void rehearse_region(hu_run *run, uint32_t n, hu_pass pass) {
    if (pass == HU_BACKWARD) rehearse_pulled(run, n);
    for (uint32_t m = hu_region_last(run, n) + 1; m-- > hu_region_first(run, n);)
        rehearse_finish(run, m, pass);
}

static void rehearse_guests(hu_run *run, uint32_t n, hu_pass pass) {
    for (uint32_t m = run->exec[n].first[pass]; m != HU_NONE; m = run->exec[m].next[pass])
        rehearse_reduced(run, m, pass);
}

/* Metrics read predictions and targets when the forward pass has ended. */
static void keep_predictions(hu_run *run) {
    const hu_graph *graph = run->graph;
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_node *loss = &graph->node[graph->loss[k].node];
        for (int i = 0; i < loss->n_in && hu_node_runs(loss, run->pass.phase); i++)
            hu_rehearse_buffer(run, run->value[loss->in[i]].buffer);
    }
    if (run->pass.phase > 0) return;
    hu_rehearse_buffer(run, run->value[hu_graph_made(graph)].buffer);
    hu_rehearse_buffer(run, run->value[hu_graph_wanted(graph)].buffer);
}

/* Statistics of a turn's batch are taken over when its last node has run, also where no backward
 * pass of the turn wants them. */
static void keep_statistics(hu_run *run) {
    for (uint32_t n = 0; n < run->graph->node_count && run->pass.phase > 0; n++) {
        const hu_node *node = &run->graph->node[n];
        if (node->op->commit && hu_node_runs(node, run->pass.phase))
            hu_rehearse_buffer(run, run->exec[n].stats);
    }
}

static hu_status rehearse_forward(hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    run->rehearsal.time = 0;
    for (uint32_t i = 0; i < graph->loaded_count; i++) {
        if (!hu_value_is_read(graph, graph->loaded[i], run->pass.phase)) continue;
        hu_rehearse_buffer(run, run->value[graph->loaded[i]].buffer);
        hu_rehearse_buffer(run, run->value[graph->loaded[i]].staging);
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!hu_node_runs(&graph->node[n], run->pass.phase)) continue;
        run->rehearsal.time = hu_time_forward(n);
        if (hu_reduces_alone(run, n, HU_FORWARD)) {
            rehearse_visit(run, n, HU_FORWARD, hu_chunk_reduce);
            rehearse_reduced(run, n, HU_FORWARD);
        }
        if (hu_is_region(run, n)) {
            rehearse_visit(run, n, HU_FORWARD, hu_chunk_forward);
            rehearse_guests(run, n, HU_FORWARD);
        }
        HU_TRY(keep_members(run, n, HU_FORWARD));
    }
    /* The sums of the losses are read when the last node has run. */
    for (int k = 0; k < graph->loss_count; k++)
        if (hu_node_runs(&graph->node[graph->loss[k].node], run->pass.phase))
            hu_rehearse_buffer(run, run->exec[graph->loss[k].node].stats);
    keep_predictions(run);
    keep_statistics(run);
done:
    return st;
}

static hu_status rehearse_backward(hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        if (!hu_node_learns(&graph->node[n], run->pass.phase)) continue;
        run->rehearsal.time = hu_time_backward(graph, n);
        if (hu_reduces_alone(run, n, HU_BACKWARD)) {
            rehearse_visit(run, n, HU_BACKWARD, hu_chunk_reduce);
            rehearse_reduced(run, n, HU_BACKWARD);
        }
        if (run->exec[n].backward_in == n) {
            rehearse_visit(run, n, HU_BACKWARD, hu_chunk_backward);
            rehearse_region(run, n, HU_BACKWARD);
            rehearse_guests(run, n, HU_BACKWARD);
        }
        HU_TRY(keep_members(run, n, HU_BACKWARD));
    }
done:
    return st;
}

/* A buffer lives from a time of the present course to the update. */
static void keep_from(hu_run *run, int32_t time, uint32_t buffer) {
    run->rehearsal.time = time;
    hu_rehearse_buffer(run, buffer);
    run->rehearsal.time = hu_time_update(run->graph);
    hu_rehearse_buffer(run, buffer);
}

/* The rounded copies of the parameters live from the start of a step to the update, their gradients
 * until then; gradients of an earlier turn until the end of the step. */
static void keep_until_update(hu_run *run) {
    const hu_graph *graph = run->graph;
    int phase = run->rehearsal.course;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (value->role != HU_VALUE_PARAMETER) continue;
        keep_from(run, 0, run->value[v].buffer);
        if (value->use_count == 0 || run->options.only_forward) continue;
        bool is_later = phase > value->phase + 1, is_own = phase == value->phase + 1;
        run->rehearsal.time = hu_time_update(graph);
        if (is_later)
            keep_from(run, 0, hu_param_gradient(run, v)->buffer);
        else if (is_own || hu_graph_courses(graph) == 0)
            hu_rehearse_buffer(run, hu_param_gradient(run, v)->buffer);
    }
}

/* What an earlier walk has noted, but for the scratch: it is enough for both. */
static void forget(hu_run *run) {
    for (uint32_t b = 0; b < run->buffer_count; b++) hu_buffer_forget(&run->buffers[b]);
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        for (int pass = 0; pass < 2; pass++) {
            hu_free(run->exec[n].members[pass].node);
            run->exec[n].members[pass] = (hu_members){0};
        }
}

/* The passes of a step without turns, or of one turn; of graphs with courses the one of number 0 is
 * an evaluation. */
static hu_status rehearse_course(hu_run *run, int course) {
    hu_status st = HU_OK;
    bool learns = !run->options.only_forward && (course > 0 || hu_graph_courses(run->graph) == 0);
    run->rehearsal.course = run->pass.phase = course;
    memset(run->has_contributed, 0, run->graph->use_count * sizeof *run->has_contributed);
    HU_TRY(rehearse_forward(run));
    if (learns) HU_TRY(rehearse_backward(run));
    keep_until_update(run);
done:
    return st;
}

/* What no step has used needs no memory. */
static void drop_unused(hu_run *run) {
    for (uint32_t b = 0; b < run->buffer_count; b++) {
        hu_buffer *buffer = &run->buffers[b];
        if (hu_buffer_is_used(buffer)) continue;
        hu_buffer_use(buffer, 0, 0);
        buffer->bytes = 0;
    }
}

hu_status hu_rehearse(hu_run *run) {
    hu_status st = HU_OK;
    void *has_met, *met = NULL;
    HU_TRY(hu_alloc_array(run->graph->node_count, sizeof(bool), &has_met));
    run->rehearsal = (hu_rehearsal){.is_on = true, .has_met = has_met};
    HU_TRY(hu_alloc_array(run->graph->node_count, sizeof(uint32_t), &met));
    run->rehearsal.met = met;
    run->pass = (hu_pass_options){.training = true, .samples = run->options.chunk};
    run->chunks = 1;
    do {
        forget(run);
        for (int course = 0; course <= hu_graph_courses(run->graph); course++)
            HU_TRY(rehearse_course(run, course));
    } while (hu_saved_input_drop(run));
    drop_unused(run);
done:
    hu_free(run->rehearsal.has_met);
    hu_free(run->rehearsal.met);
    run->rehearsal = (hu_rehearsal){0};
    return st;
}
