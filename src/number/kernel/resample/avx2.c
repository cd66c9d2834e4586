#define HU_RECORD hu_resample_avx2
#include "kernel/resample/body.inc"
