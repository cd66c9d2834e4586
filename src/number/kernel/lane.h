/* kernel/lane.h - what the bodies of the kernels share: selections as arithmetic, which compilers
 * turn into vector code without branches, and vectors of 8 floats. For bodies only: names without
 * prefix. */
#ifndef HU_KERNEL_LANE_H
#define HU_KERNEL_LANE_H
#include <stdint.h>

#define HU_INLINE static inline __attribute__((always_inline))

/* Before a loop of at most 16 turns that is to vanish. Instrumented builds keep the loop: unrolled,
 * its checks take the compiler minutes. */
#if defined(__SANITIZE_ADDRESS__)
#define HU_UNROLL
#elif defined(__clang__)
#define HU_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HU_UNROLL _Pragma("GCC unroll 16")
#endif

/* 1 if a < b, for magnitudes below 2^31: vector units compare signed numbers in one step. */
HU_INLINE uint32_t is_less(uint32_t a, uint32_t b) {
    return (uint32_t)((int32_t)a < (int32_t)b);
}

/* is ? a : b for is = 0 or 1. */
HU_INLINE uint32_t pick(uint32_t is, uint32_t a, uint32_t b) {
    return b ^ ((a ^ b) & (0 - is));
}

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));

HU_INLINE const v8 *load(const float *p) {
    return (const v8 *)p;
}

HU_INLINE v8 *store(float *p) {
    return (v8 *)p;
}

#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* Transposes 8x8 numbers in three steps: pairs of rows, quadruples, halves of 128 bits. */
HU_INLINE void transpose_8(v8 x[8]) {
    v8 pair[8], quad[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i] = MIX(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pair[i + 1] = MIX(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        quad[i] = MIX(pair[i], pair[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        quad[i + 1] = MIX(pair[i], pair[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        quad[i + 2] = MIX(pair[i + 1], pair[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        quad[i + 3] = MIX(pair[i + 1], pair[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        x[i] = MIX(quad[i], quad[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        x[i + 4] = MIX(quad[i], quad[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#endif
