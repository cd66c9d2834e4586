#define HU_RECORD hu_reduce_columns_avx2
#include "kernel/reduce/columns.inc"
