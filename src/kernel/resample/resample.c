#include "kernel/resample/resample.h"

const hu_resample *hu_resample_here(void) {
    static const hu_resample *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_resample)};
    return of_isa[hu_cpu_isa()];
}
