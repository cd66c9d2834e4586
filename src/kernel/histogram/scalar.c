#define HU_FIELDS hu_fields_scalar
#include "kernel/histogram/fields.inc"
