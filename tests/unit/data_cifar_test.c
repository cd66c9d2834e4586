
#include "base/rng.h"
#include "data_refused.h"
#include "split.h"

enum { PIXELS = 3072, RECORDS = 3 };

static const char *const names10[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                      "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
static uint8_t bytes[RECORDS * 3074 + 64];

/* Record i of file number salt: labels and pixels that a formula gives back. */
static uint8_t pixel_of(int salt, int i, int c, int at_pixel) {
    return (uint8_t)(salt * 31 + i * 7 + c * 101 + at_pixel * 13 + at_pixel / 32);
}

static uint8_t label_of(int salt, int i, int classes) {
    return (uint8_t)((salt * RECORDS + i) * 7 % classes);
}

static size_t build(int salt, int label_bytes) {
    uint8_t *p = bytes;
    for (int i = 0; i < RECORDS; i++) {
        if (label_bytes == 2) *p++ = label_of(salt, i, 20);
        *p++ = label_of(salt, i, label_bytes == 2 ? 100 : 10);
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 1024; k++) *p++ = pixel_of(salt, i, c, k);
    }
    return (size_t)(p - bytes);
}

static void put_all10(void) {
    for (int f = 0; f < 6; f++) put(names10[f], bytes, build(f, 1));
}

static void put_all100(void) {
    put("train.bin", bytes, build(0, 2));
    put("test.bin", bytes, build(1, 2));
}

static const char *spec(const char *kind) {
    static char text[128];
    snprintf(text, sizeof text, "%s:%s", kind, folder);
    return text;
}

static void expect_split(const hu_split *split, int first_salt, int classes, int count) {
    assert_int_equal(split->count, count);
    for (int n = 0; n < count; n++) {
        int salt = first_salt + n / RECORDS, i = n % RECORDS;
        assert_int_equal(labels_of(split)[n], label_of(salt, i, classes));
        for (int k = 0; k < 1024; k++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(pixels_of(split)[n * PIXELS + 3 * k + c], pixel_of(salt, i, c, k));
    }
}

static void expect_damage(const char *kind, const char *file, const char *what) {
    uint64_t blocks = hu_memory_count().live_blocks;
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec(kind), NULL, &d), HU_ERR_CORRUPT);
    assert_null(d);
    const char *message = hu_last_error();
    if (!strstr(message, file) || !strstr(message, "offset") || !strstr(message, "found") ||
        !strstr(message, "expected") || !strstr(message, what))
        fail_msg("incomplete message: %s (wanted '%s')", message, what);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static void planes_become_interleaved_pixels(void **state) {
    (void)state;
    put_all10();
    put_all100();
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec("cifar10"), NULL, &d), HU_OK);
    expect_split(&d->train, 0, 10, 5 * RECORDS);
    expect_split(&d->test, 5, 10, RECORDS);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, 10);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[2], 3);
    assert_int_equal(d->augment.pad, 4);
    assert_true(d->augment.flip);
    assert_true(d->field[HU_FIELD_IMAGE].mean[2] == 0.4465f &&
                d->field[HU_FIELD_IMAGE].std[0] == 0.2023f);
    hu_dataset_close(d);
    assert_int_equal(hu_dataset_open(spec("cifar100"), NULL, &d), HU_OK);
    expect_split(&d->train, 0, 100, RECORDS);
    expect_split(&d->test, 1, 100, RECORDS);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, 100);
    assert_true(d->field[HU_FIELD_IMAGE].mean[0] == 0.5074f &&
                d->field[HU_FIELD_IMAGE].std[2] == 0.2025f);
    hu_dataset_close(d);
}

static void limits_end_inside_a_batch_file(void **state) {
    (void)state;
    put_all10();
    hu_data_limits limits = {4, 1};
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec("cifar10"), &limits, &d), HU_OK);
    expect_split(&d->train, 0, 10, 4);
    expect_split(&d->test, 5, 10, 1);
    hu_dataset_close(d);
}

static void every_size_but_whole_records_is_refused(void **state) {
    (void)state;
    put_all10();
    put_all100();
    size_t size = build(2, 1);
    hu_random_key key = {5, hu_stream_id("test", "cuts"), 0};
    for (uint64_t i = 0; i < 60; i++) {
        size_t cut = i < 8 ? (size_t)i : (size_t)hu_random_below(&key, i, size);
        if (cut && cut % 3073 == 0) cut++;
        put(names10[2], bytes, cut);
        expect_damage("cifar10", names10[2], "truncated");
    }
    for (size_t extra = 1; extra <= 20; extra++) {
        put(names10[2], bytes, size + extra);
        expect_damage("cifar10", names10[2], "oversized");
    }
    put(names10[2], bytes, size);
    size = build(0, 2);
    put("train.bin", bytes, size - 1);
    expect_damage("cifar100", "train.bin", "truncated");
    put("train.bin", bytes, 3073 * 3);
    expect_damage("cifar100", "train.bin", "truncated");
}

static void more_records_than_the_set_has_are_refused(void **state) {
    (void)state;
    put_all10();
    FILE *file = fopen(at(names10[5]), "wb");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 10001L * 3073), 0);
    fclose(file);
    expect_damage("cifar10", names10[5], "oversized");
}

static void labels_out_of_range_are_refused_with_their_offset(void **state) {
    (void)state;
    put_all10();
    put_all100();
    for (int label = 10; label < 256; label += 5) {
        size_t size = build(4, 1);
        bytes[2 * 3073] = (uint8_t)label;
        put(names10[4], bytes, size);
        expect_damage("cifar10", names10[4], "offset 6146: label");
    }
    size_t size = build(0, 2);
    bytes[3074] = 20;
    put("train.bin", bytes, size);
    expect_damage("cifar100", "train.bin", "offset 3074: coarse label: found 20, expected 0..19");
    build(0, 2);
    bytes[3075] = 100;
    put("train.bin", bytes, size);
    expect_damage("cifar100", "train.bin", "offset 3075: fine label: found 100, expected 0..99");
}

static void files_of_the_archive_folder_are_found_and_missing_ones_named(void **state) {
    (void)state;
    put_all10();
    hu_dataset *d;
    unlink(at(names10[3]));
    assert_false(hu_dataset_available(spec("cifar10")));
    assert_int_equal(hu_dataset_open(spec("cifar10"), NULL, &d), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), names10[3]));
    char command[256];
    put_all10();
    snprintf(command, sizeof command,
             "cd %s && mkdir cifar-10-batches-bin && mv *batch*.bin cifar-10-batches-bin", folder);
    assert_int_equal(system(command), 0);
    static const char names[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nlorry\n";
    put("cifar-10-batches-bin/batches.meta.txt", names, sizeof names - 1);
    assert_true(hu_dataset_available(spec("cifar10")));
    assert_int_equal(hu_dataset_open(spec("cifar10"), NULL, &d), HU_OK);
    assert_string_equal(hu_dataset_class_name(d, 9), "lorry");
    expect_split(&d->test, 5, 10, RECORDS);
    hu_dataset_close(d);
}

static void every_memory_fault_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    put_all100();
    assert_true(fail_every_allocation(spec("cifar100"), NULL, NULL) > 8);
}

/* HALFULP_DATA may hold cifar10/. */
static void cifar10_is_what_its_author_describes(void **state) {
    (void)state;
    if (!hu_dataset_available("cifar10")) {
        print_message("skipped: no CIFAR-10 under HALFULP_DATA\n");
        skip();
    }
    hu_dataset *d;
    assert_int_equal(hu_dataset_open("cifar10", NULL, &d), HU_OK);
    assert_int_equal(d->train.count, 50000);
    assert_int_equal(d->test.count, 10000);
    int train[10] = {0}, test[10] = {0};
    for (int i = 0; i < 50000; i++) train[labels_of(&d->train)[i]]++;
    for (int i = 0; i < 10000; i++) test[labels_of(&d->test)[i]]++;
    for (int k = 0; k < 10; k++) assert_true(train[k] == 5000 && test[k] == 1000);
    hu_dataset_close(d);
}

/* Names where the folder has them; a file with too few is an error. */
static void classes_have_their_names(void **state) {
    (void)state;
    static const char few[] = "airplane\nbird\n", all[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\ntruck\n\n";
    hu_dataset *d;
    put_all10();
    assert_int_equal(hu_dataset_open(spec("cifar10"), NULL, &d), HU_OK);
    assert_null(hu_dataset_class_name(d, 9));
    hu_dataset_close(d);
    put("batches.meta.txt", few, sizeof few - 1);
    assert_int_equal(hu_dataset_open(spec("cifar10"), NULL, &d), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "found 2 names of classes, expected 10"));
    put("batches.meta.txt", all, sizeof all - 1);
    assert_int_equal(hu_dataset_open(spec("cifar10"), NULL, &d), HU_OK);
    assert_string_equal(hu_dataset_class_name(d, 9), "truck");
    assert_null(hu_dataset_class_name(d, 10));
    hu_dataset_close(d);
    unlink(at("batches.meta.txt"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_become_interleaved_pixels),
        cmocka_unit_test(classes_have_their_names),
        cmocka_unit_test(limits_end_inside_a_batch_file),
        cmocka_unit_test(every_size_but_whole_records_is_refused),
        cmocka_unit_test(more_records_than_the_set_has_are_refused),
        cmocka_unit_test(labels_out_of_range_are_refused_with_their_offset),
        cmocka_unit_test(files_of_the_archive_folder_are_found_and_missing_ones_named),
        cmocka_unit_test(every_memory_fault_is_reported_and_leaks_nothing),
        cmocka_unit_test(cifar10_is_what_its_author_describes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
