/* Samples that a small network learns in a few steps: images whose two bright rows are their class.
 */
#ifndef TEST_BRIGHT_ROWS_H
#define TEST_BRIGHT_ROWS_H
#include <halfulp/train.h>

enum { SIDE = 6, SAMPLES = 48, CLASSES = 3 };

/* context: index of a sample that cannot be made, NULL: all can. */
static inline hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    const int64_t *broken = context;
    (void)epoch;
    if (broken && index == *broken) return HU_ERR_IO;
    if (field == 1) {
        row[0] = (float)(index % CLASSES);
        return HU_OK;
    }
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        int64_t y = i / SIDE, noise = (index * 31 + i * 17) % 13;
        row[i] = (y / 2 == index % CLASSES ? 1.0f : 0.0f) + 0.03f * (float)noise;
    }
    return HU_OK;
}

/* broken: of the training samples. */
static inline hu_dataset *make_data(int64_t *broken) {
    const hu_field fields[] = {{.name = "image", .rank = 3, .extent = {SIDE, SIDE, 1}},
                               {.name = "label", .classes = CLASSES}};
    const hu_sample_source train = {sizeof train, SAMPLES, broken, fill};
    const hu_sample_source test = {sizeof test, SAMPLES, NULL, fill};
    hu_dataset *data;
    assert_int_equal(hu_dataset_of_sources(fields, 2, &train, &test, &data), HU_OK);
    return data;
}

#endif
