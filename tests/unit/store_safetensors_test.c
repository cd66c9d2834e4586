/* Safetensors files: what is written reads back to the same bits, numbers of other widths become
 * the float32 that they are, and no damaged header gets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <halfulp/format.h>

#include "base/bits.h"
#include "base/memory.h"
#include "store/safetensors.h"

enum { FILE_MAX = 4096 };

/* Length, header, data: a file made by hand. */
static size_t make_file(uint8_t *file, const char *header, const void *data, size_t bytes) {
    size_t length = strlen(header);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memcpy(file + 8, header, length);
    if (bytes) memcpy(file + 8 + length, data, bytes);
    return 8 + length + bytes;
}

static hu_status parse(const char *header, const void *data, size_t bytes, hu_safetensors **file) {
    static uint8_t image[FILE_MAX];
    assert_true(strlen(header) + bytes + 8 <= sizeof image);
    return hu_safetensors_parse("file", image, make_file(image, header, data, bytes), file);
}

static const float some[6] = {1.0f, -0.0f, 1e-42f, INFINITY, -3.25f, 0.1f};
static const float scalar[1] = {7.0f};

static void written_files_read_back(void **state) {
    (void)state;
    const hu_safetensor_source tensors[] = {
        {"layer1.0.conv1.weight", {4, {1, 3, 1, 2}}, some, NULL, NULL},
        {"a \"quoted\\ näme", {0}, scalar, NULL, NULL}};
    const hu_safetensor_text metadata[] = {{"layout", "torch"}, {"note", "two\nlines"}};
    char path[] = "/tmp/halfulp-safetensors-XXXXXX";
    close(mkstemp(path));
    size_t bytes;
    float values[6];
    hu_safetensors *file;
    assert_int_equal(hu_safetensors_write(path, tensors, 2, metadata, 2, &bytes), HU_OK);
    assert_int_equal(bytes % 4, 0);
    assert_int_equal(hu_safetensors_open(path, &file), HU_OK);
    assert_int_equal(hu_safetensors_count(file), 2);
    for (size_t i = 0; i < 2; i++) {
        const hu_safetensor *tensor = hu_safetensors_at(file, i);
        assert_ptr_equal(tensor, hu_safetensors_find(file, tensors[i].name));
        assert_true(hu_shape_equal(&tensor->shape, &tensors[i].shape));
        assert_string_equal(tensor->dtype->name, "F32");
        assert_int_equal(hu_safetensors_read(file, tensor, values), HU_OK);
        assert_memory_equal(values, tensors[i].values, tensor->elements * sizeof(float));
    }
    assert_null(hu_safetensors_find(file, "layer1"));
    assert_string_equal(hu_safetensors_metadata(file, "layout"), "torch");
    assert_string_equal(hu_safetensors_metadata(file, "note"), "two\nlines");
    assert_null(hu_safetensors_metadata(file, "model"));
    hu_safetensors_free(file);
    unlink(path);
    assert_int_equal(hu_safetensors_open(path, &file), HU_ERR_MISSING);
    assert_null(file);
}

/* The bytes that the format's description asks for, written out. */
static void written_bytes_are_these(void **state) {
    (void)state;
    static const char header[] = "{\"__metadata__\":{\"k\":\"v\"},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} ";
    const hu_safetensor_source tensor = {"b", {1, {2}}, some, NULL, NULL};
    const hu_safetensor_text text = {"k", "v"};
    uint8_t expected[256], *data;
    size_t bytes, wanted = make_file(expected, header, some, 8);
    assert_int_equal(strlen(header) % 8, 0);
    assert_int_equal(hu_safetensors_print(&tensor, 1, &text, 1, &data, &bytes), HU_OK);
    assert_int_equal(bytes, wanted);
    assert_memory_equal(data, expected, wanted);
    hu_free(data);
}

/* The four types of 8 bits, whose numbers are those of torch's float8 types of these names. */
static void types_of_8_bits_are_those_of_torch(void **state) {
    static const struct {
        const char *dtype;
        uint8_t codes[4];
        float numbers[4];
    } types[] = {
        {"F8_E4M3", {0x7e, 0x01, 0xb8, 0x80}, {448.0f, 0x1p-9f, -1.0f, -0.0f}},
        {"F8_E5M2", {0x7b, 0x01, 0xbc, 0x7c}, {57344.0f, 0x1p-16f, -1.0f, INFINITY}},
        {"F8_E4M3FNUZ", {0x7f, 0x01, 0xc0, 0x00}, {240.0f, 0x1p-10f, -1.0f, 0.0f}},
        {"F8_E5M2FNUZ", {0x7f, 0x01, 0xc0, 0x00}, {57344.0f, 0x1p-17f, -1.0f, 0.0f}},
    };
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const hu_safetensor_source source = {
            "x", {2, {2, 2}}, NULL, types[t].dtype, types[t].codes};
        uint8_t *data;
        size_t bytes;
        float values[4];
        hu_safetensors *file;
        assert_int_equal(hu_safetensors_print(&source, 1, NULL, 0, &data, &bytes), HU_OK);
        assert_int_equal(hu_safetensors_parse("file", data, bytes, &file), HU_OK);
        assert_string_equal(hu_safetensors_at(file, 0)->dtype->name, types[t].dtype);
        assert_int_equal(hu_safetensors_read(file, hu_safetensors_at(file, 0), values), HU_OK);
        assert_memory_equal(values, types[t].numbers, sizeof values);
        hu_safetensors_free(file);
        hu_free(data);
    }
}

/* Codes of a format that no type has: two of 2^-3 times those of e3m2, and what is none. */
static void codes_are_decoded(void **state) {
    static const uint8_t codes[3] = {0x0c, 0x2d, 0x40};
    const hu_safetensor_source source = {"x", {1, {3}}, NULL, "U8", codes};
    (void)state;
    uint8_t *data;
    size_t bytes;
    float values[3];
    hu_format format;
    hu_safetensors *file;
    assert_int_equal(hu_format_parse("e3m2", &format), HU_OK);
    assert_int_equal(hu_safetensors_print(&source, 1, NULL, 0, &data, &bytes), HU_OK);
    assert_int_equal(hu_safetensors_parse("file", data, bytes, &file), HU_OK);
    const hu_safetensor *tensor = hu_safetensors_at(file, 0);
    assert_int_equal(hu_safetensors_read(file, tensor, values), HU_ERR_UNSUPPORTED);
    assert_int_equal(hu_safetensors_decode(file, tensor, &format, -3, values), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "found code 64 at element 2"));
    assert_true(values[0] == 0.125f && values[1] == -0.15625f);
    hu_safetensors_free(file);
    hu_free(data);
}

static void bad_sources_are_refused(void **state) {
    (void)state;
    const hu_safetensor_source bad[][2] = {
        {{"a", {0}, scalar, NULL, NULL}, {"a", {0}, scalar, NULL, NULL}},
        {{"a", {0}, scalar, NULL, NULL}, {"", {0}, scalar, NULL, NULL}},
        {{"a", {0}, scalar, NULL, NULL}, {"__metadata__", {0}, scalar, NULL, NULL}},
        {{"a", {0}, scalar, NULL, NULL}, {"\xff", {0}, scalar, NULL, NULL}}};
    uint8_t *data;
    size_t bytes;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hu_safetensors_print(bad[i], 2, NULL, 0, &data, &bytes), HU_ERR_ARGUMENT);
        assert_null(data);
    }
}

/* Every code of the two 16-bit types, and doubles on both sides of a tie. */
static void other_widths_become_float32(void **state) {
    (void)state;
    static uint8_t image[400 + 4 * 65536];
    static uint16_t codes[2 * 65536];
    static float values[65536];
    char header[256];
    hu_safetensors *file;
    hu_format half, brain;
    assert_int_equal(hu_format_parse("fp16", &half), HU_OK);
    assert_int_equal(hu_format_parse("bf16", &brain), HU_OK);
    for (uint32_t i = 0; i < 2 * 65536; i++) codes[i] = (uint16_t)i;
    snprintf(header, sizeof header,
             "{\"b\":{\"dtype\":\"BF16\",\"shape\":[65536],\"data_offsets\":[131072,262144]},"
             "\"h\":{\"dtype\":\"F16\",\"shape\":[256,256],\"data_offsets\":[0,131072]}}");
    size_t bytes = make_file(image, header, codes, sizeof codes);
    assert_int_equal(hu_safetensors_parse("file", image, bytes, &file), HU_OK);
    for (int t = 0; t < 2; t++) {
        const hu_safetensor *tensor = hu_safetensors_find(file, t ? "b" : "h");
        assert_int_equal(hu_safetensors_read(file, tensor, values), HU_OK);
        for (uint32_t i = 0; i < 65536; i++) {
            float expected;
            assert_int_equal(hu_format_decode(t ? &brain : &half, i, &expected), HU_OK);
            if (isnan(expected))
                assert_true(isnan(values[i]));
            else
                assert_int_equal(hu_f32_bits(values[i]), hu_f32_bits(expected));
        }
    }
    hu_safetensors_free(file);
    const double wide[4] = {1.0 + 0x1p-24, 1.0 + 0x1.8p-23, 1.0 + 0x1.000002p-24, 1e300};
    const float rounded[4] = {1.0f, 1.0f + 0x1p-22f, 1.0f + 0x1p-23f, INFINITY};
    assert_int_equal(parse("{\"d\":{\"shape\":[4],\"data_offsets\":[0,32],\"dtype\":\"F64\"}}",
                           wide, sizeof wide, &file),
                     HU_OK);
    assert_int_equal(hu_safetensors_read(file, hu_safetensors_at(file, 0), values), HU_OK);
    assert_memory_equal(values, rounded, sizeof rounded);
    hu_safetensors_free(file);
}

static void what_is_no_float_is_listed_but_not_read(void **state) {
    (void)state;
    hu_safetensors *file;
    float value;
    static const char header[] =
        " {\"n\" : {\"dtype\":\"I64\",\"shape\":[ ],\"data_offsets\":[0,8]},\n"
        "\"q\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[8,11]},"
        "\"empty\":{\"dtype\":\"U8\",\"shape\":[0,9],\"data_offsets\":[8,8]},"
        "\"\\u00e9\\ud83d\\ude00\\t\":{}}";
    assert_int_equal(parse(header + 1, "0123456789a", 11, &file), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "control character"));
    char plain[400];
    snprintf(plain, sizeof plain, "%.*s}", (int)(strstr(header, ",\"\\u00e9") - header - 1),
             header + 1);
    assert_int_equal(parse(plain, "0123456789a", 11, &file), HU_OK);
    assert_int_equal(hu_safetensors_count(file), 3);
    assert_string_equal(hu_safetensors_at(file, 1)->name, "empty");
    assert_int_equal(hu_safetensors_at(file, 1)->elements, 0);
    assert_int_equal(hu_safetensors_read(file, hu_safetensors_find(file, "n"), &value),
                     HU_ERR_UNSUPPORTED);
    hu_safetensors_free(file);
    assert_int_equal(parse("{\"\\u00e9\\ud83d\\ude00\\u002e\":{\"dtype\":\"U8\",\"shape\":[1],"
                           "\"data_offsets\":[0,1]}}",
                           "x", 1, &file),
                     HU_OK);
    assert_string_equal(hu_safetensors_at(file, 0)->name, "é😀.");
    hu_safetensors_free(file);
}

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* header, what the message must name; the file has 8 bytes of data */
static const struct {
    const char *header, *says;
    hu_status status;
} hostile[] = {
    {"", "'{'", HU_ERR_CORRUPT},
    {"[]", "'{'", HU_ERR_CORRUPT},
    {" {}", "'{'", HU_ERR_CORRUPT},
    {"{}", "8 bytes behind the last", HU_ERR_CORRUPT},
    {"{", "the end", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[2]", "[0,8]") "} x", "end of the header", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[2]", "[0,8]") ",}", "'\"'", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[2]", "[0,8]") "," ENTRY("a", "F32", "[0]", "[8,8]") "}",
     "'a': found it a second time", HU_ERR_CORRUPT},
    {"{" ENTRY("", "F32", "[2]", "[0,8]") "}", "empty name", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F99", "[2]", "[0,8]") "}", "dtype 'F99'", HU_ERR_UNSUPPORTED},
    {"{" ENTRY("a", "F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]") "}", "extents", HU_ERR_UNSUPPORTED},
    {"{" ENTRY("a", "F32", "[2]", "[0,9]") "}", "inside the 8 bytes", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[2]", "[8,0]") "}", "inside the 8 bytes", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[1]", "[0,8]") "}", "found 8 bytes of data, expected 4",
     HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}", "4 bytes behind", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[1]", "[4,8]") "}", "from 4 on", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[1]", "[0,4]") "," ENTRY("b", "F32", "[2]", "[0,8]") "}", "from 0 on",
     HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F4", "[3]", "[0,1]") "}", "whole number of bytes", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[4611686018427387904,4611686018427387904]", "[0,8]") "}", "below 2^64",
     HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[4294967296,4294967296,0]", "[0,0]") "}", "below 2^64", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[9223372036854775808]", "[0,8]") "}", "2^63", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[02]", "[0,8]") "}", "leading zero", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[-2]", "[0,8]") "}", "found '-'", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[2.0]", "[0,8]") "}", "found '.'", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[[2]]", "[0,8]") "}", "found '['", HU_ERR_CORRUPT},
    {"{" ENTRY("a", "F32", "[2]", "[0,8,8]") "}", "found ','", HU_ERR_CORRUPT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "no 'data_offsets'", HU_ERR_CORRUPT},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "'dtype' a second time", HU_ERR_CORRUPT},
    {"{\"a\":{\"stride\":1}}", "'stride'", HU_ERR_CORRUPT},
    {"{\"a\":1}", "found '1'", HU_ERR_CORRUPT},
    {"{\"a\\u0000\":{}}", "escape", HU_ERR_CORRUPT},
    {"{\"a\\ud800\":{}}", "escape", HU_ERR_CORRUPT},
    {"{\"a\\x\":{}}", "behind '\\'", HU_ERR_CORRUPT},
    {"{\"a\n\":{}}", "byte 0x0a", HU_ERR_CORRUPT},
    {"{\"\xc0\x80\":{}}", "UTF-8", HU_ERR_CORRUPT},
    {"{\"__metadata__\":{\"a\":1}}", "found '1'", HU_ERR_CORRUPT},
    {"{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", "found '{'", HU_ERR_CORRUPT},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", "second __metadata__", HU_ERR_CORRUPT},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}," ENTRY("a", "F32", "[2]", "[0,8]") "}",
     "'k': found it a second time", HU_ERR_CORRUPT},
};

static void hostile_headers_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        hu_safetensors *file;
        uint64_t live = hu_memory_count().live_blocks;
        hu_status st = parse(hostile[i].header, "01234567", 8, &file);
        if (st != hostile[i].status || !strstr(hu_last_error(), hostile[i].says) ||
            strncmp(hu_last_error(), "file: ", 6) != 0 || strchr(hu_last_error(), '\n'))
            fail_msg("%s\n gave %d: %s", hostile[i].header, (int)st, hu_last_error());
        assert_null(file);
        assert_int_equal(hu_memory_count().live_blocks, live);
    }
}

static void header_lengths_are_bounded(void **state) {
    (void)state;
    static const uint64_t lengths[] = {3, 100, UINT64_MAX, UINT64_MAX - 7, 100000001};
    uint8_t image[16] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    hu_safetensors *file;
    assert_int_equal(hu_safetensors_parse("file", image, 10, &file), HU_OK);
    assert_int_equal(hu_safetensors_count(file), 0);
    assert_null(hu_safetensors_find(file, "a"));
    hu_safetensors_free(file);
    for (size_t bytes = 0; bytes < 10; bytes++)
        assert_int_equal(hu_safetensors_parse("file", image, bytes, &file), HU_ERR_CORRUPT);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int b = 0; b < 8; b++) image[b] = (uint8_t)(lengths[i] >> 8 * b);
        assert_int_equal(hu_safetensors_parse("file", image, 10, &file), HU_ERR_CORRUPT);
        assert_non_null(strstr(hu_last_error(), "header length"));
        assert_null(file);
    }
}

/* Deep nesting costs no stack: the grammar has three levels. */
static void nesting_is_no_recursion(void **state) {
    (void)state;
    static char header[3000];
    hu_safetensors *file;
    for (size_t i = 0; i + 1 < sizeof header; i++) header[i] = "{\"a\":"[i % 5];
    assert_int_equal(parse(header, NULL, 0, &file), HU_ERR_CORRUPT);
    memset(header, '[', sizeof header - 1);
    memcpy(header, "{\"a\":{\"shape\":", 14);
    assert_int_equal(parse(header, NULL, 0, &file), HU_ERR_CORRUPT);
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    static const char header[] = "{\"__metadata__\":{\"k\":\"v\"}," ENTRY(
        "a", "F32", "[2]", "[0,8]") "," ENTRY("b", "F32", "[0]", "[8,8]") "}";
    hu_safetensors *file;
    hu_status st = HU_ERR_MEMORY;
    for (uint64_t nth = 1; st != HU_OK; nth++) {
        uint64_t live = hu_memory_count().live_blocks;
        hu_memory_fail_at(nth);
        st = parse(header, "01234567", 8, &file);
        hu_memory_fail_at(0);
        assert_true(st == HU_OK ? nth > 5 : st == HU_ERR_MEMORY && !file);
        if (st == HU_OK) hu_safetensors_free(file);
        assert_int_equal(hu_memory_count().live_blocks, live);
    }
}

/* A file of 3 GiB, sparse, is not read to find out that its tensors end before. */
static void a_size_that_the_header_denies_costs_no_memory(void **state) {
    (void)state;
    const hu_safetensor_source tensors[] = {{"a", {1, {6}}, some, NULL, NULL}};
    char path[] = "/tmp/halfulp-safetensors-XXXXXX";
    close(mkstemp(path));
    size_t bytes;
    hu_safetensors *file;
    assert_int_equal(hu_safetensors_write(path, tensors, 1, NULL, 0, &bytes), HU_OK);
    static const char *const words[] = {"bytes behind the last tensor", "header length"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(truncate(path, (off_t)3 << 30), 0);
        uint64_t before = hu_memory_count().peak_bytes;
        assert_int_equal(hu_safetensors_open(path, &file), HU_ERR_CORRUPT);
        assert_non_null(strstr(hu_last_error(), words[i]));
        assert_true(hu_memory_count().peak_bytes < before + (1 << 20));
        FILE *changed = fopen(path, "r+b"); /* now a header of 2^63 bytes */
        assert_int_equal(fwrite("\0\0\0\0\0\0\0\x7f", 1, 8, changed), 8);
        assert_int_equal(fclose(changed), 0);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_files_read_back),
        cmocka_unit_test(written_bytes_are_these),
        cmocka_unit_test(types_of_8_bits_are_those_of_torch),
        cmocka_unit_test(codes_are_decoded),
        cmocka_unit_test(bad_sources_are_refused),
        cmocka_unit_test(other_widths_become_float32),
        cmocka_unit_test(what_is_no_float_is_listed_but_not_read),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(header_lengths_are_bounded),
        cmocka_unit_test(nesting_is_no_recursion),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(a_size_that_the_header_denies_costs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
