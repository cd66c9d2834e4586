/* YAML texts: the tree that is read is printed, read again and the same. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "config/config.h"

/* Every accessor on every node; kinds and levels are what they say. */
static void visit(const hu_keys *node, int level) {
    char path[64];
    int64_t i;
    uint64_t u;
    double d;
    bool b;
    FUZZ_CHECK(level <= HU_KEYS_MAX_DEPTH);
    FUZZ_CHECK(strncmp(hu_keys_origin(node), "text:", 5) == 0);
    hu_keys_path(node, path, sizeof path);
    FUZZ_CHECK(memchr(path, 0, sizeof path) != NULL);
    (void)hu_keys_as_i64(node, &i);
    (void)hu_keys_as_u64(node, &u);
    if (hu_keys_as_f64(node, &d) == HU_OK) FUZZ_CHECK(isfinite(d));
    (void)hu_keys_as_bool(node, &b);
    if (hu_keys_kind_of(node) == HU_KEYS_TEXT) FUZZ_CHECK(hu_text_is_utf8(hu_keys_value(node)));
    for (size_t c = 0; c < hu_keys_count(node); c++) {
        const hu_keys *child = hu_keys_at(node, c);
        FUZZ_CHECK(hu_keys_parent(child) == node);
        visit(child, level + 1);
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    hu_keys *tree, *again = NULL, *copy = NULL;
    char *printed = NULL;
    hu_status st = hu_yaml_parse((const char *)data, size, "text", &tree);
    if (st != HU_OK) {
        FUZZ_CHECK(tree == NULL && hu_last_error()[0] != '\0');
        FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_CORRUPT || fuzz_was_fault(st));
        return;
    }
    visit(tree, 1);
    if (FUZZ_DONE(hu_keys_print(tree, &printed)) &&
        FUZZ_DONE(hu_yaml_parse(printed, strlen(printed), "text", &again)))
        FUZZ_CHECK(hu_keys_equal(tree, again));
    if (FUZZ_DONE(hu_keys_copy(tree, &copy))) FUZZ_CHECK(hu_keys_equal(tree, copy));
    hu_free(printed);
    hu_keys_free(again);
    hu_keys_free(copy);
    hu_keys_free(tree);
}

/* The longest name allowed, of bytes that are printed in 4 characters each, over a map. */
static bool long_name_seed(hu_byte_writer *seed) {
    fuzz_text_seed("a: {\"", seed);
    for (int i = 0; i < 256; i++) fuzz_text_seed("\\a", seed);
    return fuzz_text_seed("\": {b: [c], d: e}}\n", seed);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        ("model: cnn-s\nlr:\n  base: 0.05\n  milestones: [80, 120]\nprecision.rules:\n"
         "  - conv1.weight: e4m3\n  - \"layer1.*: fp16\"\n"),
        "a: {b: [1, [2, {c: d}]], e: ''}\n? f\n: |\n  long\n  text\n",
        "- 'it''s'\n- \"\\u2028\\x01\\\"\"\n- >-\n  folded\n  line\n- ~\n",
        "\xef\xbb\xbfk: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n",
        "%YAML 1.1\n---\nx: &a 1\ny: *a\n...\n",
        "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
        "a: 1\na: 2\n",
        "!!str x",
        "word"};
    size_t count = sizeof texts / sizeof *texts;
    return index == count ? long_name_seed(seed)
                          : index < count && fuzz_text_seed(texts[index], seed);
}
