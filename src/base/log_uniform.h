/* base/log_uniform.h - the log-uniform law of ids that are sorted by falling frequency: P(v) =
 * log((v + 2) / (v + 1)) / log(n + 1) for v = 0 .. n-1, close to that of words (Zipf). */
#ifndef HU_BASE_LOG_UNIFORM_H
#define HU_BASE_LOG_UNIFORM_H
#include <stdint.h>

/* P(id) among n ids, in double without libm: the same bits on every machine. */
double hu_log_uniform_share(int64_t id, int64_t n);

/* The id of a uniform number 0 <= u < 1: floor((n + 1)^u) - 1, at most n - 1. Ids ascend with u. */
int64_t hu_log_uniform_id(double u, int64_t n);

#endif
