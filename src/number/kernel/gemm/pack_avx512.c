#define HU_PACK_SET hu_pack_set_avx512
#include "kernel/gemm/pack_table.h"

#include "kernel/gemm/pack.inc"
