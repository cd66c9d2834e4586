/* kernel/gemm/source_patches.h - panels of implicit patches. Internal to source_pack.c. */
#ifndef HU_KERNEL_GEMM_SOURCE_PATCHES_H
#define HU_KERNEL_GEMM_SOURCE_PATCHES_H
#include "kernel/gemm/source.h"

extern const float hu_source_zeros[HU_SOURCE_RUN_MAX];

/* As hu_source_pack, without rounding; `valid` of the panel's rows exist. Rows are patches, or
 * columns of patches. */
void hu_source_pack_patches(const hu_source *source, int64_t first, int width, int valid, int64_t k,
                            int64_t run, float *panel);
void hu_source_pack_columns_of_patches(const hu_source *source, int64_t first, int width, int valid,
                                       int64_t k, int64_t run, float *panel);

#endif
