/* Files of weights: the bytes as they are, and again with the header's length put right, so that
 * changed headers of other lengths are read too. What is accepted holds together, and its floats
 * write back to a file that reads the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/safetensors.h"

static void check_tensor(const hu_safetensors *file, const hu_safetensor *tensor, size_t *next) {
    FUZZ_CHECK(tensor->name[0] && tensor->begin == *next && tensor->end >= tensor->begin);
    FUZZ_CHECK(tensor->shape.rank >= 0 && tensor->shape.rank <= HU_MAX_RANK);
    size_t bits = tensor->elements * (size_t)tensor->dtype->bits;
    FUZZ_CHECK(bits / 8 == tensor->end - tensor->begin && bits % 8 == 0);
    FUZZ_CHECK(hu_safetensors_find(file, tensor->name) == tensor);
    *next = tensor->end;
}

/* Reads one array of floats, writes it alone, and reads that. */
static void check_floats(const hu_safetensors *file, const hu_safetensor *tensor) {
    float *values = malloc(tensor->elements * sizeof *values + 1);
    uint8_t *data;
    size_t bytes;
    hu_safetensors *copy;
    FUZZ_CHECK(values != NULL);
    hu_safetensor_source source = {tensor->name, tensor->shape, values};
    if (!tensor->dtype->is_read) {
        FUZZ_CHECK(hu_safetensors_read(file, tensor, values) == HU_ERR_UNSUPPORTED);
    } else if (FUZZ_DONE(hu_safetensors_read(file, tensor, values)) && tensor->elements > 0 &&
               FUZZ_DONE(hu_safetensors_print(&source, 1, NULL, 0, &data, &bytes))) {
        if (FUZZ_DONE(hu_safetensors_parse("copy", data, bytes, &copy))) {
            const hu_safetensor *again = hu_safetensors_find(copy, tensor->name);
            FUZZ_CHECK(again && hu_shape_equal(&again->shape, &tensor->shape));
            FUZZ_CHECK(memcmp(data + bytes - tensor->elements * sizeof *values, values,
                              tensor->elements * sizeof *values) == 0);
            hu_safetensors_free(copy);
        }
        hu_free(data);
    }
    free(values);
}

static void check_bytes(const uint8_t *data, size_t size) {
    hu_safetensors *file;
    hu_status st = hu_safetensors_parse("file", data, size, &file);
    if (st != HU_OK) {
        FUZZ_CHECK(!file && hu_last_error()[0] != '\0');
        FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_UNSUPPORTED || fuzz_was_fault(st));
        return;
    }
    size_t next = 0;
    for (size_t i = 0; i < hu_safetensors_count(file); i++) {
        check_tensor(file, hu_safetensors_at(file, i), &next);
        if (i < 4) check_floats(file, hu_safetensors_at(file, i));
    }
    FUZZ_CHECK(next <= size);
    hu_safetensors_metadata(file, "layout");
    hu_safetensors_free(file);
}

/* The length of the header becomes the place behind its last '}'. */
static void repair(uint8_t *data, size_t size) {
    size_t end = size;
    while (end > 8 && data[end - 1] != '}') end--;
    for (int i = 0; i < 8 && size >= 8; i++) data[i] = (uint8_t)((uint64_t)(end - 8) >> 8 * i);
}

void fuzz_one(const uint8_t *data, size_t size) {
    check_bytes(data, size);
    if (size < 8) return;
    uint8_t *copy = malloc(size);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, size);
    repair(copy, size);
    check_bytes(copy, size);
    free(copy);
}

static const char *const headers[] = {
    ("{\"__metadata__\":{\"layout\":\"torch\",\"a\":\"b\\n\"},"
     "\"conv1.weight\":{\"dtype\":\"F32\",\"shape\":[1,2,1,1],\"data_offsets\":[0,8]},"
     "\"bn1.weight\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]},"
     "\"bn1.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[12,20]}}"),
    ("{ \"b\" : {\"shape\":[0,3],\"data_offsets\":[8,8],\"dtype\":\"BF16\"},\n"
     " \"\\u00e9\\ud83d\\ude00\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]} } "),
    "{\"q\":{\"dtype\":\"F4\",\"shape\":[2,1],\"data_offsets\":[0,1]}}",
    "{}",
};
static const size_t data_bytes[] = {20, 8, 1, 0};

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    if (index >= sizeof headers / sizeof *headers) return false;
    FUZZ_CHECK(hu_write_u64(seed, strlen(headers[index])) == HU_OK);
    fuzz_text_seed(headers[index], seed);
    for (size_t i = 0; i < data_bytes[index]; i++)
        FUZZ_CHECK(hu_write_u8(seed, (uint8_t)(0x3c + 7 * i)) == HU_OK);
    return true;
}
