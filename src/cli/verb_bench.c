/* halfulp bench kernel=NAME: rates beside a reference measured in the same run. */
#include <string.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/verb.h"

static const struct {
    const char *name;
    hu_status (*run)(hu_config *config);
} kernels[] = {
#define ROW(name) {#name, hu_bench_##name},
    HU_BENCH_LIST(ROW)
#undef ROW
};

static hu_status run_bench(hu_config *config, int *exit_code) {
    const char *name;
    (void)exit_code;
    hu_status st = hu_config_text(config, "bench.kernel", &name);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0) return kernels[i].run(config);
    return hu_fail(HU_ERR_INTERNAL, "bench.kernel=%s has no row in bench.h", name);
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_bench = {
    .name = "bench",
    .help = "rates beside a reference measured in the same run",
    .usage = "kernel=NAME [keys of that kernel] [repeat=N] [--json]",
    .details =
        "step   two trainings, one in float32, take turns step by step; the best of N turns of "
        "each counts\n"
        "round  rounding by format and mode (format= elements=), beside memcpy\n"
        "pack   packing into codes and back (format= elements=), beside memcpy of the float32 "
        "numbers\n"
        "gemm   products by accumulator (accumulator=LIST, m= n= k=; usual ones if not given) "
        "beside\n"
        "       oneDNN's sgemm and the machine's peak\n",
    .flags = flags,
    .max_subjects = 0,
    .run = run_bench,
};
