#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/rng.h"
#include "data_refused.h"
#include "split.h"

enum { TRAIN = 23, TEST = 9, HEIGHT = 5, WIDTH = 4, IMAGE = HEIGHT * WIDTH, CLASSES = 7 };

/* The four files of a small set, sound unless a test changes them. */
typedef struct file_image {
    const char *name;
    uint8_t data[16 + TRAIN * IMAGE + 64];
    size_t size;
} file_image;

static file_image files[4] = {{.name = "train-images-idx3-ubyte"},
                              {.name = "train-labels-idx1-ubyte"},
                              {.name = "t10k-images-idx3-ubyte"},
                              {.name = "t10k-labels-idx1-ubyte"}};
enum { HEADER_IMAGES = 16, HEADER_LABELS = 8 };

static void put_u32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void build(void) {
    hu_random_key key = {3, hu_stream_id("test", "idx"), 0};
    for (int f = 0; f < 4; f++) {
        uint32_t count = f < 2 ? TRAIN : TEST;
        uint8_t *p = files[f].data;
        if (f % 2 == 0) {
            put_u32(p, 0x803);
            put_u32(p + 4, count);
            put_u32(p + 8, HEIGHT);
            put_u32(p + 12, WIDTH);
            for (uint32_t i = 0; i < count * IMAGE; i++)
                p[HEADER_IMAGES + i] = (uint8_t)hu_random_word(&key, 100000u * (uint32_t)f + i);
            files[f].size = HEADER_IMAGES + count * IMAGE;
        } else {
            put_u32(p, 0x801);
            put_u32(p + 4, count);
            for (uint32_t i = 0; i < count; i++) p[HEADER_LABELS + i] = (uint8_t)(i % CLASSES);
            files[f].size = HEADER_LABELS + count;
        }
    }
}

static void put_file(int f) {
    put(files[f].name, files[f].data, files[f].size);
}

static void put_all(void) {
    build();
    for (int f = 0; f < 4; f++) put_file(f);
}

static const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "idx:%s", folder);
    return text;
}

static void expect_sound(void) {
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_OK);
    assert_int_equal(d->train.count, TRAIN);
    assert_int_equal(d->test.count, TEST);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[0], HEIGHT);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[1], WIDTH);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[2], 1);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, CLASSES);
    build();
    assert_memory_equal(pixels_of(&d->train), files[0].data + HEADER_IMAGES, TRAIN * IMAGE);
    assert_memory_equal(pixels_of(&d->test), files[2].data + HEADER_IMAGES, TEST * IMAGE);
    for (int i = 0; i < TRAIN; i++) assert_int_equal(labels_of(&d->train)[i], i % CLASSES);
    for (int i = 0; i < TEST; i++) assert_int_equal(labels_of(&d->test)[i], i % CLASSES);
    hu_dataset_close(d);
}

/* The set must be refused, by a message that names the file, an offset and what was expected. */
static void expect_damage(const char *file) {
    uint64_t blocks = hu_memory_count().live_blocks;
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_ERR_CORRUPT);
    assert_null(d);
    const char *message = hu_last_error();
    if (!strstr(message, file) || !strstr(message, "offset") || !strstr(message, "found") ||
        !strstr(message, "expected") || strchr(message, '\n'))
        fail_msg("incomplete message: %s", message);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static void plain_and_gzip_files_give_the_same_set(void **state) {
    (void)state;
    put_all();
    expect_sound();
    static uint8_t packed[4096];
    for (int f = 0; f < 4; f++) {
        char name[64];
        snprintf(name, sizeof name, "%s.gz", files[f].name);
        size_t size = gzip(files[f].data, files[f].size, packed, sizeof packed);
        assert_int_equal(unlink(at(files[f].name)), 0);
        put(name, packed, size);
        expect_sound();
        for (size_t cut = 0; cut < size; cut += 5) {
            put(name, packed, cut);
            expect_damage(name);
        }
        unlink(at(name));
        put_file(f);
    }
}

/* train-images.idx3-ubyte, as many copies have it; contents that are packed or not whatever the
 * name says; a folder that has the name of a file. */
static void other_names_are_found(void **state) {
    (void)state;
    static uint8_t packed[4096];
    put_all();
    for (int f = 0; f < 4; f++) {
        char name[64];
        strcpy(name, files[f].name);
        *strstr(name, "-idx") = '.';
        assert_int_equal(rename(at(files[f].name), at(name)), 0);
        expect_sound();
        assert_int_equal(mkdir(at(files[f].name), 0700), 0);
        expect_sound();
        size_t size = gzip(files[f].data, files[f].size, packed, sizeof packed);
        put(name, packed, size);
        expect_sound();
        unlink(at(name));
        strcat(name, ".gz");
        put(name, files[f].data, files[f].size);
        expect_sound();
        unlink(at(name));
        assert_int_equal(rmdir(at(files[f].name)), 0);
        put_file(f);
    }
}

static void normalisation_is_measured_on_the_training_half(void **state) {
    (void)state;
    put_all();
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_OK);
    double sum = 0, squares = 0, n = TRAIN * IMAGE;
    for (int i = 0; i < TRAIN * IMAGE; i++) sum += pixels_of(&d->train)[i] / 255.0;
    for (int i = 0; i < TRAIN * IMAGE; i++)
        squares += (pixels_of(&d->train)[i] / 255.0 - sum / n) *
                   (pixels_of(&d->train)[i] / 255.0 - sum / n);
    assert_true(fabs((double)d->field[HU_FIELD_IMAGE].mean[0] - sum / n) < 1e-7);
    assert_true(fabs((double)d->field[HU_FIELD_IMAGE].std[0] - sqrt(squares / n)) < 1e-7);
    assert_int_equal(d->augment.pad, 0);
    assert_false(d->augment.flip);
    hu_dataset_close(d);
    memset(files[0].data + HEADER_IMAGES, 9, TRAIN * IMAGE);
    put_file(0);
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_OK);
    assert_true(d->field[HU_FIELD_IMAGE].std[0] ==
                1.0f); /* a constant set must not divide by zero */
    hu_dataset_close(d);
}

static void limits_take_samples_from_the_front(void **state) {
    (void)state;
    put_all();
    hu_data_limits limits = {11, 1000};
    hu_dataset *d;
    assert_int_equal(hu_dataset_open(spec(), &limits, &d), HU_OK);
    assert_int_equal(d->train.count, 11);
    assert_int_equal(d->test.count, TEST);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, CLASSES);
    assert_memory_equal(pixels_of(&d->train), files[0].data + HEADER_IMAGES, 11 * IMAGE);
    hu_dataset_close(d);
    limits.test = -1;
    assert_int_equal(hu_dataset_open(spec(), &limits, &d), HU_ERR_ARGUMENT);
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    put_all();
    for (int f = 0; f < 4; f++) {
        size_t whole = files[f].size;
        for (size_t cut = 0; cut < whole; cut++) {
            files[f].size = cut;
            put_file(f);
            expect_damage(files[f].name);
        }
        files[f].size = whole;
        put_file(f);
    }
    expect_sound();
}

static void every_bit_flip_of_a_header_is_refused(void **state) {
    (void)state;
    put_all();
    for (int f = 0; f < 4; f++) {
        size_t bits = 8 * (f % 2 ? HEADER_LABELS : HEADER_IMAGES);
        for (size_t bit = 0; bit < bits; bit++) {
            files[f].data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            put_file(f);
            expect_damage(files[f].name);
            files[f].data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        put_file(f);
    }
    expect_sound();
}

static void trailing_bytes_are_refused(void **state) {
    (void)state;
    put_all();
    for (int f = 0; f < 4; f++) {
        for (size_t extra = 1; extra <= IMAGE; extra++) {
            files[f].size += extra;
            put_file(f);
            files[f].size -= extra;
            expect_damage(files[f].name);
        }
        put_file(f);
    }
}

/* Counts that agree with their own file but not with its companion. */
static void halves_that_do_not_belong_together_are_refused(void **state) {
    (void)state;
    put_all();
    put_u32(files[1].data + 4, TRAIN - 1);
    files[1].size--;
    put_file(1);
    expect_damage(files[1].name);
    assert_non_null(strstr(hu_last_error(), "offset 4"));
    assert_non_null(strstr(hu_last_error(), "found 22, expected 23"));
    put_all();
    put_u32(files[2].data + 8, WIDTH); /* turned test images: same size, other shape */
    put_u32(files[2].data + 12, HEIGHT);
    put_file(2);
    expect_damage(files[2].name);
    assert_non_null(strstr(hu_last_error(), "offset 8: height: found 4, expected 5"));
}

static void labels_unknown_to_the_training_half_are_refused(void **state) {
    (void)state;
    put_all();
    files[3].data[HEADER_LABELS + 4] = CLASSES;
    put_file(3);
    expect_damage(files[3].name);
    assert_non_null(strstr(hu_last_error(), "offset 12: label: found 7, expected 0..6"));
}

/* Sizes whose product passes 2^32 and 2^63 must not wrap. */
static void huge_extents_are_refused(void **state) {
    (void)state;
    static const uint32_t extents[][3] = {{0x7fffffff, 4096, 4096},    {0xffffffff, 1, 1},
                                          {1, 0xffffffff, 0xffffffff}, {0, HEIGHT, WIDTH},
                                          {TRAIN, 0, WIDTH},           {TRAIN, HEIGHT, 0},
                                          {0x10000, 0x1000, 0x1000},   {1, 65536, 65536}};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        put_all();
        for (int k = 0; k < 3; k++) put_u32(files[0].data + 4 + 4 * k, extents[i][k]);
        put_file(0);
        expect_damage(files[0].name);
    }
}

static void random_damage_is_refused_or_changes_nothing_but_pixels_and_labels(void **state) {
    (void)state;
    hu_random_key key = {4, hu_stream_id("test", "damage"), 0};
    for (uint64_t i = 0; i < 300; i++) {
        put_all();
        int f = (int)hu_random_below(&key, 4 * i, 4);
        size_t byte = (size_t)hu_random_below(&key, 4 * i + 1, files[f].size);
        files[f].data[byte] ^= (uint8_t)(1 + hu_random_below(&key, 4 * i + 2, 255));
        put_file(f);
        hu_dataset *d;
        hu_status st = hu_dataset_open(spec(), NULL, &d);
        bool in_header = byte < (f % 2 ? HEADER_LABELS : HEADER_IMAGES);
        assert_int_equal(in_header && st != HU_ERR_CORRUPT, 0);
        if (st == HU_OK) {
            assert_int_equal(d->train.count, TRAIN);
            for (int k = 0; k < TEST; k++)
                assert_true(labels_of(&d->test)[k] < d->field[HU_FIELD_LABEL].classes);
        } else {
            assert_int_equal(st, HU_ERR_CORRUPT);
            assert_non_null(strstr(hu_last_error(), folder));
        }
        hu_dataset_close(d);
    }
}

static void missing_files_are_told_with_advice(void **state) {
    (void)state;
    put_all();
    hu_dataset *d;
    assert_true(hu_dataset_available(spec()));
    unlink(at(files[3].name));
    assert_false(hu_dataset_available(spec()));
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "t10k-labels-idx1-ubyte"));
    put("test-labels-idx1-ubyte", files[3].data, files[3].size);
    assert_true(hu_dataset_available(spec()));
    expect_sound();
    unlink(at("test-labels-idx1-ubyte"));
    setenv("HALFULP_DATA", folder, 1);
    assert_false(hu_dataset_available("fashion-mnist"));
    assert_int_equal(hu_dataset_open("fashion-mnist", NULL, &d), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "dataset-fashion-mnist"));
    assert_non_null(strstr(hu_last_error(), folder));
    unsetenv("HALFULP_DATA");
}

static void unknown_and_incomplete_specs_are_errors(void **state) {
    (void)state;
    hu_dataset *d;
    assert_int_equal(hu_dataset_open("fashon-mnist", NULL, &d), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'fashon-mnist'"));
    assert_non_null(strstr(hu_last_error(), "'fashion-mnist'"));
    assert_int_equal(hu_dataset_open("cifar:x", NULL, &d), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "expected cifar10:DIR"));
    assert_int_equal(hu_dataset_open("", NULL, &d), HU_ERR_UNKNOWN);
    assert_int_equal(hu_dataset_open("idx", NULL, &d), HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_open("idx:", NULL, &d), HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_open("glyphs:x", NULL, &d), HU_ERR_ARGUMENT);
    assert_false(hu_dataset_available("nothing"));
    assert_false(hu_dataset_available("idx"));
    size_t kinds = 0;
    bool has_idx = false;
    for (; hu_data_kind_name(kinds); kinds++) {
        has_idx = has_idx || strcmp(hu_data_kind_name(kinds), "idx:DIR") == 0;
        assert_non_null(hu_data_kind_help(kinds));
    }
    assert_true(has_idx);
    assert_null(hu_data_kind_help(kinds));
}

static void every_memory_fault_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    put_all();
    assert_true(fail_every_allocation(spec(), NULL, NULL) > 10);
}

static void fashion_mnist_is_what_its_authors_describe(void **state) {
    (void)state;
    if (!hu_dataset_available("fashion-mnist")) {
        print_message("skipped: fashion-mnist is not installed\n");
        skip();
    }
    hu_dataset *d;
    assert_int_equal(hu_dataset_open("fashion-mnist", NULL, &d), HU_OK);
    assert_int_equal(d->train.count, 60000);
    assert_int_equal(d->test.count, 10000);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[0] * d->field[HU_FIELD_IMAGE].extent[1] *
                         d->field[HU_FIELD_IMAGE].extent[2],
                     784);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, 10);
    int counts[10] = {0};
    double sum = 0, squares = 0, n = 60000.0 * 784;
    for (int i = 0; i < 60000; i++) counts[labels_of(&d->train)[i]]++;
    for (int k = 0; k < 10; k++) assert_int_equal(counts[k], 6000);
    for (int i = 0; i < 60000 * 784; i++) {
        double v = pixels_of(&d->train)[i] / 255.0;
        sum += v;
        squares += v * v;
    }
    assert_true(fabs(sum / n - (double)d->field[HU_FIELD_IMAGE].mean[0]) < 1e-4);
    assert_true(fabs(sqrt(squares / n - sum / n * sum / n) -
                     (double)d->field[HU_FIELD_IMAGE].std[0]) < 1e-4);
    assert_int_equal(labels_of(&d->train)[0], 9); /* the first training image is an ankle boot */
    hu_dataset_close(d);
}

/* Sparse files of 3 GiB, and gzip files that inflate far beyond what their heads say. */
static void files_are_read_no_further_than_they_say(void **state) {
    (void)state;
    char path[256];
    for (int f = 0; f < 4; f++) {
        put_all();
        snprintf(path, sizeof path, "%s/%s", folder, files[f].name);
        assert_int_equal(truncate(path, (off_t)3 << 30), 0);
        uint64_t before = hu_memory_count().peak_bytes;
        expect_damage(files[f].name);
        assert_true(hu_memory_count().peak_bytes < before + (1 << 20));
        snprintf(path, sizeof path, "%s/%s.gz", folder, files[f].name);
        gzFile packed = gzopen(path, "wb1");
        gzwrite(packed, files[f].data, (unsigned)files[f].size);
        static const uint8_t zeros[1 << 20];
        for (int i = 0; i < 64; i++) gzwrite(packed, zeros, sizeof zeros);
        assert_int_equal(gzclose(packed), Z_OK);
        char plain[256];
        snprintf(plain, sizeof plain, "%s/%s", folder, files[f].name);
        unlink(plain);
        before = hu_memory_count().peak_bytes;
        expect_damage(files[f].name);
        assert_true(hu_memory_count().peak_bytes < before + (4 << 20));
        unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_gzip_files_give_the_same_set),
        cmocka_unit_test(other_names_are_found),
        cmocka_unit_test(normalisation_is_measured_on_the_training_half),
        cmocka_unit_test(limits_take_samples_from_the_front),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_bit_flip_of_a_header_is_refused),
        cmocka_unit_test(trailing_bytes_are_refused),
        cmocka_unit_test(halves_that_do_not_belong_together_are_refused),
        cmocka_unit_test(labels_unknown_to_the_training_half_are_refused),
        cmocka_unit_test(huge_extents_are_refused),
        cmocka_unit_test(files_are_read_no_further_than_they_say),
        cmocka_unit_test(random_damage_is_refused_or_changes_nothing_but_pixels_and_labels),
        cmocka_unit_test(missing_files_are_told_with_advice),
        cmocka_unit_test(unknown_and_incomplete_specs_are_errors),
        cmocka_unit_test(every_memory_fault_is_reported_and_leaks_nothing),
        cmocka_unit_test(fashion_mnist_is_what_its_authors_describe),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
