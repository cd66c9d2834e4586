/* A black border around images: where the pixels go, who may have one, and how it is read. */
#include <math.h>

#include <halfulp/data.h>

#include "base/memory.h"
#include "data/fields.h"
#include "data_files.h"

enum { SIDE = 28, FRAMED = 32, COUNT = 5 };

static hu_dataset *open_contacts(void) {
    hu_data_limits limits = {COUNT, COUNT};
    hu_dataset *d;
    assert_int_equal(hu_dataset_open("contacts", &limits, &d), HU_OK);
    return d;
}

static void images_stand_in_the_middle_of_black(void **state) {
    (void)state;
    hu_dataset *plain = open_contacts(), *framed = open_contacts();
    assert_int_equal(hu_dataset_frame(framed, 2), HU_OK);
    assert_int_equal(framed->field[0].extent[0], FRAMED);
    assert_int_equal(framed->field[0].extent[1], FRAMED);
    const hu_split *from[] = {&plain->train, &plain->test}, *to[] = {&framed->train, &framed->test};
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < COUNT * FRAMED * FRAMED; i++) {
            int s = i / (FRAMED * FRAMED), y = i / FRAMED % FRAMED - 2, x = i % FRAMED - 2;
            bool inside = y >= 0 && y < SIDE && x >= 0 && x < SIDE;
            const uint8_t *image = from[h]->rows[0];
            int expected = inside ? image[(s * SIDE + y) * SIDE + x] : 0;
            assert_int_equal(((const uint8_t *)to[h]->rows[0])[i], expected);
        }
    hu_dataset_close(plain);
    hu_dataset_close(framed);
}

/* Black is -1, white 1, and in between is byte / 127.5 - 1. */
static void bytes_are_read_from_minus_one_to_one(void **state) {
    (void)state;
    hu_dataset *d = open_contacts();
    hu_loader_settings settings = {.window = COUNT, .threads = 1};
    hu_loader *loader;
    static float rows[COUNT * SIDE * SIDE];
    uint8_t *bytes = (uint8_t *)(uintptr_t)d->test.rows[0];
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TEST, &settings, &loader), HU_OK);
    hu_loader_fill(loader, 0, HU_READ_SIGNED, 0, COUNT, rows);
    assert_true(rows[0] == -1.0f && rows[255] == 1.0f);
    for (int i = 0; i < 256; i++) assert_true(rows[i] == (float)i / 127.5f - 1.0f);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

static void says(hu_status st, const char *words) {
    assert_int_equal(st, HU_ERR_ARGUMENT);
    if (!strstr(hu_last_error(), words)) fail_msg("no '%s' in: %s", words, hu_last_error());
}

static void what_cannot_have_one_is_refused(void **state) {
    (void)state;
    hu_data_limits few = {40, 4};
    hu_dataset *d = open_contacts();
    const void *rows = d->train.rows[0];
    assert_int_equal(hu_dataset_frame(d, 0), HU_OK);
    assert_ptr_equal(d->train.rows[0], rows);
    says(hu_dataset_frame(d, -1), "data.frame: found -1, expected 0..256");
    says(hu_dataset_frame(d, 257), "found 257");
    d->field[1] = d->field[0];
    d->field_count = 2;
    says(hu_dataset_frame(d, 2),
         "data contacts, expected images of bytes in memory, without label");
    d->field_count = 1;
    hu_dataset_close(d);
    assert_int_equal(hu_dataset_open("glyphs", &few, &d), HU_OK);
    assert_int_equal(hu_dataset_hold_out(d, 10, 1), HU_OK);
    says(hu_dataset_frame(d, 2), "data glyphs");
    hu_dataset_close(d);
}

static void memory_faults_change_nothing(void **state) {
    (void)state;
    hu_dataset *d = open_contacts();
    const void *rows = d->train.rows[0];
    for (uint64_t nth = 1; nth <= 2; nth++) {
        hu_memory_fail_at(nth);
        assert_int_equal(hu_dataset_frame(d, 2), HU_ERR_MEMORY);
        assert_ptr_equal(d->train.rows[0], rows);
        assert_int_equal(d->field[0].extent[0], SIDE);
    }
    hu_memory_fail_at(0);
    assert_int_equal(hu_dataset_frame(d, 2), HU_OK);
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_stand_in_the_middle_of_black),
        cmocka_unit_test(bytes_are_read_from_minus_one_to_one),
        cmocka_unit_test(what_cannot_have_one_is_refused),
        cmocka_unit_test(memory_faults_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
