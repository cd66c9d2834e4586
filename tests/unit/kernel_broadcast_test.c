/* Joins of planes and their sums, bit by bit against their definitions in double, on every
 * instruction set, with operands that are repeated in every way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/broadcast/broadcast.h"

enum { ROWS_MOST = 12, WIDTH_MOST = 320, NUMBERS = ROWS_MOST * WIDTH_MOST };

static float x[HU_JOIN_OPERANDS][NUMBERS], found[NUMBERS];
static double sums[NUMBERS], expected_sums[NUMBERS];

/* Some numbers are equal to those of other operands, and some 0, infinite or NaN. */
static void fill(void) {
    static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 0x1p-149f};
    const hu_random_key key = {.seed = 2, .stream = 4, .step = 6};
    for (int k = 0; k < HU_JOIN_OPERANDS; k++)
        for (int i = 0; i < NUMBERS; i++) {
            uint32_t word = hu_random_word(&key, (uint64_t)(k * NUMBERS + i));
            x[k][i] = (float)((int32_t)word >> 8) * 0x1p-20f;
            if (word % 29 == 0) x[k][i] = special[word / 29 % 8];
            if (word % 31 == 0) x[k][i] = x[0][i];
        }
}

/* x0 or nothing. */
static double some(int is, double a) {
    return is ? a : 0.0;
}

static double definition(hu_join join, double a, double b, double c) {
    switch (join) {
    case HU_JOIN_ADD:
        return a + b;
    case HU_JOIN_SUB:
        return a - b;
    case HU_JOIN_MUL:
        return a * b;
    case HU_JOIN_DIV:
        return a / b;
    case HU_JOIN_MINIMUM:
        return isnan(a) || a <= b ? a : b;
    case HU_JOIN_MAXIMUM:
        return isnan(a) || a >= b ? a : b;
    case HU_JOIN_SELECT:
        return c == 0 ? b : a;
    case HU_JOIN_SAME:
        return a;
    case HU_JOIN_OPPOSITE:
        return -a;
    case HU_JOIN_DIVISOR_SLOPE:
        return -(a * b) / (c * c);
    case HU_JOIN_WHERE:
        return some(!(b == 0), a);
    case HU_JOIN_WHERE_NOT:
        return some(b == 0, a);
    case HU_JOIN_WHERE_MINIMUM:
        return some(isnan(b) || b <= c, a);
    case HU_JOIN_WHERE_GREATER:
        return some(!(isnan(b) || b <= c), a);
    case HU_JOIN_WHERE_MAXIMUM:
        return some(isnan(b) || b >= c, a);
    default:
        return some(!(isnan(b) || b >= c), a);
    }
}

static double at(hu_join join, const hu_plane *plane, int64_t r, int64_t i) {
    double v[HU_JOIN_OPERANDS] = {0};
    for (int k = 0; k < hu_join_operands(join); k++)
        v[k] = (double)plane->x[k][r * plane->row[k] + i * plane->step[k]];
    return definition(join, v[0], v[1], v[2]);
}

static void check_join(hu_join join, const hu_plane *plane) {
    hu_broadcast()->join(join, plane, found);
    for (int64_t r = 0; r < plane->rows; r++)
        for (int64_t i = 0; i < plane->width; i++) {
            float is = found[r * plane->width + i], wanted = (float)at(join, plane, r, i);
            if (isnan(wanted) ? !isnan(is) : hu_f32_bits(is) != hu_f32_bits(wanted))
                fail_msg("join %d on %s, %lld x %lld, number %lld of row %lld: %a, expected %a",
                         join, hu_isa_name(hu_cpu_isa()), (long long)plane->rows,
                         (long long)plane->width, (long long)i, (long long)r, (double)is,
                         (double)wanted);
        }
}

/* The sums of a row go in sixteen, or every number to its own. */
static void sum_by_definition(hu_join join, const hu_plane *plane, int64_t to_row, int to_step) {
    for (int64_t r = 0; r < plane->rows; r++) {
        double lane[16] = {0}, *to = expected_sums + r * to_row;
        for (int64_t i = 0; i < plane->width; i++) {
            double term = at(join, plane, r, i);
            if (to_step)
                to[i] += term;
            else
                lane[i % 16] += term;
        }
        for (int k = 0; k < 16 && !to_step; k++) *to += lane[k];
    }
}

static void check_sum(hu_join join, const hu_plane *plane, int64_t to_row, int to_step) {
    int64_t most = plane->rows * plane->width + plane->rows;
    for (int64_t i = 0; i < most; i++) sums[i] = expected_sums[i] = 0.25 * (double)(i % 7);
    hu_broadcast()->sum(join, plane, sums, to_row, to_step);
    sum_by_definition(join, plane, to_row, to_step);
    for (int64_t i = 0; i < most; i++)
        if (isnan(expected_sums[i]) ? !isnan(sums[i])
                                    : memcmp(&sums[i], &expected_sums[i], sizeof *sums) != 0)
            fail_msg("sum %d on %s, %lld x %lld to %lld: %a, expected %a", join,
                     hu_isa_name(hu_cpu_isa()), (long long)plane->rows, (long long)plane->width,
                     (long long)i, sums[i], expected_sums[i]);
}

/* Ways in which an operand lies: whole, a row for all, a number for each row, one for all. */
static void lie(hu_plane *plane, int k, int way) {
    plane->x[k] = x[k] + 3 * k;
    plane->step[k] = way < 2;
    plane->row[k] = way == 0 ? plane->width : way == 2 ? 1 : 0;
}

static void check_plane(int64_t rows, int64_t width) {
    for (int ways = 0; ways < 64; ways++) {
        hu_plane plane = {.rows = rows, .width = width};
        for (int k = 0; k < HU_JOIN_OPERANDS; k++) lie(&plane, k, ways >> 2 * k & 3);
        for (int j = 0; j < HU_JOINS; j++) {
            if (ways >> 2 * hu_join_operands((hu_join)j)) continue; /* others are not read */
            check_join((hu_join)j, &plane);
            check_sum((hu_join)j, &plane, 0, 1);
            check_sum((hu_join)j, &plane, width, 1);
            check_sum((hu_join)j, &plane, 1, 0);
            check_sum((hu_join)j, &plane, 0, 0);
        }
    }
}

static void planes_are_those_of_the_definition(void **unused) {
    (void)unused;
    static const int64_t widths[] = {1, 3, 16, 63, 64, 300}, rows[] = {1, 2, 11};
    fill();
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) check_plane(rows[r], widths[w]);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

static void a_join_may_take_the_place_of_its_operand(void **unused) {
    (void)unused;
    enum { WIDTH = 70, COUNT = 9 };
    static float y[COUNT * WIDTH];
    fill();
    for (int j = 0; j < HU_JOINS; j++) {
        hu_plane plane = {COUNT, WIDTH, {y, x[1], x[2]}, {WIDTH, 0, WIDTH}, {1, 1, 1}};
        memcpy(y, x[0], sizeof y);
        hu_broadcast()->join((hu_join)j, &plane, y);
        plane.x[0] = x[0];
        hu_broadcast()->join((hu_join)j, &plane, found);
        assert_memory_equal(y, found, sizeof y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_are_those_of_the_definition),
        cmocka_unit_test(a_join_may_take_the_place_of_its_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
