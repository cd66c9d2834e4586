/* store/safetensors.h - files of named arrays in the safetensors format: a writer and a bounded
 * reader.
 *
 * A file is the length of a header (8 bytes, little endian), the header (JSON: {name: {"dtype",
 * "shape", "data_offsets"}, "__metadata__": {name: text}}), and the data, little endian, slowest
 * extent first, without holes. Source: the format's own description (huggingface/safetensors,
 * README), version 0.4. Thread-safe: no shared state.
 */
#ifndef HU_STORE_SAFETENSORS_H
#define HU_STORE_SAFETENSORS_H
#include <halfulp/format.h>

#include "store/safetensors_header.h"

/* The format's own bound of the header, and ours of a file. */
#define HU_SAFETENSORS_HEADER_BYTES ((size_t)100000000)
#define HU_SAFETENSORS_FILE_BYTES ((size_t)1 << 33)

typedef struct hu_safetensors hu_safetensors;

/* Checks a whole file in memory: header bounds, JSON, duplicate names, dtypes, shapes, lengths, and
 * that the arrays tile the data. data is borrowed and must outlive *result; file stands in messages
 * (copied). HU_ERR_CORRUPT (file, offset or tensor, found, expected); HU_ERR_UNSUPPORTED for a
 * dtype that is not known and for more than 8 extents; HU_ERR_MEMORY. Owner frees with
 * hu_safetensors_free. Proof: tests/unit/store_safetensors_test.c, tests/fuzz/safetensors_fuzz.c.
 */
hu_status hu_safetensors_parse(const char *file, const uint8_t *data, size_t bytes,
                               hu_safetensors **result);

/* The same for a file of at most HU_SAFETENSORS_FILE_BYTES; also HU_ERR_MISSING, HU_ERR_IO,
 * HU_ERR_LIMIT. */
hu_status hu_safetensors_open(const char *path, hu_safetensors **result);

/* NULL is allowed. */
void hu_safetensors_free(hu_safetensors *file);

/* The arrays in the order of their data. */
size_t hu_safetensors_count(const hu_safetensors *file);
const hu_safetensor *hu_safetensors_at(const hu_safetensors *file, size_t index);

/* The array of a name, NULL if there is none. */
const hu_safetensor *hu_safetensors_find(const hu_safetensors *file, const char *name);

/* A text of "__metadata__", NULL if there is none. */
const char *hu_safetensors_metadata(const hu_safetensors *file, const char *name);

/* values[tensor->elements] of an array of F32, F64 (rounded to nearest even), F16, BF16 or a type
 * of 8 bits (all exact). Another dtype: HU_ERR_UNSUPPORTED. */
hu_status hu_safetensors_read(const hu_safetensors *file, const hu_safetensor *tensor,
                              float *values);

/* The same of an array of U8 or U16 that holds codes of a number format, times 2^exponent.
 * HU_ERR_CORRUPT for what is no code of it. */
hu_status hu_safetensors_decode(const hu_safetensors *file, const hu_safetensor *tensor,
                                const hu_format *format, int exponent, float *values);

/* An array to write: F32, or bytes of another dtype, little endian. */
typedef struct hu_safetensor_source {
    const char *name;
    hu_shape shape;
    const float *values;  /* of F32 */
    const char *dtype;    /* NULL: F32 */
    const uint8_t *bytes; /* of other dtypes */
} hu_safetensor_source;

/* The bytes of a file with these arrays in this order. Names are UTF-8, not empty, not
 * "__metadata__" and not repeated: HU_ERR_ARGUMENT, as for a dtype
 * that is not known. Owner frees *data with hu_free. */
hu_status hu_safetensors_print(const hu_safetensor_source *tensors, size_t count,
                               const hu_safetensor_text *metadata, size_t texts, uint8_t **data,
                               size_t *bytes);

/* The same into a file, which is replaced as by hu_file_replace. *bytes (may be NULL): its size. */
hu_status hu_safetensors_write(const char *path, const hu_safetensor_source *tensors, size_t count,
                               const hu_safetensor_text *metadata, size_t texts, size_t *bytes);

#endif
