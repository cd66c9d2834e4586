/* kernel/gemm/tensor_core.h - accumulators of tensor cores: named ones and their texts.
 *
 *   core   = (name | option) (":" option)*      commas may stand for the colons
 *   option = "K=" terms | "F=" bits | "out=" (bits | format) | "round=" ("rz" | "rne") | "c=late" |
 *            "promote=" terms | "emin=" exponent ["/" exponent]
 *
 * Thread-safe: pure functions of their arguments.
 * Proof: tests/unit/kernel_tensor_core_test.c, tests/exhaustive/kernel_tensor_core.c.
 */
#ifndef HU_KERNEL_GEMM_TENSOR_CORE_H
#define HU_KERNEL_GEMM_TENSOR_CORE_H
#include <halfulp/gemm.h>

enum { HU_CORE_TERMS_MOST = 256, HU_CORE_BITS_MOST = 52 };

/* A unit that was measured or published. */
typedef struct hu_core {
    const char *name;
    int terms, align_bits, out_bits; /* K, F, and the fraction bits of a step's result */
    bool is_late;
    int least_exponent; /* of both factors */
    const char *what;   /* instructions and source, one line */
} hu_core;

/* Number index of the list, NULL beyond the last. Borrowed: valid forever. */
const hu_core *hu_core_at(size_t index);

/* text + length: the colon after "tc". Fills all but semantics. */
hu_status hu_core_parse(const char *text, size_t length, hu_accumulator *accumulator);

/* The numbers of TC: HU_ERR_ARGUMENT, HU_ERR_FORMAT. Not the format itself. */
hu_status hu_core_check(const hu_accumulator *accumulator);

/* A checked accumulator; capacity at least 96. HU_ERR_LIMIT: the text is longer. */
hu_status hu_core_print(const hu_accumulator *accumulator, char *text, uint32_t capacity);

#endif
