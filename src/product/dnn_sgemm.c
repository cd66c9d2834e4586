/* oneDNN's float32 matrix product: the reference of benchmarks, no part of a training. */
#include <omp.h>

#include "base/error.h"
#include "product/dnn.h"
#include "product/dnn_api.h"

hu_status hu_dnn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                       int threads) {
    hu_status st = hu_dnn_check_isa();
    if (st != HU_OK) return st;
    int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    dnnl_status_t status = dnnl_sgemm('N', 'N', m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
    omp_set_num_threads(before);
    if (status == dnnl_success) return HU_OK;
    return hu_fail(HU_ERR_INTERNAL, "dnnl_sgemm of %lld x %lld x %lld: status %d", (long long)m,
                   (long long)n, (long long)k, (int)status);
}
