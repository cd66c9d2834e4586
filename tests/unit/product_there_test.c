/* Products of rows that samples have not all: what is there is made as if all were, the rest is
 * left alone, and is no term of a chosen accumulator, however samples are cut into calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "product/product.h"

enum { SAMPLES = 6, ROWS = 11, ALL = SAMPLES * ROWS, IN = 19, OUT = 21 };

static const float lengths[SAMPLES] = {0, ROWS, 1, 5, 0, ROWS + 3};

typedef struct arrays {
    float x[ALL * IN], dy[ALL * OUT], w[OUT * IN];
    float y[ALL * OUT], dx[ALL * IN], dw[OUT * IN];
} arrays;

static void *block(size_t bytes) {
    void *made;
    assert_int_equal(hu_alloc(bytes + 1, &made), HU_OK);
    return made;
}

static int64_t valid(int64_t s) {
    return lengths[s] < ROWS ? (int64_t)lengths[s] : ROWS;
}

/* Drawn numbers where something is present; zeros after. */
static void fill(float *x, int64_t width, uint64_t stream) {
    const hu_random_key key = {.seed = 3, .stream = stream};
    for (int64_t r = 0; r < ALL; r++)
        for (int64_t i = 0; i < width; i++)
            x[r * width + i] =
                r % ROWS < valid(r / ROWS) ? hu_random_normal(&key, (uint64_t)(r * width + i)) : 0;
}

static void draw(arrays *a) {
    const hu_random_key key = {.seed = 3, .stream = 9};
    memset(a, 0xff, sizeof *a);
    fill(a->x, IN, 1);
    fill(a->dy, OUT, 2);
    for (int64_t i = 0; i < OUT * IN; i++) a->w[i] = hu_random_normal(&key, (uint64_t)i);
}

/* The rows that are present, one after the other; how many. */
static int64_t close_up(float *x, int64_t width) {
    int64_t count = 0;
    for (int64_t r = 0; r < ALL; r++)
        if (r % ROWS < valid(r / ROWS))
            memmove(x + count++ * width, x + r * width, (size_t)width * sizeof *x);
    return count;
}

static hu_product_facts facts_of(int64_t rows, bool transposed, int64_t chunk,
                                 const hu_accumulation *accumulation) {
    return (hu_product_facts){.geometry = transposed ? hu_product_rows(rows, OUT, IN)
                                                     : hu_product_rows(rows, IN, OUT),
                              .transposed = transposed,
                              .accumulation = accumulation,
                              .needs = {true, true, true},
                              .chunk = chunk,
                              .threads = 2};
}

/* One product of all samples, in calls of `chunk` of them. */
static void run(arrays *a, const hu_product_facts *facts, hu_product_role role, int64_t samples,
                int64_t rows, const float *ends) {
    hu_products *products;
    assert_int_equal(hu_products_create(facts, &products), HU_OK);
    void *packed = block(hu_products_packed_bytes(products, role) + 64);
    void *carry = block(hu_products_carry_bytes(products) + 64);
    void *scratch = block(hu_products_scratch_bytes(products, role) + 64);
    hu_products_pack(products, role, a->w, NULL, packed);
    for (int64_t first = 0; first < samples; first += facts->chunk) {
        int64_t left = samples - first, count = left < facts->chunk ? left : facts->chunk;
        const hu_product_call call = {.x = a->x + first * rows * IN,
                                      .w = a->w,
                                      .y = a->y + first * rows * OUT,
                                      .dy = a->dy + first * rows * OUT,
                                      .dx = a->dx + first * rows * IN,
                                      .dw = a->dw,
                                      .first = first,
                                      .count = count,
                                      .lengths = ends,
                                      .extent = rows,
                                      .adds = first > 0,
                                      .packed = packed,
                                      .carry = carry,
                                      .scratch = scratch};
        assert_int_equal(hu_products_prepare(products, count), HU_OK);
        hu_products_run(products, role, &call);
    }
    hu_free(packed);
    hu_free(carry);
    hu_free(scratch);
    hu_products_free(products);
}

/* Rows that are there are those of a run that has all; the others are as they were. */
static void same_rows(const float *some, const float *all, int64_t width) {
    for (int64_t r = 0; r < ALL; r++) {
        bool is_present = r % ROWS < valid(r / ROWS);
        for (int64_t i = r * width; i < (r + 1) * width; i++) {
            uint32_t bits;
            memcpy(&bits, &some[i], sizeof bits);
            if (!is_present) assert_true(bits == UINT32_MAX);
            if (is_present) assert_memory_equal(&some[i], &all[i], sizeof some[i]);
        }
    }
}

static void check(bool transposed, const char *accumulator) {
    static arrays some, all, closed;
    hu_accumulation of = {.chosen = {true, true, true}};
    for (int r = 0; accumulator && r < HU_PRODUCT_ROLES; r++)
        assert_int_equal(hu_accumulator_parse(accumulator, &of.accumulator[r]), HU_OK);
    const hu_accumulation *chosen = accumulator ? &of : NULL;
    for (int64_t chunk = 1; chunk <= SAMPLES; chunk += 2) {
        const hu_product_facts facts = facts_of(ROWS, transposed, chunk, chosen);
        draw(&some);
        draw(&all);
        run(&some, &facts, HU_PRODUCT_FORWARD, SAMPLES, ROWS, lengths);
        run(&all, &facts, HU_PRODUCT_FORWARD, SAMPLES, ROWS, NULL);
        same_rows(some.y, all.y, OUT);
        run(&some, &facts, HU_PRODUCT_INPUT_GRAD, SAMPLES, ROWS, lengths);
        run(&all, &facts, HU_PRODUCT_INPUT_GRAD, SAMPLES, ROWS, NULL);
        same_rows(some.dx, all.dx, IN);
        if (!accumulator) continue;
        draw(&closed);
        int64_t rows = close_up(closed.x, IN);
        assert_int_equal(close_up(closed.dy, OUT), rows);
        const hu_product_facts alone = facts_of(1, transposed, rows, chosen);
        run(&some, &facts, HU_PRODUCT_WEIGHT_GRAD, SAMPLES, ROWS, lengths);
        run(&closed, &alone, HU_PRODUCT_WEIGHT_GRAD, rows, 1, NULL);
        assert_memory_equal(some.dw, closed.dw, sizeof some.dw);
    }
}

static void rows_that_are_there_do_not_see_the_others(void **state) {
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        check(transposed, NULL);
        check(transposed, "fmac8:1/6/9");
        check(transposed, "tc:K=5:F=9:out=9:promote=10");
        check(transposed, "mac:fp16");
    }
}

/* A batch without any row has a gradient of zeros. */
static void no_rows_give_zeros(void **state) {
    (void)state;
    static arrays a;
    static const float none[SAMPLES] = {0};
    hu_accumulation of = {.chosen = {[HU_PRODUCT_WEIGHT_GRAD] = true}};
    assert_int_equal(hu_accumulator_parse("fmac8:1/6/9", &of.accumulator[HU_PRODUCT_WEIGHT_GRAD]),
                     HU_OK);
    const hu_product_facts facts = facts_of(ROWS, false, 4, &of);
    draw(&a);
    run(&a, &facts, HU_PRODUCT_WEIGHT_GRAD, SAMPLES, ROWS, none);
    for (int64_t i = 0; i < OUT * IN; i++) assert_true(a.dw[i] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_there_do_not_see_the_others),
        cmocka_unit_test(no_rows_give_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
