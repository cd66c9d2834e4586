/* store/safetensor.h - one array and one text of a safetensors file, as its header describes them.
 */
#ifndef HU_STORE_SAFETENSOR_H
#define HU_STORE_SAFETENSOR_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/tensor.h>

/* A type of elements. The known ones are in one table (safetensors_header.c). */
typedef struct hu_safetensor_dtype {
    const char *name; /* "F32" */
    int bits;         /* of one element */
    bool is_read;     /* hu_safetensors_read converts it */
} hu_safetensor_dtype;

/* One array of a file that was read. Borrowed: valid as long as the file's structure. */
typedef struct hu_safetensor {
    const char *name; /* UTF-8 */
    const hu_safetensor_dtype *dtype;
    hu_shape shape; /* extents may be 0 here */
    size_t elements;
    size_t begin, end; /* bytes behind the header */
} hu_safetensor;

/* One pair of "__metadata__". Borrowed like an array. */
typedef struct hu_safetensor_text {
    const char *name, *text;
} hu_safetensor_text;

#endif
