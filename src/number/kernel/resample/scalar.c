#define HU_RECORD hu_resample_scalar
#include "kernel/resample/body.inc"
