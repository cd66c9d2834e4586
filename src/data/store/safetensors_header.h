/* store/safetensors_header.h - the JSON header of a safetensors file as lists; for safetensors*.c.
 */
#ifndef HU_STORE_SAFETENSORS_HEADER_H
#define HU_STORE_SAFETENSORS_HEADER_H
#include "store/safetensor.h"

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
