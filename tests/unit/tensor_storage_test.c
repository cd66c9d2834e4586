/* What is written to a storage comes back bit for bit, whatever the mode and wherever rows end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tensor/storage.h"

enum { ROWS = 5, LONGEST = 67, GUARD = 64, GUARD_BYTE = 0xa5 };

static const hu_storage_mode modes[] = {HU_STORAGE_PACKED, HU_STORAGE_FLOAT32, HU_STORAGE_DENSE};
static const char *const formats[] = {"fp(4,3,4)", "e4m3fn", "e5m2", "fp(5,2,0)", "fp(6,9,0)",
                                      "fp16",      "bf16",   "e3m1", "e8m10",     "1/6/9/n"};
static const int64_t lengths[] = {1, 3, 7, 8, 9, 17, LONGEST};

/* Random members of the format: rounded normal numbers of widely spread size. */
static void fill_members(const hu_format *format, float *x, int64_t count) {
    hu_random_key key = {.seed = 5, .stream = 9, .step = 0};
    for (int64_t i = 0; i < count; i++) {
        float wide = hu_random_normal(&key, (uint64_t)i) * (float)(1 << (i % 9));
        x[i] = hu_format_round(format, HU_ROUND_NEAREST_EVEN, i % 11 == 3 ? 0.0f : wide / 16, 0);
    }
}

static size_t expected_row_bytes(hu_storage_mode mode, const hu_format *format, int64_t n) {
    uint32_t bits = hu_format_bits(format);
    if (mode == HU_STORAGE_FLOAT32 || bits > 16) return (size_t)n * 4;
    if (mode == HU_STORAGE_DENSE) return ((size_t)n * bits + 7) / 8;
    return (size_t)n * (bits <= 8 ? 1 : 2);
}

static void check_rows(hu_storage_mode mode, const hu_format *format, int64_t n) {
    float x[ROWS * LONGEST], scratch[ROWS * LONGEST];
    hu_storage storage;
    assert_int_equal(hu_storage_choose(mode, format, n, &storage), HU_OK);
    assert_int_equal(hu_storage_bytes(&storage, 1), expected_row_bytes(mode, format, n));
    size_t bytes = hu_storage_bytes(&storage, ROWS);
    assert_int_equal(bytes, ROWS * hu_storage_bytes(&storage, 1));
    unsigned char *data = malloc(bytes + GUARD);
    assert_non_null(data);
    memset(data, GUARD_BYTE, bytes + GUARD);
    fill_members(format, x, ROWS * n);
    /* Rows in an order of their own, and some of them together. */
    hu_storage_write(&storage, data, 3, 2, x + 3 * n);
    hu_storage_write(&storage, data, 0, 1, x);
    hu_storage_write(&storage, data, 1, 2, x + n);
    for (int64_t first = 0; first < ROWS; first++)
        for (int64_t rows = 1; first + rows <= ROWS; rows++) {
            memset(scratch, 0xff, sizeof scratch);
            const float *y = hu_storage_read(&storage, data, first, rows, scratch);
            assert_memory_equal(y, x + first * n, (size_t)(rows * n) * sizeof *x);
        }
    for (int i = 0; i < GUARD; i++) assert_int_equal(data[bytes + (size_t)i], GUARD_BYTE);
    free(data);
}

static void test_rows(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        hu_format format;
        assert_int_equal(hu_format_parse(formats[f], &format), HU_OK);
        for (size_t m = 0; m < 3; m++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                check_rows(modes[m], &format, lengths[l]);
    }
}

/* Where an infinity has no code and lives on, codes are one bit wider: it comes back, as all
 * members do. */
static void test_infinities_without_a_code(void **state) {
    (void)state;
    static const struct {
        const char *format;
        uint32_t bytes[3]; /* of 16 numbers: packed, float32, dense */
    } cases[] = {{"fp(5,2,0):ovf=inf:nan=ovf", {32, 64, 18}},
                 {"fp(6,8,0):ovf=inf:nan=ovf", {32, 64, 32}},
                 {"fp(6,9,0):ovf=inf:nan=ovf", {64, 64, 64}},
                 {"fp(5,2,-80):ovf=inf:nan=ovf", {32, 64, 18}},
                 {"fp(5,2,-81):ovf=inf:nan=ovf", {64, 64, 64}},
                 {"fp(5,2,-90):ovf=inf:nan=ovf", {64, 64, 64}}, /* wider codes leave float32 */
                 {"fp(5,2,0):nan=ovf", {16, 64, 16}},
                 {"fp(5,2,0):ovf=inf", {16, 64, 16}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t m = 0; m < 3; m++) {
            float x[16], scratch[16];
            unsigned char data[64];
            hu_format format;
            hu_storage storage;
            assert_int_equal(hu_format_parse(cases[c].format, &format), HU_OK);
            assert_int_equal(hu_storage_choose(modes[m], &format, 16, &storage), HU_OK);
            assert_int_equal(hu_storage_bytes(&storage, 1), cases[c].bytes[m]);
            fill_members(&format, x, 16);
            x[2] = (float)hu_format_limits_of(&format).max_finite;
            x[3] = -x[2], x[4] = -0.0f;
            if (c < 6) x[5] = INFINITY, x[9] = -INFINITY;
            hu_storage_write(&storage, data, 0, 1, x);
            assert_memory_equal(hu_storage_read(&storage, data, 0, 1, scratch), x, sizeof x);
        }
}

/* One pass writes the rows that rounding gives, counts as rounding does, and draws the random words
 * of the elements' own places; of numbers on the grid only the counts are new. */
static void check_encoded(const hu_storage *storage, const hu_rounder *rounder, int64_t n,
                          int64_t first, int64_t rows) {
    enum { MOST = ROWS * LONGEST };
    static float x[MOST], y[MOST], wanted[MOST], scratch[MOST];
    unsigned char data[MOST * 2 + GUARD], again[MOST * 2 + GUARD];
    const hu_random_key key = {.seed = 3, .stream = 1, .step = 4};
    hu_round_counts counts, expected;
    size_t bytes = hu_storage_bytes(storage, ROWS), row = hu_storage_bytes(storage, 1);
    for (int64_t i = 0; i < rows * n; i++) x[i] = hu_random_normal(&key, (uint64_t)i) * 20;
    hu_round_counts_clear(&counts);
    hu_round_counts_clear(&expected);
    memset(data, GUARD_BYTE, sizeof data);
    hu_rounder_run(rounder, (size_t)(rows * n), x, wanted, &key, 77, &expected);
    hu_storage_encode(storage, rounder, data, first, rows, x, y, &key, 77, &counts);
    assert_memory_equal(y, wanted, (size_t)(rows * n) * sizeof *y);
    assert_memory_equal(&counts, &expected, sizeof counts);
    assert_memory_equal(hu_storage_read(storage, data, first, rows, scratch), wanted,
                        (size_t)(rows * n) * sizeof *y);
    for (size_t i = 0; i < sizeof data; i++)
        if (i < row * (size_t)first || i >= row * (size_t)(first + rows))
            assert_int_equal(data[i], GUARD_BYTE);
    memset(again, GUARD_BYTE, sizeof again);
    hu_storage_encode(storage, rounder, again, first, rows, x, NULL, &key, 77, NULL);
    assert_memory_equal(again, data, bytes);
    memset(again, GUARD_BYTE, sizeof again);
    hu_round_counts_clear(&counts);
    hu_round_counts_clear(&expected);
    hu_count_on_grid(rounder, (size_t)(rows * n), wanted, &expected);
    hu_storage_encode_on_grid(storage, rounder, again, first, rows, wanted, &counts);
    assert_memory_equal(again, data, sizeof data);
    assert_memory_equal(&counts, &expected, sizeof counts);
}

static void test_encode(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t m = 0; m < 3; m += 2)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                for (int64_t first = 0; first < ROWS; first += 2) {
                    hu_format format;
                    hu_storage storage;
                    hu_rounder rounder;
                    assert_int_equal(hu_format_parse(formats[f], &format), HU_OK);
                    assert_int_equal(hu_storage_choose(modes[m], &format, lengths[l], &storage),
                                     HU_OK);
                    if (!hu_storage_is_coded(&storage)) continue;
                    assert_int_equal(hu_rounder_init(&rounder, &format, HU_ROUND_STOCHASTIC),
                                     HU_OK);
                    check_encoded(&storage, &rounder, lengths[l], first, ROWS - first);
                    check_encoded(&storage, &rounder, lengths[l], first, 1);
                }
}

/* Formats wider than 16 bits stay float32 in every mode, those up to 8 take one byte. */
static void test_widths(void **state) {
    (void)state;
    static const struct {
        const char *format, *names[3]; /* packed, float32, dense */
    } cases[] = {{"e4m3", {"8 bit", "float32", "dense"}},
                 {"e4m4", {"16 bit", "float32", "dense"}},
                 {"bf16", {"16 bit", "float32", "dense"}},
                 {"e8m8", {"float32", "float32", "float32"}},
                 {"fp32", {"float32", "float32", "float32"}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t m = 0; m < 3; m++) {
            hu_format format;
            hu_storage storage;
            assert_int_equal(hu_format_parse(cases[c].format, &format), HU_OK);
            assert_int_equal(hu_storage_choose(modes[m], &format, 8, &storage), HU_OK);
            assert_string_equal(storage.trait->name, cases[c].names[m]);
            assert_int_equal(storage.row_elements, 8);
            assert_true(hu_format_equal(&storage.format, &format));
        }
}

/* What lies in its place already is left there; elsewhere it is copied. */
static void test_float32_in_place(void **state) {
    (void)state;
    float data[6] = {1, 2, 3, 4, 5, 6}, other[3] = {7, 8, 9};
    hu_storage storage;
    assert_int_equal(hu_storage_choose(HU_STORAGE_FLOAT32, NULL, 3, &storage), HU_OK);
    hu_storage_write(&storage, data, 1, 1, data + 3);
    hu_storage_write_part(&storage, data, 0, 3, data);
    assert_true(data[0] == 1 && data[3] == 4 && data[5] == 6);
    hu_storage_write_part(&storage, data, 2, 3, other);
    assert_true(data[1] == 2 && data[2] == 7 && data[4] == 9 && data[5] == 6);
    assert_ptr_equal(hu_storage_read_part(&storage, data, 2, 3, other), data + 2);
}

/* Writing one row must not touch its neighbours, even where a dense row ends inside a byte. */
static void test_neighbours_stay(void **state) {
    (void)state;
    hu_format format;
    float x[3 * 13], other[13], scratch[3 * 13];
    assert_int_equal(hu_format_parse("e3m1", &format), HU_OK);
    fill_members(&format, x, 3 * 13);
    for (int i = 0; i < 13; i++) other[i] = -x[13 + i];
    for (size_t m = 0; m < 3; m++) {
        unsigned char data[3 * 13 * 4];
        hu_storage storage;
        assert_int_equal(hu_storage_choose(modes[m], &format, 13, &storage), HU_OK);
        hu_storage_write(&storage, data, 0, 3, x);
        hu_storage_write(&storage, data, 1, 1, other);
        const float *y = hu_storage_read(&storage, data, 0, 3, scratch);
        assert_memory_equal(y, x, 13 * sizeof *x);
        assert_memory_equal(y + 13, other, sizeof other);
        assert_memory_equal(y + 26, x + 26, 13 * sizeof *x);
    }
}

static void test_parts(void **state) {
    (void)state;
    static const int64_t cuts[] = {0, 8, 24, 64, LONGEST};
    float x[LONGEST], scratch[LONGEST];
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        hu_format format;
        assert_int_equal(hu_format_parse(formats[f], &format), HU_OK);
        fill_members(&format, x, LONGEST);
        for (size_t m = 0; m < 3; m++) {
            unsigned char data[LONGEST * 4];
            hu_storage storage;
            assert_int_equal(hu_storage_choose(modes[m], &format, LONGEST, &storage), HU_OK);
            for (int c = 3; c >= 0; c--)
                hu_storage_write_part(&storage, data, cuts[c], cuts[c + 1] - cuts[c], x + cuts[c]);
            assert_memory_equal(hu_storage_read(&storage, data, 0, 1, scratch), x, sizeof x);
            for (int c = 0; c < 4; c++)
                assert_memory_equal(
                    hu_storage_read_part(&storage, data, cuts[c], cuts[c + 1] - cuts[c], scratch),
                    x + cuts[c], (size_t)(cuts[c + 1] - cuts[c]) * sizeof *x);
        }
    }
}

static void test_no_format_is_float32(void **state) {
    (void)state;
    float x[6] = {1, -2, 3.14159f, 1e-40f, -0.0f, 6}, scratch[6];
    float data[6] = {0};
    for (size_t m = 0; m < 3; m++) {
        hu_storage storage;
        assert_int_equal(hu_storage_choose(modes[m], NULL, 3, &storage), HU_OK);
        assert_ptr_equal(hu_storage_in_place(&storage, data, 1), data + 3);
        hu_storage_write(&storage, data, 0, 2, x);
        assert_ptr_equal(hu_storage_read(&storage, data, 1, 1, scratch), data + 3);
        assert_memory_equal(data, x, sizeof x);
    }
}

static void test_endless_rows(void **state) {
    (void)state;
    hu_storage storage;
    assert_int_equal(hu_storage_choose(HU_STORAGE_FLOAT32, NULL, INT64_MAX, &storage),
                     HU_ERR_SHAPE);
}

/* Packed blocks are the numbers that rounding gives, by rows and by parts. */
static void test_blocks(void **state) {
    (void)state;
    static const int64_t lines[] = {1, 3, 16, 33, LONGEST};
    const hu_random_key key = {1, 2, 3};
    const hu_block_format *format;
    for (size_t f = 0; (format = hu_block_format_at(f)) != NULL; f++)
        for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
            enum { LINES = 2, MOST = ROWS * LINES * LONGEST };
            static float x[MOST], y[MOST], scratch[MOST];
            static unsigned char data[5 * MOST];
            hu_blocker blocker;
            hu_storage storage;
            int64_t n = LINES * lines[l];
            for (int64_t i = 0; i < ROWS * n; i++)
                x[i] = hu_random_normal(&key, (uint64_t)i) * (float)(1 << (i % 9));
            assert_int_equal(hu_blocker_init(&blocker, format, HU_ROUND_NEAREST_EVEN, n, lines[l]),
                             HU_OK);
            hu_storage_choose_blocks(HU_STORAGE_PACKED, &blocker, &storage);
            storage.tensor_scale = hu_block_needs_tensor_scale(format) ? 0.75f : 1.0f;
            assert_string_equal(storage.trait->name, "blocks");
            assert_true(hu_storage_is_blocks(&storage));
            size_t bits = hu_format_bits(&format->element);
            size_t blocks = (size_t)((lines[l] + format->length - 1) / format->length);
            assert_int_equal(hu_storage_bytes(&storage, ROWS),
                             ROWS * (((size_t)n * bits + 7) / 8 + LINES * blocks));
            hu_blocker_round(&blocker, storage.tensor_scale, ROWS, x, y, &key, 0, NULL);
            hu_blocker_pack(&blocker, storage.tensor_scale, ROWS, x, data, &key, 0, NULL);
            for (int64_t r = 0; r < ROWS; r++) {
                const float *found = hu_storage_read(&storage, data, r, ROWS - r, scratch);
                assert_ptr_equal(found, scratch);
                assert_memory_equal(found, y + r * n, (size_t)((ROWS - r) * n) * sizeof *y);
            }
            for (int64_t first = 0; first < n; first += 8)
                assert_memory_equal(hu_storage_read_part(&storage, data, first, n - first, scratch),
                                    y + first, (size_t)(n - first) * sizeof *y);
            hu_storage_choose_blocks(HU_STORAGE_FLOAT32, &blocker, &storage);
            assert_false(hu_storage_is_blocks(&storage));
            assert_int_equal(hu_storage_bytes(&storage, 1), n * 4);
            assert_ptr_equal(hu_storage_in_place(&storage, data, 1), data + n * 4);
        }
}

/* Packed uniform integers are the numbers that rounding gives, by rows and by parts, whatever the
 * scale becomes. */
static void test_uniform(void **state) {
    (void)state;
    enum { LINES = 3, MOST = ROWS * LINES * LONGEST };
    static float x[MOST], y[MOST], scratch[MOST];
    static unsigned char data[4 * MOST];
    const hu_random_key key = {1, 2, 3};
    const hu_uniform_scale scales[][LINES] = {{{-3, 0.5f}, {-2, 0.01f}, {0, 0.3f}},
                                              {{0, 0.1f}, {-1e-3f, 1e-5f}, {0, NAN}}};
    for (int64_t i = 0; i < MOST; i++) x[i] = hu_random_normal(&key, (uint64_t)i);
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (int64_t line = 0; line <= LONGEST; line += 1 + line / 2) {
            hu_uniformer uniformer;
            hu_storage storage;
            int64_t n = LINES * (line ? line : 5);
            assert_int_equal(hu_uniformer_init(&uniformer, bits, HU_ROUND_STOCHASTIC, n, line),
                             HU_OK);
            hu_storage_choose_uniform(bits % 2 ? HU_STORAGE_PACKED : HU_STORAGE_DENSE, &uniformer,
                                      &storage);
            assert_string_equal(storage.trait->name, "uniform");
            assert_true(hu_storage_is_uniform(&storage) && !hu_storage_is_blocks(&storage));
            assert_int_equal(hu_storage_bytes(&storage, ROWS), ROWS * (((size_t)n * bits + 7) / 8));
            assert_null(hu_storage_in_place(&storage, data, 0));
            for (size_t s = 0; s < 2; s++) {
                storage.scale = scales[s];
                hu_uniform_round(&uniformer, scales[s], ROWS, x, y, &key, 0, NULL);
                hu_uniform_pack(&uniformer, scales[s], ROWS, x, data, &key, 0, NULL);
                for (int64_t r = 0; r < ROWS; r++)
                    assert_memory_equal(hu_storage_read(&storage, data, r, ROWS - r, scratch),
                                        y + r * n, (size_t)((ROWS - r) * n) * sizeof *y);
                for (int64_t first = 0; first < n; first += 8)
                    assert_memory_equal(
                        hu_storage_read_part(&storage, data, first, n - first, scratch), y + first,
                        (size_t)(n - first) * sizeof *y);
            }
            hu_storage_choose_uniform(HU_STORAGE_FLOAT32, &uniformer, &storage);
            assert_false(hu_storage_is_uniform(&storage));
            assert_int_equal(hu_storage_bytes(&storage, 1), n * 4);
            assert_ptr_equal(hu_storage_in_place(&storage, data, 1), data + n * 4);
        }
}

/* The scale of a tensor moves the bias of its format, and nothing else. */
static void test_scaled_format(void **state) {
    (void)state;
    hu_format format, scaled;
    float x[LONGEST], moved[LONGEST], scratch[LONGEST];
    unsigned char data[2][LONGEST * 2];
    assert_int_equal(hu_format_parse("e4m3fn", &format), HU_OK);
    fill_members(&format, x, LONGEST);
    for (int k = -140; k <= 119; k += 7) {
        scaled = format;
        scaled.bias -= k;
        for (int i = 0; i < LONGEST; i++) moved[i] = ldexpf(x[i], k);
        hu_storage storage;
        assert_int_equal(hu_storage_choose(HU_STORAGE_PACKED, &format, LONGEST, &storage), HU_OK);
        hu_storage_write(&storage, data[0], 0, 1, x);
        hu_storage_set_format(&storage, &scaled);
        hu_storage_write(&storage, data[1], 0, 1, moved);
        assert_memory_equal(data[0], data[1], LONGEST);
        assert_memory_equal(hu_storage_read(&storage, data[1], 0, 1, scratch), moved, sizeof moved);
    }
}

static void test_modes(void **state) {
    (void)state;
    hu_storage_mode mode;
    hu_format format;
    hu_storage storage;
    static const char *const names[] = {"packed", "float32", "dense"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hu_storage_mode_parse(names[i], &mode), HU_OK);
        assert_int_equal(mode, modes[i]);
    }
    assert_int_equal(hu_storage_mode_parse("tight", &mode), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "packed, float32 or dense"));
    assert_int_equal(hu_format_parse("fp(6,9,0)", &format), HU_OK);
    assert_int_equal(hu_storage_choose(HU_STORAGE_PACKED, &format, 4, &storage), HU_OK);
    assert_string_equal(storage.trait->name, "16 bit");
    assert_null(hu_storage_in_place(&storage, &storage, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_infinities_without_a_code),
        cmocka_unit_test(test_neighbours_stay),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_no_format_is_float32),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_scaled_format),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_endless_rows),
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_float32_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
