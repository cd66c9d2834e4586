/* kernel/peak/scalar.c - four lanes that every compiler knows, product and sum apart. */
#include "kernel/peak/peak.h"

typedef float vector __attribute__((vector_size(16)));
typedef uint32_t bits __attribute__((vector_size(16)));
#define SPREAD(x) ((vector){x, x, x, x})
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#define LOGICAL_AND(x, y) ((vector)((bits)(x) & (bits)(y)))
#if defined(__x86_64__)
#define KEEP(x) __asm__("" : "+x"(x))
#else
#define KEEP(x) __asm__("" : "+w"(x))
#endif
#define NAME hu_peak_scalar
#define MIXED_NAME hu_peak_mixed_scalar

#include "kernel/peak/body.inc"
