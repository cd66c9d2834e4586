/* Files of weights: the bytes as they are, and again with the header's length put right, so that
 * changed headers of other lengths are read too. What is accepted holds together, and its floats
 * write back to a file that reads the same. */
#include "fuzz.h"

#include <stdio.h>
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
    hu_safetensor_source source = {tensor->name, tensor->shape, values, NULL, NULL};
    if (!tensor->dtype->format) {
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

/* The same file on a disk is the same, and a written one is what is printed. */
static void check_on_disk(const uint8_t *data, size_t size, hu_status parsed) {
    char path[512];
    hu_safetensors *file;
    snprintf(path, sizeof path, "%s/file", fuzz_folder());
    fuzz_put("file", data, size);
    hu_status st = hu_safetensors_open(path, &file);
    FUZZ_CHECK(st == parsed || fuzz_was_fault(st) || fuzz_was_fault(parsed));
    FUZZ_CHECK((st == HU_OK) == (file != NULL));
    hu_safetensors_free(file);
    if (st != HU_OK) return;
    const float values[] = {1, 2, 3};
    hu_safetensor_source source[] = {{"a", {1, {3}}, values, NULL, NULL},
                                     {"a", {1, {3}}, values, NULL, NULL}};
    const hu_safetensor_text text = {"layout", "\"torch\"\n"};
    FUZZ_CHECK(hu_safetensors_write(path, source, 2, NULL, 0, NULL) != HU_OK);
    if (FUZZ_DONE(hu_safetensors_write(path, source, 1, &text, 1, NULL)) &&
        FUZZ_DONE(hu_safetensors_open(path, &file))) {
        const char *layout = hu_safetensors_metadata(file, "layout");
        FUZZ_CHECK(layout && strcmp(layout, text.text) == 0);
        hu_safetensors_free(file);
    }
}

static void check_bytes(const uint8_t *data, size_t size) {
    hu_safetensors *file;
    hu_status st = hu_safetensors_parse("file", data, size, &file);
    if (size % 4 == 0) check_on_disk(data, size, st); /* of some: it takes longer */
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

/* The length of the header becomes the place after its last '}'. */
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
    ("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[1,2]}}"),
    "{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}    ",
};
static const size_t data_bytes[] = {20, 8, 1, 0, 2, 0};

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    if (index >= sizeof headers / sizeof *headers) return false;
    FUZZ_CHECK(hu_write_u64(seed, strlen(headers[index])) == HU_OK);
    fuzz_text_seed(headers[index], seed);
    for (size_t i = 0; i < data_bytes[index]; i++)
        FUZZ_CHECK(hu_write_u8(seed, (uint8_t)(0x3c + 7 * i)) == HU_OK);
    return true;
}
