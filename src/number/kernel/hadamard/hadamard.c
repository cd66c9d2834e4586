#include "kernel/hadamard/hadamard.h"

#include "base/bits.h"
#include "kernel/round/round.h"

extern const hu_hadamard_kernels HU_OF_ISA(hu_hadamard_kernels);

const hu_hadamard_kernels *hu_hadamard_kernels_of(hu_isa isa) {
    static const hu_hadamard_kernels *const kernels[HU_ISA_COUNT] = {
        HU_AT_ISA(hu_hadamard_kernels)};
    return kernels[isa];
}

bool hu_hadamard_is_size(int64_t size) {
    return size >= 2 && size <= HU_HADAMARD_MOST && (size & (size - 1)) == 0;
}

#define P 0u
#define M HU_F32_SIGN
#define SIGNS_16 P, P, P, M, P, M, M, M, M, M, M, P, M, P, M, M
#define SIGNS_64 SIGNS_16, SIGNS_16, SIGNS_16, SIGNS_16
#define SIGNS_256 SIGNS_64, SIGNS_64, SIGNS_64, SIGNS_64

const uint32_t *hu_hadamard_fixed(hu_hadamard_signs signs) {
    static const uint32_t fixed[HU_HADAMARD_MOST] = {SIGNS_256, SIGNS_256, SIGNS_256, SIGNS_256};
    static const uint32_t none[HU_HADAMARD_MOST] = {0};
    return signs == HU_SIGNS_FIXED ? fixed : none;
}

void hu_hadamard_draw(const hu_random_key *key, int32_t size, uint32_t *signs) {
    hu_random_words_fast(key, 0, (size_t)size, signs);
    for (int32_t i = 0; i < size; i++) signs[i] &= HU_F32_SIGN;
}

/* The largest group of at most `left` numbers. */
static int64_t group_of(int32_t size, int64_t left) {
    int64_t group = size;
    while (group > left) group /= 2;
    return group;
}

void hu_hadamard_line_isa(hu_isa isa, int32_t size, const uint32_t *signs, size_t n, const float *x,
                          float *y, bool back) {
    const hu_hadamard_kernels *kernels = hu_hadamard_kernels_of(isa);
    for (size_t at = 0; at < n;) {
        size_t group = (size_t)group_of(size, (int64_t)(n - at)), count = (n - at) / group * group;
        kernels->groups((int32_t)group, signs, count, x + at, y + at, back);
        at += count;
    }
}

void hu_hadamard_line(int32_t size, const uint32_t *signs, size_t n, const float *x, float *y,
                      bool back) {
    hu_hadamard_line_isa(hu_cpu_isa(), size, signs, n, x, y, back);
}

void hu_hadamard_across_isa(hu_isa isa, int32_t size, const uint32_t *signs, int64_t lines,
                            int64_t columns, const float *x, float *y, bool back) {
    enum { STRIPE = 64 }; /* columns whose group stays in the nearest cache */
    const hu_hadamard_kernels *kernels = hu_hadamard_kernels_of(isa);
    for (int64_t line = 0; line < lines;) {
        int64_t group = group_of(size, lines - line);
        for (int64_t c = 0; c < columns; c += STRIPE) {
            int64_t n = columns - c < STRIPE ? columns - c : STRIPE, at = line * columns + c;
            kernels->columns((int32_t)group, signs, columns, (size_t)n, x + at, y + at, back);
        }
        line += group;
    }
}

void hu_hadamard_across(int32_t size, const uint32_t *signs, int64_t lines, int64_t columns,
                        const float *x, float *y, bool back) {
    hu_hadamard_across_isa(hu_cpu_isa(), size, signs, lines, columns, x, y, back);
}
