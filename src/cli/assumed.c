#include "cli/assumed.h"

#include <string.h>

#include "base/error.h"

enum { GREEN = 1 };

hu_dataset hu_assumed_dataset(const char *model, int64_t batch) {
    enum { SAMPLES = 50000, GREY_SIDE = 28, COLOUR_SIDE = 32, COLOURS = 3, CLASSES = 10 };
    bool is_grey = strcmp(model, "cnn-s") == 0;
    int64_t side = is_grey ? GREY_SIDE : COLOUR_SIDE, batches = SAMPLES / batch;
    return (hu_dataset){.height = side,
                        .width = side,
                        .channels = is_grey ? 1 : COLOURS,
                        .classes = CLASSES,
                        .mean = {0.5f, 0.5f, 0.5f},
                        .std = {0.25f, 0.25f, 0.25f},
                        .train = {.count = batch * (batches ? batches : 1)},
                        .test = {.count = batch}};
}

/* Moves the middle of one channel of every image to the front of the pixels, place by place: none
 * is overwritten before it is read. */
static void take_middle(const hu_dataset *from, const hu_dataset *to, int64_t count,
                        uint8_t *pixels) {
    int64_t top = (from->height - to->height) / 2, left = (from->width - to->width) / 2;
    uint8_t *next = pixels;
    for (int64_t i = 0; i < count; i++)
        for (int64_t y = 0; y < to->height; y++)
            for (int64_t x = 0; x < to->width; x++) {
                int64_t place = (i * from->height + top + y) * from->width + left + x;
                *next++ = pixels[place * from->channels + GREEN];
            }
}

hu_status hu_assumed_open(const char *model, const hu_data_limits *limits, hu_dataset **dataset) {
    hu_status st = HU_OK;
    const hu_dataset assumed = hu_assumed_dataset(model, 1);
    HU_TRY(hu_dataset_open("glyphs", limits, dataset));
    hu_dataset *opened = *dataset;
    if (assumed.channels == opened->channels) return HU_OK;
    take_middle(opened, &assumed, opened->train.count, opened->owned[0]);
    take_middle(opened, &assumed, opened->test.count, opened->owned[2]);
    opened->height = assumed.height;
    opened->width = assumed.width;
    opened->channels = assumed.channels;
done:
    return st;
}
