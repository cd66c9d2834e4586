/* bench/uniform.h - uniform integers as rows of kernel=round and kernel=pack. */
#ifndef HU_BENCH_UNIFORM_H
#define HU_BENCH_UNIFORM_H
#include "bench/rate.h"

/* True if the text names uniform integers. */
bool hu_bench_is_uniform(const char *name);

/* Rows of finding a range and of rounding in it. Errors as hu_quantizer_parse. */
hu_status hu_bench_round_uniform(hu_rate_set *set, const char *name);

/* Rows of rounding into codes, and of the way back. */
hu_status hu_bench_pack_uniform(hu_rate_set *set, const char *name);

#endif
