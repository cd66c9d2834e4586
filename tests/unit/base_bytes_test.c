#include "base/bytes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void message_names(const char *part) {
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
}

static void both_byte_orders_read_as_written_down(void **state) {
    (void)state;
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint16_t a;
    uint32_t b;
    uint64_t c;
    hu_byte_reader r = {"x", data, sizeof data, 0};
    assert_int_equal(hu_read_u16_le(&r, "f", &a), HU_OK);
    assert_int_equal(a, 0x0201);
    assert_int_equal(hu_read_u16_le(&r, "f", &a), HU_OK);
    assert_int_equal(a, 0x0403);
    assert_int_equal(hu_read_u32_be(&r, "f", &b), HU_OK);
    assert_int_equal(b, 0x05060708);
    r.offset = 4;
    assert_int_equal(hu_read_u32_le(&r, "f", &b), HU_OK);
    assert_int_equal(b, 0x08070605);
    r.offset = 0;
    assert_int_equal(hu_read_u64_le(&r, "f", &c), HU_OK);
    assert_true(c == UINT64_C(0x0807060504030201));
    assert_int_equal(hu_read_end(&r), HU_OK);
}

static void floats_read_as_written_down(void **state) {
    (void)state;
    static const uint8_t le[] = {0, 0, 0xc0, 0xbf, 0, 0, 0, 0, 0, 0, 0xf8, 0xbf};
    hu_byte_reader l = {"l", le, sizeof le, 0};
    float f;
    double d;
    assert_int_equal(hu_read_f32_le(&l, "f", &f), HU_OK);
    assert_true(f == -1.5f);
    assert_int_equal(hu_read_f64_le(&l, "f", &d), HU_OK);
    assert_true(d == -1.5);
}

typedef union any_value {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
} any_value;

static hu_status read_kind(int kind, hu_byte_reader *r, any_value *v) {
    switch (kind) {
    case 0:
        return hu_read_u8(r, "thing", &v->u8);
    case 1:
        return hu_read_u16_le(r, "thing", &v->u16);
    case 2:
        return hu_read_u32_le(r, "thing", &v->u32);
    case 3:
        return hu_read_u32_be(r, "thing", &v->u32);
    case 4:
        return hu_read_f32_le(r, "thing", &v->f32);
    case 5:
        return hu_read_u64_le(r, "thing", &v->u64);
    default:
        return hu_read_f64_le(r, "thing", &v->f64);
    }
}

static void a_read_past_the_end_names_file_offset_field_found_expected(void **state) {
    (void)state;
    static const size_t widths[] = {1, 2, 4, 4, 4, 8, 8};
    static const uint8_t data[16];
    for (int kind = 0; kind < 7; kind++) {
        for (size_t left = 0; left < widths[kind]; left++) {
            any_value v, untouched;
            memset(&v, 0x5a, sizeof v);
            memset(&untouched, 0x5a, sizeof untouched);
            hu_byte_reader r = {"some.file", data, 7 + left, 7};
            char expected[160];
            snprintf(expected, sizeof expected,
                     "some.file: offset 7: thing: found %zu bytes to the end, expected %zu", left,
                     widths[kind]);
            assert_int_equal(read_kind(kind, &r, &v), HU_ERR_CORRUPT);
            assert_string_equal(hu_last_error(), expected);
            assert_int_equal(r.offset, 7);
            assert_memory_equal(&v, &untouched, sizeof v);
        }
    }
}

static void huge_counts_do_not_wrap(void **state) {
    (void)state;
    static const uint8_t data[8];
    hu_byte_reader r = {"x", data, sizeof data, 4};
    const uint8_t *span = data;
    float value;
    assert_int_equal(hu_read_span(&r, "s", SIZE_MAX, &span), HU_ERR_CORRUPT);
    assert_null(span);
    assert_int_equal(hu_read_span(&r, "s", SIZE_MAX - 3, &span), HU_ERR_CORRUPT);
    assert_int_equal(hu_read_f32s_le(&r, "s", SIZE_MAX / 4 + 2, &value), HU_ERR_CORRUPT);
    message_names("x: offset 4: s");
    assert_int_equal(r.offset, 4);
    hu_byte_writer w = {0};
    assert_int_equal(hu_write_u8(&w, 1), HU_OK);
    assert_int_equal(hu_writer_reserve(&w, SIZE_MAX), HU_ERR_MEMORY);
    assert_int_equal(hu_write_f32s(&w, &value, SIZE_MAX / 4 + 2), HU_ERR_MEMORY);
    assert_int_equal(w.size, 1);
    hu_writer_free(&w);
}

static void trailing_bytes_are_damage(void **state) {
    (void)state;
    static const uint8_t data[8];
    hu_byte_reader r = {"x", data, sizeof data, 5};
    assert_int_equal(hu_read_end(&r), HU_ERR_CORRUPT);
    message_names("x: offset 5: end of file: found 3 trailing bytes");
}

static void what_is_written_reads_back_bit_for_bit(void **state) {
    (void)state;
    hu_byte_writer w = {0};
    float floats[300];
    for (int i = 0; i < 300; i++) floats[i] = (float)i * -0.37f;
    floats[7] = -0.0f;
    floats[8] = 0x1p-149f;
    floats[9] = INFINITY;
    assert_int_equal(hu_write_u64(&w, 0), HU_OK);
    assert_int_equal(hu_write_u8(&w, 0xfe), HU_OK);
    assert_int_equal(hu_write_u16(&w, 0xfedc), HU_OK);
    assert_int_equal(hu_write_u32(&w, 0xfedcba98), HU_OK);
    assert_int_equal(hu_write_f32(&w, -0.1f), HU_OK);
    assert_int_equal(hu_write_f64(&w, -0.1), HU_OK);
    assert_int_equal(hu_write_f32s(&w, floats, 300), HU_OK);
    assert_int_equal(hu_write_bytes(&w, "tail", 4), HU_OK);
    assert_int_equal(hu_write_bytes(&w, NULL, 0), HU_OK);
    assert_int_equal(w.size, 8 + 1 + 2 + 4 + 4 + 8 + 1200 + 4);
    hu_writer_patch_u64(&w, 0, w.size);
    hu_byte_reader r = {"w", w.data, w.size, 0};
    any_value v;
    const uint8_t *span;
    float back[300];
    assert_int_equal(hu_read_u64_le(&r, "", &v.u64), HU_OK);
    assert_true(v.u64 == w.size);
    assert_int_equal(hu_read_u8(&r, "", &v.u8), HU_OK);
    assert_int_equal(v.u8, 0xfe);
    assert_int_equal(hu_read_u16_le(&r, "", &v.u16), HU_OK);
    assert_int_equal(v.u16, 0xfedc);
    assert_int_equal(hu_read_u32_le(&r, "", &v.u32), HU_OK);
    assert_int_equal(v.u32, 0xfedcba98);
    assert_int_equal(hu_read_f32_le(&r, "", &v.f32), HU_OK);
    assert_true(v.f32 == -0.1f);
    assert_int_equal(hu_read_f64_le(&r, "", &v.f64), HU_OK);
    assert_true(v.f64 == -0.1);
    assert_int_equal(hu_read_f32s_le(&r, "", 300, back), HU_OK);
    assert_memory_equal(back, floats, sizeof floats);
    assert_int_equal(hu_read_span(&r, "", 4, &span), HU_OK);
    assert_memory_equal(span, "tail", 4);
    assert_int_equal(hu_read_end(&r), HU_OK);
    hu_writer_free(&w);
    assert_null(w.data);
}

static void growing_is_amortised_and_a_fault_keeps_what_is_there(void **state) {
    (void)state;
    uint64_t blocks = hu_memory_count().live_blocks, calls = hu_memory_count().allocations;
    hu_byte_writer w = {0};
    for (uint32_t i = 0; i < 100000; i++) assert_int_equal(hu_write_u32(&w, i), HU_OK);
    assert_true(hu_memory_count().allocations - calls < 20);
    hu_memory_fail_at(1);
    size_t size = w.size;
    assert_int_equal(hu_writer_reserve(&w, w.capacity), HU_ERR_MEMORY);
    assert_int_equal(w.size, size);
    hu_byte_reader r = {"w", w.data, w.size, 0};
    for (uint32_t i = 0, value; i < 100000; i++) {
        assert_int_equal(hu_read_u32_le(&r, "", &value), HU_OK);
        assert_int_equal(value, i);
    }
    hu_writer_free(&w);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_byte_orders_read_as_written_down),
        cmocka_unit_test(floats_read_as_written_down),
        cmocka_unit_test(a_read_past_the_end_names_file_offset_field_found_expected),
        cmocka_unit_test(huge_counts_do_not_wrap),
        cmocka_unit_test(trailing_bytes_are_damage),
        cmocka_unit_test(what_is_written_reads_back_bit_for_bit),
        cmocka_unit_test(growing_is_amortised_and_a_fault_keeps_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
