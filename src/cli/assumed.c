#include "cli/assumed.h"

#include <string.h>

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
