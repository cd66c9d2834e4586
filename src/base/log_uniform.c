#include "base/log_uniform.h"

#include "base/elementary.h"

double hu_log_uniform_share(int64_t id, int64_t n) {
    return hu_log1p(1.0 / ((double)id + 1.0)) / hu_log((double)n + 1.0);
}

int64_t hu_log_uniform_id(double u, int64_t n) {
    int64_t id = (int64_t)hu_exp(u * hu_log((double)n + 1.0)) - 1;
    if (id < 0) return 0;
    return id < n ? id : n - 1;
}
