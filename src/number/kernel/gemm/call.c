/* kernel/gemm/call.c - hu_gemm: what a call begins with, and sums of tensor cores that go on in
 * further calls.
 *
 * A step of TC needs all its factors at once. Where a call ends within a step, the sums at rest are
 * those before it, and its factors so far lie behind them in the carry, [terms][m] and [terms][n];
 * c is written as if the sum ended there. The next call completes these factors and multiplies them
 * as a product of their own.
 * Proof: tests/unit/kernel_gemm_driver_test.c, bit for bit against hu_gemm_reference.
 */
#include <string.h>

#include "base/error.h"
#include "kernel/gemm/multiply.h"
#include "kernel/gemm/operand.h"
#include "kernel/gemm/tile.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- steps over two calls ---- */

/* Where the factors of an unfinished step lie. */
typedef struct kept {
    float *a, *b;
    int64_t terms; /* of earlier calls */
} kept;

static kept kept_of(const hu_gemm_task *task) {
    float *a = task->carry + 2 * task->m * task->n;
    int64_t block = task->accumulator.block;
    return (kept){a, a + block * task->m, task->before % block};
}

/* The step's first `terms` terms as a product of its own. */
static hu_gemm_task product_of_kept(const hu_gemm_task *task, const kept *k, int64_t terms) {
    hu_gemm_task product = *task;
    product.k = terms;
    product.a = (hu_operand){.data = k->a, .stride = 1, .k_stride = task->m};
    product.b = (hu_operand){.data = k->b, .stride = 1, .k_stride = task->n};
    product.before = task->before - k->terms;
    return product;
}

static void keep_factor(const hu_operand *operand, int64_t rows, int64_t first, int64_t count,
                        float *to) {
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < rows; i++) to[k * rows + i] = hu_operand_at(operand, i, first + k);
}

/* Terms first .. first + count - 1 of the call become those after the step's first `at`. */
static void keep_terms(const hu_gemm_task *task, const kept *k, int64_t at, int64_t first,
                       int64_t count) {
    keep_factor(&task->a, task->m, first, count, k->a + at * task->m);
    keep_factor(&task->b, task->n, first, count, k->b + at * task->n);
}

/* What the call before counted of the step, as if it had been the last. */
static hu_status take_back(const hu_gemm_task *task, const kept *k) {
    hu_status st = HU_OK;
    hu_gemm_counts counted = {0};
    hu_gemm_task product = product_of_kept(task, k, k->terms);
    if (!task->counts) return HU_OK;
    product.counts = &counted;
    HU_TRY(hu_gemm_multiply(&product, 0, 0));
    task->counts->values -= counted.values;
    task->counts->subnormal -= counted.subnormal;
    task->counts->overflow -= counted.overflow;
    task->counts->terms -= counted.terms;
    task->counts->stalled -= counted.stalled;
done:
    return st;
}

/* Numbers that packing does not see: of images it sees all if it sees any. */
static void count_head(const hu_operand *operand, int64_t rows, int64_t head, bool has_rest) {
    if (!operand->patches || !has_rest) hu_operand_count(operand, rows, head);
}

/* Goes on with the step that the last call left, by `head` terms. */
static hu_status finish_step(const hu_gemm_task *task, const kept *k, int64_t head) {
    hu_status st = HU_OK;
    int64_t terms = k->terms + head;
    hu_gemm_task product = product_of_kept(task, k, terms);
    HU_TRY(take_back(task, k));
    keep_terms(task, k, k->terms, 0, head);
    count_head(&task->a, task->m, head, head < task->k);
    count_head(&task->b, task->n, head, head < task->k);
    HU_TRY(hu_gemm_multiply(&product, 0, terms == task->accumulator.block ? terms : 0));
done:
    return st;
}

/* A sum of TC with a carry. */
static hu_status go_on(const hu_gemm_task *task) {
    hu_status st = HU_OK;
    const kept k = kept_of(task);
    int64_t block = task->accumulator.block;
    int64_t head = k.terms > 0 ? least(block - k.terms, task->k) : 0;
    int64_t whole = head + (task->k - head) / block * block;
    if (task->before == 0)
        memset(task->carry, 0, (size_t)(2 * task->m * task->n) * sizeof *task->carry);
    if (k.terms > 0) HU_TRY(finish_step(task, &k, head));
    if (k.terms == 0 && task->k == 0) hu_gemm_state_end(task);
    if (head == task->k) return HU_OK;
    HU_TRY(hu_gemm_multiply(task, head, whole));
    keep_terms(task, &k, 0, whole, task->k - whole);
done:
    return st;
}

/* ---- the call ---- */

/* Bytes of scratch of a task with elements, of TC also for a step of two calls. */
static hu_status scratch_bytes(const hu_gemm_task *task, size_t *bytes) {
    hu_status st = HU_OK;
    hu_gemm_plan plan;
    hu_gemm_task step = *task;
    *bytes = 0;
    if (task->k > 0) {
        HU_TRY(hu_gemm_plan_make(task, hu_cpu_isa(), &plan));
        *bytes = plan.bytes;
    }
    if (task->accumulator.mac != HU_MAC_TC) return HU_OK;
    step.k = task->accumulator.block;
    step.a = (hu_operand){.stride = 1, .k_stride = task->m};
    step.b = (hu_operand){.stride = 1, .k_stride = task->n};
    HU_TRY(hu_gemm_plan_make(&step, hu_cpu_isa(), &plan));
    if (*bytes < plan.bytes) *bytes = plan.bytes;
done:
    return st;
}

/* No terms, or no elements: sources are counted, sums end where they are. */
static void multiply_nothing(const hu_gemm_task *task) {
    hu_operand_count(&task->a, task->m, task->k);
    hu_operand_count(&task->b, task->n, task->k);
    hu_gemm_state_end(task);
}

hu_status hu_gemm(const hu_gemm_task *task) {
    HU_GIVEN(task);
    hu_status st = hu_gemm_check(task);
    size_t bytes;
    if (st != HU_OK) return st;
    bool has_elements = task->m > 0 && task->n > 0;
    bool goes_on = task->accumulator.mac == HU_MAC_TC && task->carry;
    if (!has_elements || (task->k == 0 && !goes_on)) {
        multiply_nothing(task);
        return HU_OK;
    }
    /* How much of scratch is written depends on the plan, so its overlap is checked here. */
    if (task->scratch) {
        HU_TRY(scratch_bytes(task, &bytes));
        HU_TRY(hu_gemm_check_scratch(task, bytes));
    }
    st = goes_on ? go_on(task) : hu_gemm_multiply(task, 0, task->k);
done:
    return st;
}

hu_status hu_gemm_scratch_bytes(const hu_gemm_task *task, size_t *bytes) {
    HU_GIVEN(bytes);
    HU_GIVEN(task);
    hu_status st = HU_OK;
    int64_t floats;
    *bytes = 0;
    HU_TRY(hu_accumulator_check(&task->accumulator));
    HU_TRY(hu_gemm_check_extents(task));
    if (task->threads < 1)
        return hu_fail(HU_ERR_ARGUMENT, "gemm: %d threads, at least 1", task->threads);
    HU_TRY(hu_operand_span(&task->a, task->m, task->k, "a", &floats));
    HU_TRY(hu_operand_span(&task->b, task->n, task->k, "b", &floats));
    bool is_empty = task->m == 0 || task->n == 0;
    if (is_empty || (task->k == 0 && task->accumulator.mac != HU_MAC_TC)) return HU_OK;
    HU_TRY(scratch_bytes(task, bytes));
done:
    return st;
}
