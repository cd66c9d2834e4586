#define HU_RECORD hu_resample_avx512
#include "kernel/resample/body.inc"
