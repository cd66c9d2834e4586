/* oneDNN as a library: the cap of its instruction set, and its version. */
#include <pthread.h>
#include <stdio.h>

#include "base/cpu.h"
#include "base/error.h"
#include "product/dnn.h"
#include "product/dnn_api.h"

static pthread_once_t cap_once = PTHREAD_ONCE_INIT;
static bool cap_failed;

/* oneDNN takes the cap only before its first primitive. */
static void cap_isa(void) {
    hu_isa isa = hu_cpu_isa();
    if (isa == hu_cpu_isa_native()) return;
    dnnl_cpu_isa_t cap = isa == HU_ISA_AVX2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
    dnnl_set_max_cpu_isa(cap);
    cap_failed = ((unsigned)dnnl_get_effective_cpu_isa() & ~(unsigned)cap) != 0;
}

hu_status hu_dnn_check_isa(void) {
    pthread_once(&cap_once, cap_isa);
    if (!cap_failed) return HU_OK;
    return hu_fail(HU_ERR_INTERNAL,
                   "oneDNN was in use before HALFULP_MAX_ISA=%s could cap its instruction set",
                   hu_isa_name(hu_cpu_isa()));
}

void hu_dnn_version(char *text, uint32_t capacity) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, capacity, "%d.%d.%d", version->major, version->minor, version->patch);
}
