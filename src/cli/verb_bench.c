/* halfulp bench kernel=NAME: rates beside a reference measured in the same run. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bench/bench.h"
#include "cli/verb.h"
#include "config/used.h"

/* Keys that each kernel reads. */
#define OF_ALL "bench.kernel", "run.repeat", "run.threads", "run.quiet"
static const char *const step_keys[] = {OF_ALL,        "bench.beside",  "model.*",     "data.*",
                                        "precision.*", "accumulator.*", "optimizer.*", "lr.*",
                                        "scaler.*",    "eval.*",        "run.*",       NULL};
static const char *const round_keys[] = {OF_ALL, "bench.format", "bench.elements", NULL};
static const char *const pack_keys[] = {OF_ALL, "bench.format", "bench.elements", NULL};
static const char *const allreduce_keys[] = {OF_ALL, "bench.format", "bench.elements", NULL};
static const char *const gemm_keys[] = {
    OF_ALL, "accumulator.name", "accumulator.semantics", "gemm.m", "gemm.n", "gemm.k", NULL};
static const char *const conv_keys[] = {OF_ALL, "run.chunk", NULL};

/* One row for each line of HU_BENCH_LIST: word, function, keys. */
static const struct {
    const char *name;
    hu_status (*run)(hu_config *config);
    const char *const *keys;
} kernels[] = {
#define ROW(name) {#name, hu_bench_##name, name##_keys},
    HU_BENCH_LIST(ROW)
#undef ROW
};

/* Finds the kernel by its word; keys that it does not read are refused. */
static hu_status run_bench(hu_config *config, int *exit_code) {
    const char *name;
    (void)exit_code;
    hu_status st = hu_config_text(config, "bench.kernel", &name);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0) {
            char reader[64];
            snprintf(reader, sizeof reader, "bench kernel=%s", name);
            st = hu_keys_used(config, reader, kernels[i].keys);
            return st == HU_OK ? kernels[i].run(config) : st;
        }
    /* The configuration allows only words of the list, so this is a fault of the program. */
    return hu_fail(HU_ERR_INTERNAL, "bench.kernel=%s has no row in bench.h", name);
}

static const char *const flags[] = {"json", NULL};

static const char *const bench_keys[] = {HU_TRAINING_KEYS, "bench.*", "run.repeat", "gemm.m",
                                         "gemm.n",         "gemm.k",  NULL};

const hu_verb hu_verb_bench = {
    .name = "bench",
    .help = "rates beside a reference measured in the same run",
    .usage = "kernel=NAME [keys of that kernel] [repeat=N] [--json]",
    .details =
        "step   two trainings, one in float32, take turns step by step; the best of N turns of "
        "each counts.\n"
        "       beside=none: the training alone, as with precision=fp32; peak_rss_bytes is then "
        "its own.\n"
        "       seconds_to_first_step: from the start of the process, without the other "
        "training's part;\n"
        "       allocations_after_first_step, resident_growth_bytes: both should be 0. Without "
        "data=,\n"
        "       images have the shapes that plan assumes\n"
        "round  rounding by format and mode (format= elements=), beside memcpy\n"
        "pack   packing into codes and back (format= elements=), beside memcpy of the float32 "
        "numbers\n"
        "allreduce  what a worker does with numbers that travel: quantise (float32 to codes), add "
        "codes,\n"
        "       decode, pack and unpack the bits of the wire (format= elements=), beside memcpy of "
        "the codes,\n"
        "       or of the float32 numbers where those take part\n"
        "gemm   products by accumulator (accumulator=LIST, m= n= k=; usual ones if not given) "
        "beside\n"
        "       oneDNN's sgemm and the machine's peak\n"
        "conv   convolutions of ResNet-20 and ResNet-18 (run.chunk= samples a call, 4 if not "
        "given), "
        "one\n"
        "       thread, beside oneDNN's and the machine's peak\n",
    .flags = flags,
    .max_subjects = 0,
    .keys = bench_keys,
    .refuses_others = true,
    .examples = {{"bench kernel=gemm m=16 n=16 k=64", "what an accumulator costs beside float32"},
                 {"bench kernel=step data=glyphs precision=hfp8 repeat=2",
                  "steps in a precision beside float32"}},
    .run = run_bench,
};
