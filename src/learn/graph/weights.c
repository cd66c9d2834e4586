#include "graph/graph.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernel/elementary/elementary.h"

/* Gives all values of a role their places after each other, from place *next on. */
static hu_status place_role(const hu_graph *graph, hu_value_role role, int64_t *offset,
                            int64_t *next) {
    static const int64_t most = INT64_C(1) << 44;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (value->role != role) continue;
        if (value->elements > most - *next)
            return hu_fail(HU_ERR_LIMIT,
                           "'%s': %lld elements, expected at most %lld in all weights", value->name,
                           (long long)value->elements, (long long)most);
        offset[v] = *next;
        *next += value->elements;
    }
    return HU_OK;
}

hu_status hu_weights_create(const hu_graph *graph, hu_weights *weights) {
    hu_status st = HU_OK;
    void *block;
    *weights = (hu_weights){0};
    HU_TRY(HU_NEW_ARRAY(&weights->offset, graph->value_count));
    for (hu_value_id v = 0; v < graph->value_count; v++) weights->offset[v] = -1;
    HU_TRY(place_role(graph, HU_VALUE_PARAMETER, weights->offset, &weights->elements));
    weights->trained = weights->elements;
    HU_TRY(place_role(graph, HU_VALUE_BUFFER, weights->offset, &weights->elements));
    HU_TRY(hu_alloc_for(HU_MEMORY_PARAMETERS, (size_t)weights->elements * sizeof *weights->block,
                        &block));
    weights->block = block;
done:
    if (st != HU_OK) hu_weights_free(weights);
    return st;
}

void hu_weights_free(hu_weights *weights) {
    hu_free(weights->block);
    hu_free(weights->offset);
    *weights = (hu_weights){0};
}

/* Initial numbers first .. first+count-1 of a parameter. */
static void draw_initial(const hu_init *init, const hu_random_key *key, int64_t first,
                         int64_t count, float *x) {
    switch (init->kind) {
    case HU_INIT_NORMAL:
        hu_draw_normals(key, (uint64_t)first, (size_t)count, x);
        for (int64_t i = 0; i < count; i++) x[i] = init->scale * x[i];
        break;
    case HU_INIT_UNIFORM:
        hu_draw_uniforms(key, (uint64_t)first, (size_t)count, x);
        for (int64_t i = 0; i < count; i++) x[i] = init->scale * (2.0f * x[i] - 1.0f);
        break;
    case HU_INIT_SHARE:
        hu_draw_uniforms(key, (uint64_t)first, (size_t)count, x);
        for (int64_t i = 0; i < count; i++) x[i] = init->scale * x[i];
        break;
    case HU_INIT_CONSTANT:
        for (int64_t i = 0; i < count; i++) x[i] = init->scale;
        break;
    }
}

void hu_weights_draw(const hu_weights *weights, const hu_graph *graph, uint64_t seed, int threads) {
    enum { BLOCK = 16384 };
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (value->role != HU_VALUE_PARAMETER && value->role != HU_VALUE_BUFFER) continue;
        hu_random_key key = {seed, hu_stream_id("init", value->name), 0};
        float *x = hu_weights_of(weights, v);
        int64_t elements = value->elements;
#pragma omp parallel for num_threads(threads) if (elements > BLOCK) schedule(static)
        for (int64_t first = 0; first < elements; first += BLOCK) {
            int64_t left = elements - first;
            draw_initial(&value->init, &key, first, left < BLOCK ? left : BLOCK, x + first);
        }
    }
}
