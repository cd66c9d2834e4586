/* kernel/gemm/source_pack.h - panels of a factor: strided matrices or patches, rounded on the way.
 * Thread-safe: the source is read only.
 */
#ifndef HU_KERNEL_GEMM_SOURCE_PACK_H
#define HU_KERNEL_GEMM_SOURCE_PACK_H
#include "kernel/gemm/source.h"

/* Elements (first .. first+width-1, k .. k+run-1) -> panel[run][width], zeros behind the last row;
 * HU_PACK_SPILL floats behind the panel may change. run <= HU_SOURCE_RUN_MAX. Numbers rounded here
 * are added to counts (NULL: not counted). */
void hu_source_pack(const hu_source *source, int64_t first, int width, int64_t k, int64_t run,
                    float *panel, hu_round_counts *counts);

/* `panels` panels as of hu_source_pack, one after the other from row `first` on, `step` floats from
 * one to the next: where rows lie side by side, each term of all panels is read at once. */
void hu_source_pack_side(const hu_source *source, int64_t first, int width, int64_t panels,
                         int64_t k, int64_t run, int64_t step, float *panel,
                         hu_round_counts *counts);

#endif
