/* kernel/simd/x86.h - the vectors of this instruction set: SIMD(add_ps) is _mm256_add_ps with AVX2
 * and _mm512_add_ps with AVX-512. For bodies only: names without prefix. */
#ifndef HU_KERNEL_SIMD_X86_H
#define HU_KERNEL_SIMD_X86_H
#include <immintrin.h>

#if defined(__AVX512F__)
#define SIMD(operation) _mm512_##operation
#define SIMD_WORDS_OF_FLOATS _mm512_castps_si512
#define SIMD_FLOATS_OF_WORDS _mm512_castsi512_ps
typedef __m512i simd_words;
#else
#define SIMD(operation) _mm256_##operation
#define SIMD_WORDS_OF_FLOATS _mm256_castps_si256
#define SIMD_FLOATS_OF_WORDS _mm256_castsi256_ps
typedef __m256i simd_words;
#endif

#endif
