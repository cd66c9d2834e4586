/* kernel/table/unpack_vbmi.c - numbers of codes of up to 8 bits: the four bytes of their float32
 * patterns are tables of 256 bytes in registers. */
#include "kernel/pack/pack.h"
#include "kernel/pack/stream_avx512.h"
#include "kernel/table/patterns_vbmi.h"

/* What follows n is constant at every call. */
HU_INLINE void unpack_all(const hu_packer *p, const uint8_t *codes, float *y, size_t n,
                          bool has_low, bool is_scaled, bool is_large) {
    const patterns all = load_patterns(p->steps, p->format.bias);
    for (size_t i = 0; i < n; i += GROUP) {
        __m512i out[VECTORS];
        if (is_large) __builtin_prefetch(codes + i + AHEAD_BYTES);
        numbers_of(&all, _mm512_loadu_si512(codes + i), has_low, is_scaled, out);
        HU_UNROLL
        for (int k = 0; k < VECTORS; k++) put(y + i + (ptrdiff_t)LANES * k, out[k], is_large);
    }
}

HU_INLINE void unpack_sized(const hu_packer *p, const uint8_t *codes, float *y, size_t n,
                            bool is_large) {
    if (p->format.bias)
        unpack_all(p, codes, y, n, true, true, is_large);
    else if (p->steps->has_low)
        unpack_all(p, codes, y, n, true, false, is_large);
    else
        unpack_all(p, codes, y, n, false, false, is_large);
}

hu_unpack_fn hu_unpack_bytes_vbmi, hu_unpack_table_8_avx512;
void hu_unpack_bytes_vbmi(const hu_packer *p, size_t n, const void *codes, float *y) {
    size_t whole = n / GROUP * GROUP;
    if (whole >= LARGE && (uintptr_t)y % GROUP == 0) {
        unpack_sized(p, codes, y, whole, true);
        _mm_sfence();
    } else {
        unpack_sized(p, codes, y, whole, false);
    }
    hu_unpack_table_8_avx512(p, n - whole, (const uint8_t *)codes + whole, y + whole);
}
