/* Classes that are taken for others, of more classes than a matrix is shown of: the pairs that come
 * first, what is printed and written of them, and memory that runs out on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "predict/confusion.h"
#include <halfulp/data.h>

enum { FEW = 3, MANY = 25, HUNDREDS = 120 };

static hu_dataset nameless;

/* Classes without names, and no sample yet; the owner frees the counts. */
static hu_confusion confusion_of(int64_t classes) {
    hu_confusion c = {.dataset = &nameless, .classes = classes};
    c.count = calloc((size_t)(classes * (classes + 1)), sizeof *c.count);
    assert_non_null(c.count);
    return c;
}

static int64_t *cell(hu_confusion *c, int64_t truth, int64_t said) {
    return &c->count[truth * (c->classes + 1) + said];
}

/* Random counts, many of them equal, and some of them none. */
static hu_confusion drawn(int64_t classes) {
    hu_confusion c = confusion_of(classes);
    const hu_random_key key = {7, (uint64_t)classes, 0};
    for (int64_t i = 0; i < classes * (classes + 1); i++)
        c.count[i] = (int64_t)(9.0f * hu_random_uniform(&key, (uint64_t)i)) % 7;
    return c;
}

/* How many cells of two classes come before this one: they hold more, or as much and stand first.
 */
static size_t place_of(hu_confusion *c, int64_t truth, int64_t said) {
    size_t before = 0;
    int64_t samples = *cell(c, truth, said);
    for (int64_t t = 0; t < c->classes; t++)
        for (int64_t s = 0; s < c->classes; s++) {
            bool is_first = t < truth || (t == truth && s < said);
            int64_t of_pair = *cell(c, t, s);
            before += s != t && (of_pair > samples || (of_pair == samples && is_first));
        }
    return before;
}

static void the_most_confused_come_first(void **state) {
    (void)state;
    for (int64_t classes = 2; classes <= MANY; classes++) {
        hu_confusion c = drawn(classes);
        hu_confusion_pair pair[HU_CONFUSION_SHOWN];
        size_t pairs = hu_confusion_pairs(&c, pair, HU_CONFUSION_SHOWN), wrong = 0;
        for (int64_t t = 0; t < classes; t++)
            for (int64_t s = 0; s < classes; s++) wrong += s != t && *cell(&c, t, s) > 0;
        assert_int_equal(pairs, wrong < HU_CONFUSION_SHOWN ? wrong : HU_CONFUSION_SHOWN);
        for (size_t i = 0; i < pairs; i++) {
            assert_int_equal(pair[i].samples, *cell(&c, pair[i].truth, pair[i].predicted));
            assert_int_equal(place_of(&c, pair[i].truth, pair[i].predicted), i);
        }
        free(c.count);
    }
}

static void pairs_are_printed_of_many_classes(void **state) {
    (void)state;
    hu_confusion few = confusion_of(FEW), many = confusion_of(MANY);
    char *text = NULL;
    *cell(&few, 1, 2) = 41;
    *cell(&many, 24, 3) = 4321;
    assert_int_equal(hu_confusion_text(&few, &text), HU_OK);
    assert_null(strstr(text, "taken for  samples"));
    assert_non_null(strstr(text, "41"));
    hu_free(text);
    assert_int_equal(hu_confusion_text(&many, &text), HU_OK);
    const char *titles = strstr(text, "true class  taken for  samples");
    assert_non_null(titles);
    int truth = 0, said = 0, samples = 0;
    assert_int_equal(
        sscanf(titles, "true class taken for samples %*[- ] %d %d %d", &truth, &said, &samples), 3);
    assert_true(truth == 24 && said == 3 && samples == 4321);
    hu_free(text);
    free(few.count);
    free(many.count);
}

/* Of more than 100 classes, triples that give the counts back. */
static void json_gives_the_counts_back(void **state) {
    (void)state;
    hu_confusion c = drawn(HUNDREDS);
    json_t *object = json_object(), *pair;
    size_t i, cells = 0;
    assert_int_equal(hu_confusion_put(&c, "test", object), HU_OK);
    json_t *confusion = json_object_get(object, "confusion");
    assert_null(json_object_get(confusion, "matrix"));
    assert_int_equal(json_array_size(json_object_get(object, "test_classes")), HUNDREDS);
    for (int64_t k = 0; k < HUNDREDS * (HUNDREDS + 1); k++) cells += c.count[k] > 0;
    assert_int_equal(json_array_size(json_object_get(confusion, "pairs")), cells);
    json_array_foreach(json_object_get(confusion, "pairs"), i, pair) {
        int64_t truth = json_integer_value(json_array_get(pair, 0));
        int64_t said = json_integer_value(json_array_get(pair, 1));
        assert_in_range(said + 1, 0, HUNDREDS);
        int64_t *count = cell(&c, truth, said < 0 ? HUNDREDS : said);
        assert_int_equal(json_integer_value(json_array_get(pair, 2)), *count);
        *count = 0; /* none comes twice */
    }
    json_decref(object);
    free(c.count);
}

static char path[] = "/tmp/halfulp-confusion-XXXXXX";

/* Text, CSV and page; their first error. */
static hu_status write_all(const hu_confusion *c) {
    char *text = NULL;
    hu_status st = hu_confusion_text(c, &text);
    hu_free(text);
    if (st == HU_OK) st = hu_confusion_write(c, path);
    if (st == HU_OK) st = hu_confusion_page(c, "title", "line", path);
    return st;
}

static void memory_may_run_out(void **state) {
    (void)state;
    static const int64_t classes[] = {FEW, MANY};
    for (size_t i = 0; i < 2; i++) {
        hu_confusion c = drawn(classes[i]);
        uint64_t before = hu_memory_count().allocations, blocks = hu_memory_count().live_blocks;
        assert_int_equal(write_all(&c), HU_OK);
        uint64_t all = hu_memory_count().allocations - before;
        assert_true(all > 0);
        for (uint64_t nth = 1; nth <= all; nth++) {
            hu_memory_fail_at(nth);
            hu_status st = write_all(&c);
            hu_memory_fail_at(0);
            if (st != HU_ERR_MEMORY)
                fail_msg("%d classes, allocation %d: status %d", (int)c.classes, (int)nth, st);
            assert_int_equal(hu_memory_count().live_blocks, blocks);
        }
        free(c.count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_confused_come_first),
        cmocka_unit_test(pairs_are_printed_of_many_classes),
        cmocka_unit_test(json_gives_the_counts_back),
        cmocka_unit_test(memory_may_run_out),
    };
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
