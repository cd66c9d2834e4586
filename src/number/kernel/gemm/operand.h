/* kernel/gemm/operand.h - the operands of a product with an accumulator, checked. */
#ifndef HU_KERNEL_GEMM_OPERAND_H
#define HU_KERNEL_GEMM_OPERAND_H
#include <halfulp/gemm.h>

/* Element (i, k) as the product takes it: rounded to operand->format if there is one. Nothing is
 * counted. */
float hu_operand_at(const hu_operand *operand, int64_t i, int64_t k);

/* Adds the counts of rounding every number of the source once to operand->counts, where there is a
 * format and there are counts: the `rows` x `terms` elements of a matrix, the pixels of images. */
void hu_operand_count(const hu_operand *operand, int64_t rows, int64_t terms);

/* Floats from operand->data to one after the last number that an operand of these extents can
 * read; 0 for an empty one. HU_ERR_SHAPE if the number does not fit, or patches are not rows x
 * terms; HU_ERR_ARGUMENT for strides; HU_ERR_FORMAT. name ("a") for messages. */
hu_status hu_operand_span(const hu_operand *operand, int64_t rows, int64_t terms, const char *name,
                          int64_t *floats);

/* m, n and k alone: HU_ERR_SHAPE where one is negative or their products overflow. */
hu_status hu_gemm_check_extents(const hu_gemm_task *task);

/* Everything that hu_gemm says it rejects: extents, operands, accumulator, buffers, overlap; that
 * of scratch, whose size depends on the instruction set, by itself. */
hu_status hu_gemm_check(const hu_gemm_task *task);

/* HU_ERR_ARGUMENT: task->scratch, if there is one, overlaps a buffer of a checked task. */
hu_status hu_gemm_check_scratch(const hu_gemm_task *task, size_t bytes);

/* total becomes the counts of both together. */
static inline void hu_gemm_counts_add(hu_gemm_counts *total, const hu_gemm_counts *more) {
    total->values += more->values;
    total->subnormal += more->subnormal;
    total->overflow += more->overflow;
    total->terms += more->terms;
    total->stalled += more->stalled;
}

#endif
