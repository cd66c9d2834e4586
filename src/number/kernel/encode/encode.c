#include "kernel/encode/encode.h"

#include "base/bits.h"
#include "format/table/steps.h"

enum { PART = 4096 }; /* numbers between rounding and packing; a multiple of 8 */

/* Where the codes of element `at` begin, a multiple of 8. */
static void *place_of(const hu_packer *packer, void *codes, size_t at) {
    return (char *)codes + hu_packer_bytes(packer, at);
}

static size_t part_of(size_t n, size_t at) {
    return n - at < PART ? n - at : PART;
}

void hu_encode_plain(const hu_rounder *rounder, const hu_packer *packer, size_t n, const float *x,
                     float *y, void *codes, const hu_random_key *key, uint64_t first,
                     hu_round_counts *counts) {
    float room[PART];
    for (size_t at = 0; at < n; at += PART) {
        size_t count = part_of(n, at);
        float *part = y ? y + at : room;
        hu_rounder_run(rounder, count, x + at, part, key, first + at, counts);
        hu_packer_pack(packer, count, part, place_of(packer, codes, at), NULL);
    }
}

/* Whether both have the bytes of a table, for codes of 8 bits. */
static bool serves_table(const hu_rounder *rounder, const hu_packer *packer) {
    return rounder->route == HU_ROUTE_TABLE && packer->code_bits == 8 && rounder->steps->bytes &&
           packer->steps->bytes && hu_format_equal(&rounder->format, &packer->format);
}

/* Where an overflow becomes NaN, its code must have a sign as that of a NaN that came in. */
int hu_encode_serves(const hu_rounder *rounder, const hu_packer *packer) {
    int is_nan = (rounder->overflow_value[0] & ~HU_F32_SIGN) > HU_F32_INFINITY;
    int is_half = rounder->route == HU_ROUTE_ALIGNED && packer->code_bits == 16;
    return rounder->rounding == HU_ROUND_NEAREST_EVEN &&
           (rounder->route == HU_ROUTE_MAGIC || is_half) && rounder->finish == HU_FINISH_PLAIN &&
           packer->code_bits != 0 && packer->pack && packer->zero_sign &&
           (int)hu_format_bits(&packer->format) == packer->code_bits &&
           (packer->nan_sign || !is_nan) && hu_format_equal(&rounder->format, &packer->format);
}

hu_encode_fn HU_OF_ISA(hu_encode_table);
#if defined(__x86_64__)
hu_encode_fn hu_encode_bytes_vbmi, hu_encode_members_vbmi;
#endif

/* The kernel for a table, or NULL. */
static hu_encode_fn *table_kernel(const hu_rounder *rounder, const hu_packer *packer,
                                  bool are_members) {
    hu_encode_fn *const by_isa[HU_ISA_COUNT] = {HU_OF_ISA(hu_encode_table)};
    bool is_drawn = hu_rounding_draws(rounder->rounding) && !are_members;
    if (is_drawn || !serves_table(rounder, packer)) return NULL;
#if defined(__x86_64__)
    if (hu_cpu_has_vbmi()) return are_members ? hu_encode_members_vbmi : hu_encode_bytes_vbmi;
#endif
    return are_members || rounder->steps->route == HU_STEPS_SEARCH ? NULL : by_isa[hu_cpu_isa()];
}

#if defined(__x86_64__)
hu_encode_fn hu_encode_avx2, hu_encode_avx512;

/* The kernel for a float on this instruction set, or NULL. */
static hu_encode_fn *float_kernel(const hu_rounder *rounder, const hu_packer *packer) {
    if (hu_cpu_isa() < HU_ISA_AVX2 || !hu_encode_serves(rounder, packer)) return NULL;
    return hu_cpu_isa() == HU_ISA_AVX2 ? hu_encode_avx2 : hu_encode_avx512;
}
#else
static hu_encode_fn *float_kernel(const hu_rounder *rounder, const hu_packer *packer) {
    (void)rounder, (void)packer;
    return NULL;
}
#endif

/* The kernel for these, or NULL. Short arrays do not repay its preparation. are_members: the
 * rounder changes none of the numbers. */
static hu_encode_fn *kernel_for(const hu_rounder *rounder, const hu_packer *packer, size_t n,
                                bool are_members) {
    enum { SHORT = 256 };
    if (n < SHORT) return NULL;
    return rounder->route == HU_ROUTE_TABLE ? table_kernel(rounder, packer, are_members)
                                            : float_kernel(rounder, packer);
}

/* Numbers that the kernel has done, from the first on. */
static size_t encode_groups(const hu_rounder *rounder, const hu_packer *packer, size_t n,
                            const float *x, float *y, void *codes, bool are_members,
                            hu_round_counts *counts) {
    hu_encode_fn *kernel = kernel_for(rounder, packer, n, are_members);
    size_t whole = n / HU_ENCODE_GROUP * HU_ENCODE_GROUP;
    hu_round_counts unasked;
    if (!kernel) return 0;
    if (!counts) hu_round_counts_clear(&unasked);
    kernel(rounder, packer, whole, x, y, codes, counts ? counts : &unasked);
    return whole;
}

void hu_encode(const hu_rounder *rounder, const hu_packer *packer, size_t n, const float *x,
               float *y, void *codes, const hu_random_key *key, uint64_t first,
               hu_round_counts *counts) {
    size_t done = encode_groups(rounder, packer, n, x, y, codes, false, counts);
    if (done < n)
        hu_encode_plain(rounder, packer, n - done, x + done, y ? y + done : NULL,
                        place_of(packer, codes, done), key, first + done, counts);
}

void hu_encode_on_grid(const hu_rounder *rounder, const hu_packer *packer, size_t n, const float *x,
                       void *codes, hu_round_counts *counts) {
    for (size_t at = encode_groups(rounder, packer, n, x, NULL, codes, true, counts); at < n;
         at += PART) {
        size_t count = part_of(n, at);
        if (counts) hu_count_on_grid(rounder, count, x + at, counts);
        hu_packer_pack(packer, count, x + at, place_of(packer, codes, at), NULL);
    }
}
