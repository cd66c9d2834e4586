/* product/product.h - the one door to matrix products: forward, input gradient and weight gradient
 * of a layer on plain arrays, each in float32 or with a chosen accumulator.
 *
 * Who computes: hu_gemm where an accumulator is chosen (accumulate.h); oneDNN where the facts ask
 * for it (onednn.h); kernel/conv everywhere else, group by group (float32.h).
 */
#ifndef HU_PRODUCT_PRODUCT_H
#define HU_PRODUCT_PRODUCT_H
#include <stddef.h>

#include <halfulp/status.h>

#include "product/call.h"

typedef struct hu_products hu_products;

/* Plans the products that facts->needs names; FORWARD and WEIGHT_GRAD must be among them. prepare
 * makes what calls of another count need (the short last chunk). HU_ERR_MEMORY, HU_ERR_LIMIT,
 * HU_ERR_INTERNAL with oneDNN's status. Owner frees with hu_products_free (NULL is allowed). */
hu_status hu_products_create(const hu_product_facts *facts, hu_products **products);
hu_status hu_products_prepare(hu_products *products, int64_t count);
void hu_products_free(hu_products *products);

/* Scratch bytes of one call of any prepared count. */
size_t hu_products_scratch_bytes(const hu_products *products, hu_product_role role);

/* Bytes of the packed weights that FORWARD or INPUT_GRAD reads; 0: it reads none. pack fills them
 * from w and bias once for all calls of a pass, on one thread; 64-byte aligned. */
size_t hu_products_packed_bytes(const hu_products *products, hu_product_role role);
void hu_products_pack(const hu_products *products, hu_product_role role, const float *w,
                      const float *bias, void *packed);

/* Bytes of hu_product_call.carry; 0 where WEIGHT_GRAD has no chosen accumulator. 64-byte aligned.
 */
size_t hu_products_carry_bytes(const hu_products *products);

/* Computes one product. If it fails (out of memory), its outputs are filled with NaN. WEIGHT_GRAD
 * with a chosen accumulator: calls come for all chunks in ascending order, outside parallel
 * regions; dw is the gradient of the whole batch, complete after the last chunk, and db is written,
 * too. All others: any thread, any order. */
void hu_products_run(const hu_products *products, hu_product_role role,
                     const hu_product_call *call);

/* oneDNN's name of what computes a product, for example "jit:avx2"; one that begins with "ref" is
 * slow. "winograd" where that algorithm does, "" elsewhere. Borrowed: valid until products are
 * freed. */
const char *hu_products_impl(const hu_products *products, hu_product_role role);

#endif
