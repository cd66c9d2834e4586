/* product/onednn_library.h - the functions of oneDNN, which is opened when a product first asks.
 *
 * It is not linked, so that one program works with it and without, and starts without its 40 MB.
 * Its headers give the types; the library must be of their major version. */
#ifndef HU_PRODUCT_ONEDNN_LIBRARY_H
#define HU_PRODUCT_ONEDNN_LIBRARY_H
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#if DNNL_VERSION_MAJOR != 2 && DNNL_VERSION_MAJOR != 3
#error "halfulp speaks the C API of oneDNN 2 and 3"
#endif

/* clang-format off */
#define HU_DNN_OF_BOTH(X) \
    X(engine_create) X(engine_destroy) X(get_effective_cpu_isa) X(memory_create) \
    X(memory_desc_equal) X(memory_desc_get_size) X(memory_destroy) X(memory_set_data_handle) \
    X(primitive_attr_create) X(primitive_attr_destroy) X(primitive_attr_set_scratchpad_mode) \
    X(primitive_create) X(primitive_desc_destroy) X(primitive_desc_query) \
    X(primitive_desc_query_md) X(primitive_destroy) X(primitive_execute) \
    X(reorder_primitive_desc_create) X(set_max_cpu_isa) X(sgemm) X(stream_create) \
    X(stream_destroy) X(version)
#if DNNL_VERSION_MAJOR == 2
#define HU_DNN_OF_VERSION(X) \
    X(dilated_convolution_backward_data_desc_init) \
    X(dilated_convolution_backward_weights_desc_init) X(dilated_convolution_forward_desc_init) \
    X(inner_product_backward_data_desc_init) X(inner_product_backward_weights_desc_init) \
    X(inner_product_forward_desc_init) X(memory_desc_init_by_strides) X(memory_desc_init_by_tag) \
    X(primitive_desc_create)
#else
#define HU_DNN_OF_VERSION(X) \
    X(convolution_backward_data_primitive_desc_create) \
    X(convolution_backward_weights_primitive_desc_create) \
    X(convolution_forward_primitive_desc_create) \
    X(inner_product_backward_data_primitive_desc_create) \
    X(inner_product_backward_weights_primitive_desc_create) \
    X(inner_product_forward_primitive_desc_create) X(memory_desc_clone) \
    X(memory_desc_create_with_strides) X(memory_desc_create_with_tag) X(memory_desc_destroy)
#endif
/* clang-format on */

/* Named as in oneDNN, without dnnl_, in the order of the lists. */
typedef struct hu_dnn_functions {
#define HU_DNN_FIELD(name) __typeof__(dnnl_##name) *name;
    HU_DNN_OF_BOTH(HU_DNN_FIELD) HU_DNN_OF_VERSION(HU_DNN_FIELD)
} hu_dnn_functions;

/* All NULL before hu_dnn_open. */
extern hu_dnn_functions hu_dnn_lib;

/* What the library is called. */
#define HU_DNN_TEXT(number) #number
#define HU_DNN_NUMBER(macro) HU_DNN_TEXT(macro)
#define HU_DNN_FILE "libdnnl.so." HU_DNN_NUMBER(DNNL_VERSION_MAJOR)

/* Opens it at the first call; false where it is not there, or of another version. */
bool hu_dnn_open(void);

#endif
