/* op/dnn.h - products on oneDNN; dnn_api.h is the only file that includes its headers.
 *
 * Activations are plain [count, H, W, C]; weights are packed once per pass into the layout that the
 * primitives like. A primitive splits its work over the OpenMP threads it was made under, and its
 * scratchpad fits that number: every function that makes or runs one must be called under
 * omp_set_num_threads(1). Primitives are shared by all threads; a result depends on its chunk
 * alone.
 */
#ifndef HU_OP_DNN_H
#define HU_OP_DNN_H
#include "op/product.h"

typedef struct hu_dnn hu_dnn;

/* Primitives of product for chunks of info->chunk samples: forward, weight gradient and, where
 * info->need_din[0], data gradient, the gradients only where no accumulator is chosen; prepare
 * makes them for another count. HU_ERR_MEMORY, HU_ERR_INTERNAL with oneDNN's status. Owner frees
 * with hu_dnn_release (NULL is allowed). */
hu_status hu_dnn_create(const hu_node_info *info, const hu_product *product, hu_dnn **dnn);
hu_status hu_dnn_prepare(hu_dnn *dnn, int64_t count);
void hu_dnn_release(hu_dnn *dnn);

/* Scratch of one call for any prepared count; bytes of the packed weights (0: pass needs none). */
size_t hu_dnn_scratch_bytes(const hu_dnn *dnn, hu_pass pass);
size_t hu_dnn_packed_bytes(const hu_dnn *dnn, hu_pass pass);

/* Each gives false if oneDNN fails (out of memory); the outputs are then undefined.
 * pack: plain weights -> packed; packed and bias (NULL: none, or backward) must live until the pass
 * has ended. Not where hu_dnn_packed_bytes is 0. */
bool hu_dnn_pack(hu_dnn *dnn, hu_pass pass, const float *weights, const float *bias, void *packed);
bool hu_dnn_forward(const hu_op_call *call);         /* in[0] -> out[0] */
bool hu_dnn_data_gradient(const hu_op_call *call);   /* dout[0] -> din[0] */
bool hu_dnn_weight_gradient(const hu_op_call *call); /* in[0], dout[0] -> dparam[0], dparam[1] */

/* oneDNN's name of the implementation behind info->chunk, for example "jit:avx2"; one that begins
 * with "ref" is slow. For the backward pass the name of the data gradient if only that one begins
 * with "ref", else the name of the weight gradient. Borrowed: valid until dnn is released. */
const char *hu_dnn_impl(const hu_dnn *dnn, hu_pass pass);

/* c[m][n] = a[m][k] b[k][n] without gaps, in float32 and an order of oneDNN's choice, on so many
 * threads: what benchmarks compare with. HU_ERR_INTERNAL with oneDNN's status. */
hu_status hu_dnn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                       int threads);

/* Caps oneDNN's instruction set as HALFULP_MAX_ISA says, once and before its first use;
 * HU_ERR_INTERNAL if that came too late. */
hu_status hu_dnn_check_isa(void);

/* Version of the oneDNN library that is loaded, as "2.6.3". text: at least 32 bytes. */
void hu_dnn_version(char *text, uint32_t capacity);

#endif
