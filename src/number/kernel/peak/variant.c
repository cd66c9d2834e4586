/* kernel/peak/variant.c - the loops of one instruction set: chains x steps multiply-adds a round,
 * values that stay near 1. Twelve chains fill two units of five steps' latency and leave registers
 * for the factors. */
#include "kernel/peak/peak.h"

#if defined(__AVX512F__) /* one instruction for each vector */
#include <immintrin.h>
typedef __m512 vector;
#define SPREAD(x) _mm512_set1_ps(x)
#define MULTIPLY_ADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#define LOGICAL_AND(x, y) _mm512_and_ps(x, y)
#define KEEP(x) __asm__("" : "+v"(x))
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256 vector;
#define SPREAD(x) _mm256_set1_ps(x)
#define MULTIPLY_ADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define LOGICAL_AND(x, y) _mm256_and_ps(x, y)
#define KEEP(x) __asm__("" : "+v"(x))
#else /* four lanes that every compiler knows, product and sum apart */
typedef float vector __attribute__((vector_size(16)));
typedef uint32_t bits __attribute__((vector_size(16)));
#define SPREAD(x) ((vector){x, x, x, x})
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#define LOGICAL_AND(x, y) ((vector)((bits)(x) & (bits)(y)))
#if defined(__x86_64__)
#define KEEP(x) __asm__("" : "+x"(x))
#else
#define KEEP(x) __asm__("" : "+w"(x))
#endif
#endif

static float multiply_adds(uint64_t rounds) {
    vector chain[HU_PEAK_CHAINS], factor = SPREAD(0.9999999f), addend = SPREAD(1e-7f);
    float lanes[sizeof(vector) / sizeof(float)], sum = 0.0f;
    for (int c = 0; c < HU_PEAK_CHAINS; c++) chain[c] = SPREAD(1.0f + (float)c);
    for (uint64_t round = 0; round < rounds; round++)
        for (int step = 0; step < HU_PEAK_STEPS; step++)
            for (int c = 0; c < HU_PEAK_CHAINS; c++)
                chain[c] = MULTIPLY_ADD(chain[c], factor, addend);
    for (int c = 0; c < HU_PEAK_CHAINS; c++) {
        __builtin_memcpy(lanes, &chain[c], sizeof lanes);
        for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); i++) sum += lanes[i];
    }
    return sum;
}

/* As many multiply-adds as logical operations, in chains of their own: eight of the one and four of
 * the other leave registers for the factors among sixteen. The compiler does not see through the
 * masks, so that it keeps all operations on them. */
static float mixed(uint64_t rounds) {
    vector chain[HU_MIXED_CHAINS], factor = SPREAD(0.9999999f), addend = SPREAD(1e-7f);
    vector mask_0 = SPREAD(1.0f), mask_1 = SPREAD(2.0f), mask_2 = SPREAD(3.0f),
           mask_3 = SPREAD(4.0f);
    float lanes[sizeof(vector) / sizeof(float)], sum = 0.0f;
    for (int c = 0; c < HU_MIXED_CHAINS; c++) chain[c] = SPREAD(1.0f + (float)c);
    for (uint64_t round = 0; round < rounds; round++)
        for (int step = 0; step < HU_PEAK_STEPS; step++)
            for (int c = 0; c < HU_MIXED_CHAINS; c += 4) {
                for (int i = 0; i < 4; i++)
                    chain[c + i] = MULTIPLY_ADD(chain[c + i], factor, addend);
                mask_0 = LOGICAL_AND(mask_0, factor);
                mask_1 = LOGICAL_AND(mask_1, factor);
                mask_2 = LOGICAL_AND(mask_2, factor);
                mask_3 = LOGICAL_AND(mask_3, factor);
                KEEP(mask_0);
                KEEP(mask_1);
                KEEP(mask_2);
                KEEP(mask_3);
            }
    chain[0] = MULTIPLY_ADD(mask_0, mask_1, chain[0]);
    chain[1] = MULTIPLY_ADD(mask_2, mask_3, chain[1]);
    for (int c = 0; c < HU_MIXED_CHAINS; c++) {
        __builtin_memcpy(lanes, &chain[c], sizeof lanes);
        for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); i++) sum += lanes[i];
    }
    return sum;
}

const hu_peak_loops HU_VARIANT(hu_peak_loops) = {sizeof(vector) / sizeof(float), multiply_adds,
                                                 mixed};
