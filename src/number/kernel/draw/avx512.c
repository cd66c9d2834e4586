#define HU_RECORD hu_normals_avx512
#include "kernel/draw/normals.inc"
