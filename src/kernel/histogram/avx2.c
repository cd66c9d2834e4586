#define HU_FIELDS hu_fields_avx2
#include "kernel/histogram/fields.inc"
