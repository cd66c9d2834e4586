/* By which a data set is known again: lines, their hashes, and what two of them differ in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/fingerprint.h"

/* A data set of four samples in memory, the last of which is held out. */
static void hashes_arrays(void **unused) {
    (void)unused;
    uint8_t pixel[4] = {1, 2, 3, 4};
    int32_t label[4] = {0, 1, 0, 1};
    char *text;
    hu_dataset d = {.name = "made", .class_names = "a: b\0c", .class_name_count = 2};
    hu_dataset_set_images(&d, 1, 1, 1, 2);
    d.train = (hu_split){.count = 3, .rows = {pixel, label}};
    d.test = (hu_split){.count = 1, .rows = {pixel, label}};
    d.validation.count = 1;
    assert_int_equal(hu_fingerprint_make(&d, &text), HU_OK);
    /* XXH64 by the reference program: printf '\1\2\3\4' | xxhsum -H1. */
    assert_string_equal(text, "data: made\n"
                              "class 0: a: b\n"
                              "class 1: c\n"
                              "train samples: 4\n"
                              "train rows image: 4 542620e3a2a92ed1\n"
                              "train rows label: 16 fd4fd2af687aec53\n"
                              "test samples: 1\n"
                              "test rows image: 1 8a4127811b21e730\n"
                              "test rows label: 4 3aefa6fd5cf2deb4\n");
    hu_free(text);
}

static void differs(const char *kept, const char *found, bool only_names, const char *expected) {
    char what[HU_FINGERPRINT_BYTES];
    assert_int_equal(hu_fingerprint_compare(kept, found, only_names, what), HU_OK);
    assert_string_equal(what, expected);
}

static void compares(void **unused) {
    (void)unused;
    static const char all[] = "data: folder:x\nclass 0: a\nclass 1: b\ntrain samples: 2\n"
                              "train file a/1: 2.png: 5 00\ntrain file b/1.png: 6 11\n";
    differs(all, all, false, "");
    differs(all,
            "data: folder:y\nclass 0: a\nclass 1: b\ntrain samples: 2\n"
            "train file b/1.png: 6 -\ntrain file a/1: 2.png: 5 -\n",
            false, "");
    differs(all, "class 0: b\nclass 1: zz\ntrain samples: 1\ntrain file a/1: 2.png: 7 -\n", false,
            "class 0: found 'b', expected 'a'; class 1: found 'zz', expected 'b'; train samples: "
            "found '1', expected '2'; and 2 more");
    differs(all, "class 0: a\nclass 1: c\ntrain samples: 1\n", true,
            "class 1: found 'c', expected 'b'");
    differs("class 0: a\n", "class 0: a\nclass 1: b\ntest file x: 1 0\n", false,
            "class 1 is new; test file x is new");
    differs("train samples: 2\n", "class 0: a\ntrain samples: 3\n", false,
            "train samples: found '3', expected '2'");
    differs("test rows label: 8 0\n", "", false, "test rows label is not there any more");
    differs("train file x: 15 -\n", "train file x: 1 -\n", false,
            "train file x: found 1 bytes, expected 15");
    /* What somebody has written by hand, or another program. */
    differs("\n:\n: \nx\n", "", false,
            ": is not there any more;  is not there any more; x is not "
            "there any more");
}

static void sums(void **unused) {
    (void)unused;
    char *one, *two;
    assert_int_equal(
        hu_fingerprint_sum("data: x\nclass 0: a\ntrain file a: 1 0\ntrain file b: 2 0\n"
                           "train rows label: 8 0\ntest folder c: 3 4 0\n",
                           &one),
        HU_OK);
    assert_int_equal(
        hu_fingerprint_sum("data: y\nclass 0: a\ntrain file a: 1 0\ntrain file b: 3 0\n"
                           "train rows label: 8 0\ntest folder c: 3 4 0\n",
                           &two),
        HU_OK);
    const char *files = strstr(one, "train files: 2 ");
    assert_non_null(files);
    assert_ptr_equal(strstr(one, "class 0: a\n"), one);
    assert_non_null(strstr(one, "train rows label: 8 0\ntest files: 1 "));
    assert_memory_equal(one, two, (size_t)(files - one) + strlen("train files: 2 "));
    assert_string_not_equal(one, two);
    hu_free(one);
    hu_free(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_arrays),
        cmocka_unit_test(compares),
        cmocka_unit_test(sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
