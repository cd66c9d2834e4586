/* JSON read without enough memory: never damage, never a block that is left. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "render/json.h"

/* Nested, with texts longer than jansson's first buffers, escapes, and enough members to make its
 * tables grow. */
static const char *sample(void) {
    static char text[8192];
    size_t used = 0;
    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s\"name%d\":[%d,1e-%d,null,true,{\"\\u00e9\\n%0*d\":[[[]]]}]",
                                 i ? "," : "{", i, i, i, 5 + 3 * i, i);
    snprintf(text + used, sizeof text - used, "}");
    return text;
}

static json_t *parsed(const char *text) {
    json_error_t error;
    json_t *value;
    assert_int_equal(hu_json_parse(text, strlen(text), &value, &error), HU_OK);
    return value;
}

static void every_failing_allocation_is_out_of_memory(void **state) {
    (void)state;
    uint64_t before = hu_json_blocks(), places = 0;
    json_t *whole = parsed(sample()), *value = NULL;
    uint64_t with_whole = hu_json_blocks();
    json_error_t error;
    for (hu_status st = HU_ERR_MEMORY; st != HU_OK; places++) {
        hu_memory_fail_at(places + 1);
        st = hu_json_parse(sample(), strlen(sample()), &value, &error);
        assert_true(st == HU_OK || st == HU_ERR_MEMORY);
        if (st == HU_OK) continue;
        assert_null(value);
        assert_string_equal(hu_status_text(st), "out of memory");
        assert_int_equal(hu_json_blocks(), with_whole);
        assert_true(hu_json_ran_out());
    }
    hu_memory_fail_at(0);
    assert_true(places > 300);
    assert_true(json_equal(value, whole));
    json_decref(value);
    json_decref(whole);
    assert_int_equal(hu_json_blocks(), before);
}

/* Damage is damage, where memory runs out as well as where it does not. */
static void damage_is_told_apart(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "{", "{\"a\":1,\"a\":2}", "[1,]", "[\"\\ud800\"]", "[1] 2", "nul", "[1e999]", "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_error_t error;
        json_t *value;
        uint64_t before = hu_json_blocks();
        hu_status st = hu_json_parse(texts[i], strlen(texts[i]), &value, &error);
        assert_int_equal(st, HU_ERR_CORRUPT);
        assert_null(value);
        assert_true(error.text[0] != '\0');
        for (uint64_t n = 1; n < 40; n++) {
            hu_memory_fail_at(n);
            st = hu_json_parse(texts[i], strlen(texts[i]), &value, &error);
            assert_true(st == HU_ERR_CORRUPT || st == HU_ERR_MEMORY);
        }
        hu_memory_fail_at(0);
        assert_int_equal(hu_json_blocks(), before);
    }
}

/* What has lost a member is not written; the flag stays up to the end of the process. */
static void nothing_is_written_without_all_its_members(void **state) {
    (void)state;
    char *line;
    assert_true(hu_json_ran_out());
    assert_int_equal(hu_json_line(json_pack("{s:i}", "a", 1), &line), HU_ERR_MEMORY);
    assert_null(line);
}

/* Freed in the order of making and against it, while another parse runs and when none does. */
static void values_live_beyond_the_parse_that_made_them(void **state) {
    (void)state;
    uint64_t before = hu_json_blocks();
    json_t *first = parsed("{\"a\":[1,2,3]}"), *second = parsed("[\"b\",{\"c\":null}]");
    assert_int_equal(json_object_set(first, "b", second), 0);
    json_decref(first);
    assert_int_equal(json_array_size(second), 2);
    json_decref(second);
    assert_int_equal(hu_json_blocks(), before);
}

static int guard(void **state) {
    (void)state;
    hu_json_guard();
    return 0;
}

/* As it was read, with no digit too much; texts stay, whatever they look like. */
static void numbers_are_as_short_as_they_can_be(void **state) {
    static const char object[] =
        "{\"a\":0.1,\"0.10000000000000001\":[\"\\\"0.10000000000000001\\\\\",-1e-7,1.0,3],"
        "\"b\":{\"1e5\":true},\"c\":0.30000000000000004,\"d\":1.0000000150474662e30,\"e\":"
        "12345678901234567,"
        "\"f\":null,\"g\":false,\"h\":\"\"}";
    char *text;
    (void)state;
    assert_int_equal(hu_json_line(parsed(object), &text), HU_OK);
    assert_string_equal(
        text, "{\"a\":0.1,\"0.10000000000000001\":[\"\\\"0.10000000000000001\\\\\","
              "-1e-7,1.0,3],\"b\":{\"1e5\":true},\"c\":0.30000000000000004,"
              "\"d\":1.0000000150474662e30,\"e\":12345678901234567,\"f\":null,\"g\":false,"
              "\"h\":\"\"}");
    json_t *back = parsed(text), *before = parsed(object);
    assert_true(json_equal(back, before));
    json_decref(back);
    json_decref(before);
    hu_free(text);
    assert_int_equal(hu_json_pretty(json_pack("{s:[f]}", "x", 0.2), &text), HU_OK);
    assert_string_equal(text, "{\n  \"x\": [\n    0.2\n  ]\n}\n");
    hu_free(text);
}

/* Every length of digits and every exponent around those where the notation changes, each beside
 * another number: none is written over its neighbour. */
static void no_number_takes_its_neighbours_room(void **state) {
    double digits = 0.0;
    (void)state;
    for (int count = 1; count <= 17; count++) {
        digits = 10.0 * digits + count % 9 + 1;
        for (int exponent = -30; exponent <= 30; exponent++) {
            char *text;
            double value = digits * pow(10.0, exponent);
            json_t *list = json_pack("[f, f, s]", value, -value, "x");
            assert_int_equal(hu_json_line(json_incref(list), &text), HU_OK);
            json_t *back = parsed(text);
            assert_true(json_equal(back, list));
            json_decref(back);
            json_decref(list);
            hu_free(text);
        }
    }
}

/* A key and a text for which the buffer must grow: where that fails there is no line, and none with
 * a hole. From the last allocation to the first, because jansson's own, which spoil all that
 * follows, come first. */
static void no_line_has_a_hole(void **state) {
    char key[3000], *whole, *line;
    int refused = 0;
    (void)state;
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    json_t *object = json_pack("{s:i, s:s, s:i}", key, 1, "b", key, "c", 2);
    assert_int_equal(hu_json_line(json_incref(object), &whole), HU_OK);
    for (uint64_t place = 12; place > 0 && !hu_json_ran_out(); place--) {
        hu_memory_fail_at(place);
        hu_status st = hu_json_line(json_incref(object), &line);
        hu_memory_fail_at(0);
        assert_int_equal(st, line ? HU_OK : HU_ERR_MEMORY);
        if (line) assert_string_equal(line, whole);
        refused += !line && !hu_json_ran_out();
        hu_free(line);
    }
    assert_true(refused > 1);
    hu_free(whole);
    json_decref(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_as_short_as_they_can_be),
        cmocka_unit_test(no_number_takes_its_neighbours_room),
        cmocka_unit_test(values_live_beyond_the_parse_that_made_them),
        cmocka_unit_test(no_line_has_a_hole),
        cmocka_unit_test(every_failing_allocation_is_out_of_memory),
        cmocka_unit_test(damage_is_told_apart),
        cmocka_unit_test(nothing_is_written_without_all_its_members),
    };
    return cmocka_run_group_tests(tests, guard, NULL);
}
