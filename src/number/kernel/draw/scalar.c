#define HU_RECORD hu_normals_scalar
#include "kernel/draw/normals.inc"
