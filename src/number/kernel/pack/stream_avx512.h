/* kernel/pack/stream_avx512.h - where numbers go that a kernel reads: into a cache, or past it. For
 * kernels only: names without prefix. */
#ifndef HU_KERNEL_PACK_STREAM_AVX512_H
#define HU_KERNEL_PACK_STREAM_AVX512_H
#include <immintrin.h>

#include "kernel/lane.h"

/* Arrays from here on are too large to be found in a cache again: reads are announced ahead, and
 * stores go past the caches, so that the lines written are not read first. They need aligned
 * addresses, and _mm_sfence() at the end. */
enum { LARGE = 1 << 23, AHEAD_BYTES = 2048 };

HU_INLINE void put(float *y, __m512i v, int is_large) {
    if (is_large)
        _mm512_stream_si512((void *)y, v);
    else
        _mm512_storeu_si512(y, v);
}

#endif
