/* The key tree: order, paths, typed values with their errors, printing, failing memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/keys.h"
#include "base/memory.h"

static hu_keys *new_node(hu_keys_kind kind, const char *text) {
    hu_keys *node;
    assert_int_equal(hu_keys_create(kind, text, "file.yaml:3:8", &node), HU_OK);
    return node;
}

static hu_keys *new_tree(void) {
    hu_keys *root = new_node(HU_KEYS_MAP, NULL);
    assert_int_equal(hu_keys_set_text(root, "model.name", "cnn-s", "argument 2"), HU_OK);
    assert_int_equal(hu_keys_set_text(root, "lr.base", "0.1", "argument 3"), HU_OK);
    assert_int_equal(hu_keys_set_text(root, "model.width", "2", "argument 4"), HU_OK);
    hu_keys *list = new_node(HU_KEYS_LIST, NULL);
    assert_int_equal(hu_keys_append(list, new_node(HU_KEYS_TEXT, "conv3.weight: e4m3")), HU_OK);
    assert_int_equal(hu_keys_append(list, new_node(HU_KEYS_TEXT, "fc.*: fp32")), HU_OK);
    assert_int_equal(hu_keys_set(root, "precision.rules", list), HU_OK);
    return root;
}

static void names_keep_their_order_and_origin(void **state) {
    (void)state;
    hu_keys *root = new_tree();
    assert_int_equal(hu_keys_count(root), 3);
    assert_string_equal(hu_keys_name(hu_keys_at(root, 0)), "model");
    assert_string_equal(hu_keys_name(hu_keys_at(root, 1)), "lr");
    assert_string_equal(hu_keys_name(hu_keys_at(root, 2)), "precision");
    assert_null(hu_keys_at(root, 3));
    const hu_keys *width = hu_keys_find(root, "model.width");
    assert_string_equal(hu_keys_value(width), "2");
    assert_string_equal(hu_keys_origin(width), "argument 4");
    assert_null(hu_keys_find(root, "model.depth"));
    assert_null(hu_keys_find(root, "model.width.x"));
    assert_ptr_equal(hu_keys_find(root, ""), root);
    hu_keys_free(root);
}

static void a_second_set_replaces_in_place(void **state) {
    (void)state;
    hu_keys *root = new_tree();
    assert_int_equal(hu_keys_set_text(root, "model.name", "resnet20", "argument 9"), HU_OK);
    const hu_keys *model = hu_keys_find(root, "model");
    assert_int_equal(hu_keys_count(model), 2);
    assert_string_equal(hu_keys_value(hu_keys_at(model, 0)), "resnet20");
    assert_string_equal(hu_keys_origin(hu_keys_at(model, 0)), "argument 9");
    assert_int_equal(hu_keys_set_text(root, "lr.base.x", "1", "argument 10"), HU_ERR_PARSE);
    hu_keys_free(root);
}

static void paths_name_list_items(void **state) {
    (void)state;
    hu_keys *root = new_tree();
    char path[64];
    hu_keys_path(hu_keys_at(hu_keys_find(root, "precision.rules"), 1), path, sizeof path);
    assert_string_equal(path, "precision.rules[1]");
    hu_keys_path(root, path, sizeof path);
    assert_string_equal(path, "");
    hu_keys_path(hu_keys_find(root, "precision.rules"), path, 6);
    assert_string_equal(path, "preci");
    hu_keys_free(root);
}

static hu_status read_i64(const char *text, int64_t *value) {
    hu_keys *node = new_node(HU_KEYS_TEXT, text);
    hu_status st = hu_keys_as_i64(node, value);
    hu_keys_free(node);
    return st;
}

static void integers_are_whole_texts_in_range(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "1.5",
                                      "1e3",
                                      "0x10",
                                      "abc",
                                      "--1",
                                      "- 1",
                                      "+",
                                      ".",
                                      "nan",
                                      "9223372036854775808",
                                      "1\n",
                                      "１",
                                      "-9223372036854775809"};
    int64_t value;
    assert_int_equal(read_i64("-9223372036854775808", &value), HU_OK);
    assert_true(value == INT64_MIN);
    assert_int_equal(read_i64("9223372036854775807", &value), HU_OK);
    assert_true(value == INT64_MAX);
    assert_int_equal(read_i64("+7", &value), HU_OK);
    assert_true(value == 7);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(read_i64(bad[i], &value), HU_ERR_PARSE);
}

static void unsigned_integers_have_no_sign(void **state) {
    (void)state;
    hu_keys *root = new_node(HU_KEYS_MAP, NULL);
    uint64_t value;
    assert_int_equal(hu_keys_set_text(root, "seed", "18446744073709551615", "argument 2"), HU_OK);
    assert_int_equal(hu_keys_as_u64(hu_keys_find(root, "seed"), &value), HU_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(hu_keys_set_text(root, "seed", "18446744073709551616", "argument 2"), HU_OK);
    assert_int_equal(hu_keys_as_u64(hu_keys_find(root, "seed"), &value), HU_ERR_PARSE);
    assert_int_equal(hu_keys_set_text(root, "seed", "-1", "argument 2"), HU_OK);
    assert_int_equal(hu_keys_as_u64(hu_keys_find(root, "seed"), &value), HU_ERR_PARSE);
    hu_keys_free(root);
}

static void reals_are_finite(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hu_status status;
        double value;
    } rows[] = {{"0.1", HU_OK, 0.1},       {"-1e-3", HU_OK, -1e-3},    {"0x1.8p-2", HU_OK, 0.375},
                {".5", HU_OK, 0.5},        {"1e999", HU_ERR_PARSE, 0}, {"inf", HU_ERR_PARSE, 0},
                {"nan", HU_ERR_PARSE, 0},  {"1,5", HU_ERR_PARSE, 0},   {"", HU_ERR_PARSE, 0},
                {" 0.1", HU_ERR_PARSE, 0}, {"0.1x", HU_ERR_PARSE, 0},  {"-", HU_ERR_PARSE, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_keys *node = new_node(HU_KEYS_TEXT, rows[i].text);
        double value;
        assert_int_equal(hu_keys_as_f64(node, &value), rows[i].status);
        assert_true(value == rows[i].value);
        hu_keys_free(node);
    }
}

static void switches_take_four_spellings(void **state) {
    (void)state;
    static const char *const words[] = {"on", "TRUE", "yes", "1", "off", "false", "No", "0"};
    bool value;
    for (size_t i = 0; i < 8; i++) {
        hu_keys *node = new_node(HU_KEYS_TEXT, words[i]);
        assert_int_equal(hu_keys_as_bool(node, &value), HU_OK);
        assert_int_equal(value, i < 4);
        hu_keys_free(node);
    }
    hu_keys *node = new_node(HU_KEYS_TEXT, "2");
    assert_int_equal(hu_keys_as_bool(node, &value), HU_ERR_PARSE);
    hu_keys_free(node);
}

static void errors_say_where_what_and_what_was_expected(void **state) {
    (void)state;
    hu_keys *root = new_tree();
    int64_t number;
    const char *text;
    assert_int_equal(hu_keys_set_text(root, "run.batch", "many", "a.yaml:7:10"), HU_OK);
    assert_int_equal(hu_keys_as_i64(hu_keys_find(root, "run.batch"), &number), HU_ERR_PARSE);
    assert_string_equal(hu_last_error(),
                        "a.yaml:7:10: key 'run.batch': found 'many', expected a decimal integer");
    assert_int_equal(hu_keys_as_text(hu_keys_find(root, "precision.rules"), &text), HU_ERR_PARSE);
    assert_string_equal(hu_last_error(),
                        "file.yaml:3:8: key 'precision.rules': found a list, expected a text");
    hu_keys_free(root);
}

static void printing_quotes_what_could_be_misread(void **state) {
    (void)state;
    static const char expected[] = "model:\n"
                                   "  name: cnn-s\n"
                                   "  width: 2\n"
                                   "lr:\n"
                                   "  base: 0.1\n"
                                   "precision:\n"
                                   "  rules:\n"
                                   "    - \"conv3.weight: e4m3\"\n"
                                   "    - \"fc.*: fp32\"\n"
                                   "odd: \"a\\x0a\\\"b\\\\ # \xc3\xa9\xc3\xbf\"\n";
    char odd[] = "a\n\"b\\ # \xc3\xa9\xc3\xbf";
    hu_keys *root = new_tree();
    char *yaml;
    assert_int_equal(hu_keys_set_text(root, "odd", odd, "argument 5"), HU_OK);
    assert_int_equal(hu_keys_print(root, &yaml), HU_OK);
    assert_string_equal(yaml, expected);
    hu_free(yaml);
    assert_int_equal(hu_keys_set_text(root, "odd", "\xff", "argument 5"), HU_OK);
    assert_int_equal(hu_keys_print(root, &yaml), HU_ERR_PARSE);
    assert_null(yaml);
    hu_keys_free(root);
}

static void utf8_is_told_from_other_bytes(void **state) {
    (void)state;
    static const char *const good[] = {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82"};
    static const char *const bad[] = {"\x80",         "\xc3",
                                      "\xc0\xaf",     "\xe0\x80\xaf",
                                      "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff",         "\xfc\x80\x80\x80",
                                      "\xe2\x82"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(hu_text_is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(hu_text_is_utf8(bad[i]));
}

static void depth_is_limited(void **state) {
    (void)state;
    hu_keys *root = new_node(HU_KEYS_MAP, NULL);
    char path[2 * HU_KEYS_MAX_DEPTH + 1] = "";
    for (int i = 0; i < HU_KEYS_MAX_DEPTH - 2; i++) strcat(path, "a.");
    strcat(path, "a");
    assert_int_equal(hu_keys_set_text(root, path, "x", "argument 1"), HU_OK);
    strcat(path, ".b");
    hu_keys *other = new_node(HU_KEYS_MAP, NULL);
    assert_int_equal(hu_keys_set_text(other, path, "x", "argument 1"), HU_ERR_LIMIT);
    hu_keys_free(root);
    hu_keys_free(other);
}

static void copies_are_equal_and_independent(void **state) {
    (void)state;
    hu_keys *root = new_tree(), *copy;
    assert_int_equal(hu_keys_copy(root, &copy), HU_OK);
    assert_true(hu_keys_equal(root, copy));
    assert_int_equal(hu_keys_set_text(copy, "lr.base", "0.2", "argument 1"), HU_OK);
    assert_false(hu_keys_equal(root, copy));
    hu_keys_free(root);
    assert_string_equal(hu_keys_value(hu_keys_find(copy, "model.name")), "cnn-s");
    hu_keys_free(copy);
}

static void no_allocation_failure_leaks(void **state) {
    (void)state;
    hu_keys *root = new_tree();
    uint64_t before = hu_memory_count().live_blocks;
    for (uint64_t n = 1;; n++) {
        hu_keys *copy;
        char *yaml = NULL;
        hu_memory_fail_at(n);
        hu_status st = hu_keys_copy(root, &copy);
        if (st == HU_OK) st = hu_keys_set_text(copy, "a.b.c", "x", "argument 1");
        if (st == HU_OK) st = hu_keys_print(copy, &yaml);
        hu_keys_free(copy);
        hu_free(yaml);
        hu_memory_fail_at(0);
        assert_int_equal(hu_memory_count().live_blocks, before);
        if (st == HU_OK) break;
        assert_int_equal(st, HU_ERR_MEMORY);
        assert_true(n < 1000);
    }
    hu_keys_free(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_their_order_and_origin),
        cmocka_unit_test(a_second_set_replaces_in_place),
        cmocka_unit_test(paths_name_list_items),
        cmocka_unit_test(integers_are_whole_texts_in_range),
        cmocka_unit_test(unsigned_integers_have_no_sign),
        cmocka_unit_test(reals_are_finite),
        cmocka_unit_test(switches_take_four_spellings),
        cmocka_unit_test(errors_say_where_what_and_what_was_expected),
        cmocka_unit_test(printing_quotes_what_could_be_misread),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(copies_are_equal_and_independent),
        cmocka_unit_test(no_allocation_failure_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
