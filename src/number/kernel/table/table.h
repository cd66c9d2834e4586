/* kernel/table/table.h - rounding and packing by formats by table, reached through hu_rounder and
 * hu_packer. Thread-safe: what is prepared is read only.
 */
#ifndef HU_KERNEL_TABLE_H
#define HU_KERNEL_TABLE_H
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

/* As hu_rounder_init on an instruction set of the caller's choice (which must be there); format: a
 * valid one by table. HU_ERR_MEMORY. Proof: tests/exhaustive/kernel_table.c. */
hu_status hu_table_rounder_init(hu_rounder *rounder, const hu_format *format, hu_rounding rounding,
                                hu_isa isa);

/* As hu_packer_init_isa, where code_bits were checked. HU_ERR_MEMORY. */
hu_status hu_table_packer_init(hu_packer *packer, const hu_format *format, int code_bits,
                               hu_isa isa);

#endif
