/* product/onednn.h - products by oneDNN. */
#ifndef HU_PRODUCT_ONEDNN_H
#define HU_PRODUCT_ONEDNN_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/status.h>

#include "product/call.h"

/* False where halfulp was built without its headers (HALFULP_ONEDNN=OFF, product/onednn_absent.c),
 * or where no library of their major version is found when this is first asked, which opens it. All
 * that can fail is HU_ERR_UNSUPPORTED then. */
bool hu_dnn_is_there(void);

/* What "oneDNN is" then. Borrowed: valid forever. */
const char *hu_dnn_absence(void);

typedef struct hu_dnn hu_dnn;

/* Primitives of the products for chunks of facts->chunk samples: forward, and those gradients that
 * are needed and have no chosen accumulator; prepare makes them for another count. HU_ERR_MEMORY,
 * HU_ERR_INTERNAL with oneDNN's status. Owner frees with hu_dnn_release (NULL is allowed). */
hu_status hu_dnn_create(const hu_product_facts *facts, hu_dnn **dnn);
hu_status hu_dnn_prepare(hu_dnn *dnn, int64_t count);
void hu_dnn_release(hu_dnn *dnn);

/* Scratch of one call for any prepared count; bytes of the packed weights (0: role reads none). */
size_t hu_dnn_scratch_bytes(const hu_dnn *dnn, hu_product_role role);
size_t hu_dnn_packed_bytes(const hu_dnn *dnn, hu_product_role role);

/* Each gives false if oneDNN fails (out of memory); the outputs are then undefined.
 * pack: plain weights -> packed; packed and bias (NULL: none, or INPUT_GRAD) must live until the
 * pass has ended. Not where hu_dnn_packed_bytes is 0. */
bool hu_dnn_pack(hu_dnn *dnn, hu_product_role role, const float *weights, const float *bias,
                 void *packed);
bool hu_dnn_run(const hu_dnn *dnn, hu_product_role role, const hu_product_call *call);

/* oneDNN's name of the implementation after facts->chunk, for example "jit:avx2"; one that begins
 * with "ref" is slow; "" for a product that was not made. Borrowed: valid until dnn is released. */
const char *hu_dnn_impl(const hu_dnn *dnn, hu_product_role role);

/* c[m][n] = a[m][k] b[k][n] without gaps, in float32 and an order of oneDNN's choice, on so many
 * threads: what benchmarks compare with. HU_ERR_INTERNAL with oneDNN's status. */
hu_status hu_dnn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                       int threads);

/* Version of the oneDNN library that is loaded, as "2.6.3"; "none". text: at least 32 bytes. */
void hu_dnn_version(char *text, uint32_t capacity);

#endif
