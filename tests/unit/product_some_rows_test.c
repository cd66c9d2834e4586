/* Products of some rows beside those of an array that holds no others: bit for bit, in float32 and
 * in chosen accumulators, however the rows are cut into calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "product/gathered.h"

enum { ROWS = 300, IN = 19, OUT = 21, FIRST = 5, LAST = 9 };

/* All arrays of the rows, those of the rows that are present behind each other, and what is made.
 */
typedef struct arrays {
    float ids[ROWS], x[ROWS * IN], dy[ROWS * OUT], w[OUT * IN];
    float y[ROWS * OUT], dx[ROWS * IN], dw[OUT * IN];
    float some_x[ROWS * IN], some_dy[ROWS * OUT];
    float some_y[ROWS * OUT], some_dx[ROWS * IN], some_dw[OUT * IN];
    int64_t valid, place[ROWS];
} arrays;

static void draw(float *x, int64_t count, uint64_t stream) {
    const hu_random_key key = {.seed = 3, .stream = stream};
    for (int64_t i = 0; i < count; i++) x[i] = hu_random_normal(&key, (uint64_t)i);
}

/* A stretch in which all rows are present, one in which none is, and rows here and there. */
static float id_of(int64_t r) {
    if (r >= 100 && r < 180) return FIRST + (float)(r % (LAST - FIRST));
    if (r >= 180 && r < 230) return LAST;
    return (float)((5 * r + r / 13) % 13);
}

static void fill(arrays *a) {
    memset(a, 0, sizeof *a);
    draw(a->x, ROWS * IN, 1);
    draw(a->dy, ROWS * OUT, 2);
    draw(a->w, OUT * IN, 3);
    for (int64_t r = 0; r < ROWS; r++) {
        a->ids[r] = id_of(r);
        if (a->ids[r] < FIRST || a->ids[r] >= LAST) continue;
        memcpy(a->some_x + a->valid * IN, a->x + r * IN, IN * sizeof(float));
        memcpy(a->some_dy + a->valid * OUT, a->dy + r * OUT, OUT * sizeof(float));
        a->place[a->valid++] = r;
    }
    assert_true(a->valid > 2 * HU_SOME_ROWS && a->valid < ROWS);
}

static hu_product_facts facts_of(bool transposed, const hu_accumulation *accumulation) {
    hu_product geometry = transposed ? hu_product_rows(1, OUT, IN) : hu_product_rows(1, IN, OUT);
    geometry.is_linear = true;
    return (hu_product_facts){.geometry = geometry,
                              .transposed = transposed,
                              .accumulation = accumulation,
                              .needs = {true, true, true},
                              .chunk = ROWS,
                              .threads = 2};
}

static void *block(size_t bytes) {
    void *made;
    assert_int_equal(hu_alloc(bytes + 1, &made), HU_OK);
    return made;
}

/* Rows first .. first+count-1 of the whole arrays. */
static hu_product_call call_of(arrays *a, int64_t first, int64_t count, void *packed,
                               void *scratch) {
    return (hu_product_call){.x = a->x + first * IN,
                             .w = a->w,
                             .y = a->y + first * OUT,
                             .dy = a->dy + first * OUT,
                             .dx = a->dx + first * IN,
                             .dw = a->dw,
                             .first = first,
                             .count = count,
                             .packed = packed,
                             .scratch = scratch};
}

/* What the rows that are present give: weight gradients in blocks of HU_SOME_ROWS unless an
 * accumulator goes through all of them. */
static void expect(arrays *a, const hu_product_facts *facts, int64_t first, int64_t end) {
    hu_products *plain;
    bool whole = facts->accumulation != NULL;
    assert_int_equal(hu_products_create(facts, &plain), HU_OK);
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        hu_product_role role = (hu_product_role)r;
        bool is_weights = role == HU_PRODUCT_WEIGHT_GRAD;
        void *packed = block(is_weights ? 0 : hu_products_packed_bytes(plain, role));
        void *carry = block(hu_products_carry_bytes(plain));
        void *scratch = block(hu_products_scratch_bytes(plain, role));
        if (!is_weights) hu_products_pack(plain, role, a->w, NULL, packed);
        int64_t step = is_weights && !whole ? HU_SOME_ROWS : end - first;
        for (int64_t s = first; s < end; s += step) {
            hu_product_call call = {.x = a->some_x + s * IN,
                                    .w = a->w,
                                    .y = a->some_y + s * OUT,
                                    .dy = a->some_dy + s * OUT,
                                    .dx = a->some_dx + s * IN,
                                    .dw = a->some_dw,
                                    .first = s - first,
                                    .count = end - s < step ? end - s : step,
                                    .adds = s > first,
                                    .packed = packed,
                                    .carry = carry,
                                    .scratch = scratch};
            hu_products_run(plain, role, &call);
        }
        hu_free(packed);
        hu_free(carry);
        hu_free(scratch);
    }
    hu_products_free(plain);
}

static void same_rows(const arrays *a) {
    static const float zeros[OUT > IN ? OUT : IN];
    int64_t next = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        bool is_present = next < a->valid && a->place[next] == r;
        const float *y = is_present ? a->some_y + next * OUT : zeros;
        const float *dx = is_present ? a->some_dx + next * IN : zeros;
        assert_memory_equal(a->y + r * OUT, y, OUT * sizeof(float));
        assert_memory_equal(a->dx + r * IN, dx, IN * sizeof(float));
        next += is_present;
    }
    assert_int_equal(next, a->valid);
}

/* Forward and input gradient in calls of `step` rows; the weight gradient through all of them. */
static void run(arrays *a, const hu_product_facts *facts, int64_t step) {
    hu_some_rows *rows;
    assert_int_equal(hu_some_rows_create(facts, &rows), HU_OK);
    memset(a->y, 0xff, sizeof a->y);
    memset(a->dx, 0xff, sizeof a->dx);
    memset(a->dw, 0xff, sizeof a->dw);
    for (int r = 0; r <= HU_PRODUCT_INPUT_GRAD; r++) {
        hu_product_role role = (hu_product_role)r;
        void *packed = block(hu_some_rows_packed_bytes(rows, role));
        void *scratch = block(hu_some_rows_scratch_bytes(rows, role));
        hu_some_rows_pack(rows, role, a->w, packed);
        for (int64_t s = 0; s < ROWS; s += step) {
            int64_t count = ROWS - s < step ? ROWS - s : step;
            const hu_row_choice choice = {a->ids + s, FIRST, LAST};
            hu_product_call call = call_of(a, s, count, packed, scratch);
            hu_some_rows_run(rows, role, &choice, &call);
            if (role == HU_PRODUCT_FORWARD) continue;
            call.adds = s > 0;
            if (facts->accumulation)
                hu_some_rows_accumulate(rows, &choice, &call);
            else
                hu_some_rows_run(rows, HU_PRODUCT_WEIGHT_GRAD, &choice, &call);
        }
        hu_free(packed);
        hu_free(scratch);
    }
    hu_some_rows_free(rows);
}

static void in_float32(void **state) {
    static arrays a;
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        const hu_product_facts facts = facts_of(transposed, NULL);
        fill(&a);
        expect(&a, &facts, 0, a.valid);
        run(&a, &facts, ROWS);
        same_rows(&a);
        assert_memory_equal(a.dw, a.some_dw, sizeof a.dw);
        run(&a, &facts, 7); /* weight gradients have another strip in each call */
        same_rows(&a);
        for (int i = 0; i < OUT * IN; i++)
            assert_true(a.dw[i] - a.some_dw[i] < 1e-4f && a.some_dw[i] - a.dw[i] < 1e-4f);
    }
}

/* Blocks of 8 terms: they end where as many rows were present, whatever the calls. */
static void in_a_chosen_accumulator(void **state) {
    static arrays a;
    hu_accumulation chosen = {.chosen = {true, true, true}};
    (void)state;
    for (int r = 0; r < HU_PRODUCT_ROLES; r++)
        assert_int_equal(hu_accumulator_parse("fmac8:1/6/9", &chosen.accumulator[r]), HU_OK);
    for (int transposed = 0; transposed < 2; transposed++) {
        const hu_product_facts facts = facts_of(transposed, &chosen);
        static const int64_t steps[] = {ROWS, 150, 64, 7, 1};
        fill(&a);
        expect(&a, &facts, 0, a.valid);
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            run(&a, &facts, steps[k]);
            same_rows(&a);
            assert_memory_equal(a.dw, a.some_dw, sizeof a.dw);
        }
    }
}

/* No row in the first calls, or in any: zeros. */
static void nothing_there_is_nothing(void **state) {
    static arrays a;
    hu_accumulation chosen = {.chosen = {true, true, true}};
    (void)state;
    for (int r = 0; r < HU_PRODUCT_ROLES; r++)
        assert_int_equal(hu_accumulator_parse("fmac8:1/6/9", &chosen.accumulator[r]), HU_OK);
    for (int k = 0; k < 2; k++) {
        const hu_product_facts facts = facts_of(false, k ? &chosen : NULL);
        fill(&a);
        for (int64_t r = 0; r < ROWS; r++) a.ids[r] = 0;
        run(&a, &facts, 50);
        for (int i = 0; i < ROWS * OUT; i++) assert_true(a.y[i] == 0);
        for (int i = 0; i < ROWS * IN; i++) assert_true(a.dx[i] == 0);
        for (int i = 0; i < OUT * IN; i++) assert_true(a.dw[i] == 0);
    }
}

/* Without ids all rows are present. */
static void all_rows(void **state) {
    static arrays a;
    (void)state;
    const hu_product_facts facts = facts_of(false, NULL);
    hu_some_rows *rows;
    fill(&a);
    memcpy(a.some_x, a.x, sizeof a.x);
    expect(&a, &facts, 0, ROWS);
    assert_int_equal(hu_some_rows_create(&facts, &rows), HU_OK);
    void *packed = block(hu_some_rows_packed_bytes(rows, HU_PRODUCT_FORWARD));
    void *scratch = block(hu_some_rows_scratch_bytes(rows, HU_PRODUCT_FORWARD));
    hu_some_rows_pack(rows, HU_PRODUCT_FORWARD, a.w, packed);
    const hu_row_choice choice = {NULL, FIRST, LAST};
    hu_product_call call = call_of(&a, 0, ROWS, packed, scratch);
    hu_some_rows_run(rows, HU_PRODUCT_FORWARD, &choice, &call);
    assert_memory_equal(a.y, a.some_y, sizeof a.y);
    hu_free(packed);
    hu_free(scratch);
    hu_some_rows_free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_float32),
        cmocka_unit_test(in_a_chosen_accumulator),
        cmocka_unit_test(nothing_there_is_nothing),
        cmocka_unit_test(all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
