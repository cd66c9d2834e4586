/* store/safetensor.h - one array and one text of a safetensors file, as its header describes them.
 */
#ifndef HU_STORE_SAFETENSOR_H
#define HU_STORE_SAFETENSOR_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/tensor.h>

/* A type of elements. The known ones are in one table (safetensors_header.c). */
typedef struct hu_safetensor_dtype {
    const char *name;   /* "F32" */
    int bits;           /* of one element */
    const char *format; /* hu_safetensors_read decodes it: the number format of its codes, of at
                           most 16 bits; "": float32 or float64; NULL: it does not */
} hu_safetensor_dtype;

/* A type by its name, NULL if it is not known. Borrowed: valid for ever. */
const hu_safetensor_dtype *hu_safetensor_dtype_find(const char *name);

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
