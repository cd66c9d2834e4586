#include "data/frame.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

/* Only plain images alone: label maps and boxes would have to move with them. */
static bool can_be_framed(const hu_dataset *dataset) {
    int spatial = 0;
    for (int f = 0; f < dataset->field_count; f++)
        spatial += dataset->field[f].is_spatial || dataset->field[f].is_boxes;
    const hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    return spatial == 1 && image->is_spatial && image->type == HU_FIELD_U8 && image->rank == 3 &&
           image->margin == 0 && dataset->train.rows[HU_FIELD_IMAGE] &&
           dataset->test.rows[HU_FIELD_IMAGE] && !dataset->parted;
}

/* A copy of the images of a part [count, height, width, channels], each inside of a larger black
 * one. */
static hu_status frame_part(const hu_split *split, const int64_t *extent, int64_t pixels,
                            void **framed) {
    int64_t height = extent[0] + 2 * pixels, row = extent[1] * extent[2];
    int64_t wide = (extent[1] + 2 * pixels) * extent[2], all;
    const uint8_t *from = split->rows[HU_FIELD_IMAGE];
    if (!hu_mul_i64(height * wide, split->count, &all))
        return hu_fail(HU_ERR_LIMIT, "data.frame: the images leave no size that fits 63 bits");
    hu_status st = hu_alloc((size_t)all, framed); /* zeros: black */
    if (st != HU_OK) return st;
    uint8_t *to = *framed;
    for (int64_t s = 0; s < split->count; s++)
        for (int64_t y = 0; y < extent[0]; y++)
            memcpy(to + (s * height + y + pixels) * wide + pixels * extent[2],
                   from + (s * extent[0] + y) * row, (size_t)row);
    return HU_OK;
}

/* Where the data set owns the images of a part; NULL: they are somebody else's. */
static void **owner_of(hu_dataset *dataset, const hu_split *split) {
    for (size_t i = 0; i < sizeof dataset->owned / sizeof *dataset->owned; i++)
        if (dataset->owned[i] == split->rows[HU_FIELD_IMAGE]) return &dataset->owned[i];
    return NULL;
}

/* The new images in the place of the old ones. */
static void take(hu_dataset *dataset, hu_split *split, void *framed) {
    void **owner = owner_of(dataset, split);
    hu_free(*owner);
    *owner = framed;
    hu_memory_assign(framed, HU_MEMORY_DATA);
    split->rows[HU_FIELD_IMAGE] = framed;
}

hu_status hu_dataset_frame(hu_dataset *dataset, int64_t pixels) {
    hu_status st = HU_OK;
    void *train = NULL, *test = NULL;
    int64_t *extent = dataset->field[HU_FIELD_IMAGE].extent;
    if (pixels < 0 || pixels > HU_FRAME_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "data.frame: found %lld, expected 0..%d", (long long)pixels,
                       HU_FRAME_MOST);
    if (pixels == 0) return HU_OK;
    if (!can_be_framed(dataset) || !owner_of(dataset, &dataset->train) ||
        !owner_of(dataset, &dataset->test))
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.frame: found %lld with data %s, expected images of bytes in memory, "
                       "without label maps or boxes",
                       (long long)pixels, dataset->name ? dataset->name : "");
    HU_TRY(frame_part(&dataset->train, extent, pixels, &train));
    HU_TRY(frame_part(&dataset->test, extent, pixels, &test));
    take(dataset, &dataset->train, train);
    take(dataset, &dataset->test, test);
    extent[0] += 2 * pixels;
    extent[1] += 2 * pixels;
    train = test = NULL;
done:
    hu_free(train);
    hu_free(test);
    return st;
}
