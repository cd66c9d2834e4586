#define HU_RECORD hu_reduce_columns_avx512
#include "kernel/reduce/columns.inc"
