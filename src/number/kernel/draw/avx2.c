#define HU_RECORD hu_normals_avx2
#include "kernel/draw/normals.inc"
