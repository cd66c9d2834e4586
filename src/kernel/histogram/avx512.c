#define HU_FIELDS hu_fields_avx512
#include "kernel/histogram/fields.inc"
