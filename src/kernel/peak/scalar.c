/* kernel/peak/scalar.c - four lanes that every compiler knows, product and sum apart. */
#include "kernel/peak/peak.h"

typedef float vector __attribute__((vector_size(16)));
#define SPREAD(x) ((vector){x, x, x, x})
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#define NAME hu_peak_scalar

#include "kernel/peak/body.inc"
