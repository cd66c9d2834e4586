/* store/safetensors_header.h - the JSON header of a safetensors file: its arrays and texts. */
#ifndef HU_STORE_SAFETENSORS_HEADER_H
#define HU_STORE_SAFETENSORS_HEADER_H
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

/* A type by its name, NULL if it is not known. Borrowed: valid forever. */
const hu_safetensor_dtype *hu_safetensor_dtype_find(const char *name);

/* One array of a file that was read. Borrowed: valid as long as the file's structure. */
typedef struct hu_safetensor {
    const char *name; /* UTF-8 */
    const hu_safetensor_dtype *dtype;
    hu_shape shape; /* extents may be 0 here */
    size_t elements;
    size_t begin, end; /* bytes after the header */
} hu_safetensor;

/* One pair of "__metadata__". Borrowed like an array. */
typedef struct hu_safetensor_text {
    const char *name, *text;
} hu_safetensor_text;

/* The lists of a header in the order of its text; owner frees with hu_safetensors_header_free. */
typedef struct hu_safetensors_header {
    char *texts; /* what the names and texts below point into */
    hu_safetensor *tensors;
    size_t count, capacity;
    hu_safetensor_text *metadata;
    size_t metadata_count, metadata_capacity;
} hu_safetensors_header;

/* Reads exactly the format's grammar: what else JSON has is refused. Names, dtypes and rank are
 * checked, lengths and offsets are not. at: offset of text in the file, for messages. On failure
 * the header must be freed too. */
hu_status hu_safetensors_header_parse(const char *file, const uint8_t *text, size_t bytes,
                                      size_t at, hu_safetensors_header *header);
void hu_safetensors_header_free(hu_safetensors_header *header);

#endif
