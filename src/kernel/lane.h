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

#endif
