#include "graph/whole.h"

#include "graph/visit.h"

void hu_whole_backward(hu_run *run, uint32_t n) {
    int threads = run->options.threads;
    for (int64_t first = 0; first < run->chunks; first += threads) {
        int64_t left = run->chunks - first, count = left < threads ? left : threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (count > 1)
        for (int64_t i = 0; i < count; i++) {
            hu_visit visit = hu_visit_begin(run, &run->thread[i], n, HU_BACKWARD, first + i);
            hu_visit_backward(&visit);
        }
        for (int64_t i = 0; i < count; i++) {
            hu_op_call *call = &run->thread[i].call[n];
            run->graph->node[n].op->accumulate(call);
        }
    }
}

void hu_products_begin(hu_run *run, uint32_t n) {
    bool counts = run->pass.count_products && !run->pass.scan;
    for (int t = 0; t < run->options.threads; t++) {
        hu_thread *thread = &run->thread[t];
        thread->call[n].product_counts = counts ? thread->product_counts : NULL;
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) thread->product_counts[r] = (hu_gemm_counts){0};
    }
}

void hu_products_collect(hu_run *run, uint32_t n) {
    hu_gemm_counts *total = run->edges->products[n].counts;
    for (int t = 0; t < run->options.threads; t++)
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            const hu_gemm_counts *more = &run->thread[t].product_counts[r];
            total[r].values += more->values;
            total[r].subnormal += more->subnormal;
            total[r].overflow += more->overflow;
        }
}
