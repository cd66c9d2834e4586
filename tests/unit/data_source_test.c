/* Data sets of samples that a program makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/data.h>

enum { SAMPLES = 10, EXTENT = 3, BROKEN = 7 };

/* Sample i of epoch e: field 0 is {e, i, e + i}, field 1 is i % 2. */
static hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    const int *broken = context;
    if (broken && index == *broken) return HU_ERR_IO;
    if (field == 1)
        row[0] = (float)(index % 2);
    else
        for (int i = 0; i < EXTENT; i++)
            row[i] = (float)(i == 0 ? epoch : i == 1 ? index : epoch + index);
    return HU_OK;
}

static const hu_field fields[2] = {{.name = "x", .rank = 1, .extent = {EXTENT}},
                                   {.name = "label", .classes = 2}};

static hu_dataset *open_with(int *broken) {
    hu_dataset *dataset;
    hu_sample_source source = {sizeof source, SAMPLES, broken, fill};
    assert_int_equal(hu_dataset_of_sources(fields, 2, &source, &source, &dataset), HU_OK);
    return dataset;
}

/* Sizes that wrap, and names that two fields share, are refused when the set is opened. */
static void fields_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const struct {
        hu_field fields[2];
        const char *part;
    } table[] = {
        {{{.name = "x", .rank = 2, .extent = {6148914691236517206, 3}}, {.name = "y"}},
         "field 'x': extents up to number 0, which is 6148914691236517206, are more numbers"},
        {{{.name = "x", .rank = 2, .extent = {1537228672809129302, 6}}, {.name = "y"}},
         "field 'x': extents up to number 1, which is 6, are more numbers"},
        {{{.name = "x"}, {.name = "y", .rank = 2, .extent = {(int64_t)1 << 40, (int64_t)1 << 40}}},
         "field 'y': extents up to number 1"},
        {{{.name = "x", .rank = 1, .extent = {INT64_MAX}}, {.name = "y"}},
         "extents up to number 0"},
        {{{.name = "x"}, {.name = "x", .classes = 2}}, "fields 0 and 1 are both called 'x'"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_sample_source source = {sizeof source, SAMPLES, NULL, fill};
        hu_dataset *dataset;
        assert_int_equal(hu_dataset_of_sources(table[i].fields, 2, &source, &source, &dataset),
                         HU_ERR_ARGUMENT);
        assert_null(dataset);
        if (!strstr(hu_last_error(), table[i].part)) fail_msg("%s", hu_last_error());
    }
    assert_true(hu_field_elements(&table[0].fields[0]) == INT64_MAX);
}

static void samples_are_functions_of_epoch_and_index(void **state) {
    (void)state;
    hu_dataset *dataset = open_with(NULL);
    hu_loader_settings settings = {.seed = 5, .shuffle = true};
    hu_loader *loader;
    assert_int_equal(hu_loader_create(dataset, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    assert_int_equal(hu_loader_count(loader), SAMPLES);
    bool is_shuffled = false;
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        float rows[SAMPLES * EXTENT], label[SAMPLES];
        assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
        hu_loader_fill(loader, 0, HU_READ_PLAIN, 0, SAMPLES, rows);
        hu_loader_fill(loader, 1, HU_READ_PLAIN, 0, SAMPLES, label);
        for (int64_t p = 0; p < SAMPLES; p++) {
            float index = (float)hu_loader_index(loader, p);
            is_shuffled |= index != (float)p;
            assert_true(rows[p * EXTENT] == (float)epoch && rows[p * EXTENT + 1] == index);
            assert_true(label[p] == (float)(hu_loader_index(loader, p) % 2));
        }
    }
    assert_true(is_shuffled);
    assert_int_equal(hu_loader_status(loader), HU_OK);
    hu_loader_close(loader);
    hu_dataset_close(dataset);
}

static void a_failure_is_kept_and_its_row_is_zero(void **state) {
    (void)state;
    int broken = BROKEN;
    hu_dataset *dataset = open_with(&broken);
    hu_loader_settings settings = {.seed = 5};
    hu_loader *loader;
    float rows[SAMPLES * EXTENT];
    assert_int_equal(hu_loader_create(dataset, HU_SPLIT_TEST, &settings, &loader), HU_OK);
    hu_loader_fill(loader, 0, HU_READ_PLAIN, 0, SAMPLES, rows);
    assert_true(rows[BROKEN * EXTENT + 1] == 0.0f && rows[(BROKEN + 1) * EXTENT + 1] == 8.0f);
    assert_int_equal(hu_loader_status(loader), HU_ERR_IO);
    assert_non_null(strstr(hu_last_error(), "index 7 of epoch 0"));
    hu_loader_close(loader);
    hu_dataset_close(dataset);
}

static void refuses(const hu_field *list, int count, const hu_sample_source *source,
                    const char *word) {
    hu_dataset *dataset;
    assert_int_equal(hu_dataset_of_sources(list, count, source, source, &dataset), HU_ERR_ARGUMENT);
    assert_null(dataset);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    hu_sample_source source = {sizeof source, SAMPLES, NULL, fill};
    hu_field nameless = {.rank = 0}, flat = {.name = "x", .rank = 1};
    refuses(fields, 0, &source, "0 fields");
    refuses(&nameless, 1, &source, "no name");
    refuses(&flat, 1, &source, "extent 0 is 0");
    refuses(fields, 2, &(hu_sample_source){.samples = 1, .fill = fill}, "its size is 0");
    refuses(fields, 2, &(hu_sample_source){sizeof source, 0, NULL, fill}, "0 samples");
    refuses(fields, 2, &(hu_sample_source){sizeof source, 4, NULL, NULL}, "no fill");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_functions_of_epoch_and_index),
        cmocka_unit_test(fields_that_cannot_be_are_refused),
        cmocka_unit_test(a_failure_is_kept_and_its_row_is_zero),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
