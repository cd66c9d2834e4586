#define HU_RECORD hu_reduce_columns_scalar
#include "kernel/reduce/columns.inc"
