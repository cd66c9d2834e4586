/* halfulp bench kernel=NAME: rates beside a reference measured in the same run. */
#include "bench/bench.h"
#include "cli/verb.h"

static hu_status run_bench(hu_config *config, int *exit_code) {
    (void)exit_code;
    return hu_bench_run(config);
}

static const char *const flags[] = {"json", NULL};

static const char *const bench_keys[] = {HU_TRAINING_KEYS, "bench.*", "run.repeat", "gemm.m",
                                         "gemm.n",         "gemm.k",  "out.file",   NULL};

const hu_verb hu_verb_bench = {
    .name = "bench",
    .group = HU_VERBS_MACHINE,
    .help = "rates beside a reference measured in the same run",
    .usage = "[NAME] [keys of that kernel] [seconds=S | repeat=N] [out=FILE.md] [--json]",
    .details =
        "NAME (also kernel=NAME) is one of these, step if none is given. Measuring ends after a "
        "minute\n"
        "(all: five) or seconds=S; repeat=N instead gives every row N turns, however long that "
        "takes. Above\n"
        "the rows stand the machine, its clock, its peak of multiply-adds and its memcpy; below "
        "them how many\n"
        "rows' turns spread by more than 10 % (median over best): many of them on a machine that "
        "has other\n"
        "work to do. out=FILE.md writes all of it as Markdown, with --json as JSON.\n\n"
        "all    every kernel, with steps of a few networks (or of model=), for a page of results\n"
        "step   two trainings, one in float32, take turns step by step; the best turn of each "
        "counts.\n"
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
    .max_subjects = 1,
    .keys = bench_keys,
    .refuses_others = true,
    .examples = {{"bench gemm m=16 n=16 k=64", "what an accumulator costs beside float32"},
                 {"bench step data=glyphs precision=hfp8 repeat=2",
                  "steps in a precision beside float32"},
                 {"bench all out=FILE.md", "everything, for a page of results"}},
    .run = run_bench,
};
