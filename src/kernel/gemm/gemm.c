/* kernel/gemm/gemm.c - the product of a task, element by element, with sums that go on. */
#include "kernel/gemm/operand.h"
#include "kernel/gemm/reference.h"

hu_status hu_gemm_scratch_bytes(const hu_gemm_task *task, size_t *bytes) {
    (void)task;
    *bytes = 64;
    return HU_OK;
}

static hu_gemm_state state_of(const hu_gemm_task *task, int64_t at) {
    if (!task->carry || task->before == 0) return (hu_gemm_state){0};
    return (hu_gemm_state){.sum = task->carry[at],
                           .extra = task->carry[task->m * task->n + at],
                           .phase = task->accumulator.mac == HU_MAC_FMAC_K
                                        ? task->before % task->accumulator.block
                                        : 0};
}

static void run_element(const hu_gemm_task *task, int64_t i, int64_t j, hu_gemm_counts *counts) {
    int64_t at = i * task->n + j;
    hu_gemm_state state = state_of(task, at);
    for (int64_t k = 0; k < task->k; k++)
        hu_gemm_step(&task->accumulator, hu_operand_at(&task->a, i, k),
                     hu_operand_at(&task->b, j, k), &state, counts);
    if (task->carry) {
        task->carry[at] = state.sum;
        task->carry[task->m * task->n + at] = state.extra;
    }
    task->c[i * task->c_stride + j] =
        hu_gemm_state_value(&task->accumulator, &state, task->bias ? &task->bias[j] : NULL);
}

hu_status hu_gemm(const hu_gemm_task *task) {
    hu_gemm_counts ignored = {0};
    hu_status st = hu_gemm_check(task);
    if (st != HU_OK) return st;
    hu_operand_count(&task->a, task->m, task->k);
    hu_operand_count(&task->b, task->n, task->k);
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++)
            run_element(task, i, j, task->counts ? task->counts : &ignored);
    return HU_OK;
}
