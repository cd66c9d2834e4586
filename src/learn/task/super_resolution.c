#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "media/image_resize.h"
#include "task/internal.h"

/* ---- enlarge ---- */

/* A larger picture from a small one: the head gives a picture in units of 0..1, the target is the
 * picture that the small one was made of. */

enum { SMALL, LARGE, PICTURE_RANK = 3, COLOURS = 3 };

static bool is_picture(const hu_field *field) {
    return field->type == HU_FIELD_U8 && field->rank == PICTURE_RANK;
}

static hu_status count_outputs(const hu_field *const *fields, int64_t *outputs) {
    const hu_field *small = fields[SMALL], *large = fields[LARGE];
    *outputs = large->rank > 0 ? large->extent[large->rank - 1] : 1;
    if (!is_picture(small) || !is_picture(large))
        return hu_fail(HU_ERR_ARGUMENT,
                       "fields '%s' and '%s': found ranks %d and %d, the task enlarge needs "
                       "pictures of bytes",
                       small->name, large->name, small->rank, large->rank);
    int64_t scale = large->extent[0] / small->extent[0];
    if (scale >= 1 && large->extent[0] == scale * small->extent[0] &&
        large->extent[1] == scale * small->extent[1] && large->extent[2] == small->extent[2])
        return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "field '%s': found %lldx%lldx%lld, expected a whole multiple of %lldx%lld pixels "
        "and %lld channels as '%s' has",
        large->name, (long long)large->extent[1], (long long)large->extent[0],
        (long long)large->extent[2], (long long)small->extent[1], (long long)small->extent[0],
        (long long)small->extent[2], small->name);
}

static void describe(const hu_metric_call *sample, double *cells) {
    cells[0] = hu_metric_of_sample(&hu_metric_luma_psnr, sample);
}

/* ---- what can be had without a network ---- */

/* Both pictures of a sample, and the small one enlarged: as bytes, and in 0..1. */
typedef struct room {
    float *small, *large, *made;
    uint8_t *from, *to;
} room;

static hu_status make_room(const hu_field *field, room *own) {
    hu_status st;
    size_t small = (size_t)hu_field_elements(&field[SMALL]);
    size_t large = (size_t)hu_field_elements(&field[LARGE]);
    HU_TRY(HU_NEW_ARRAY(&own->small, small));
    HU_TRY(HU_NEW_ARRAY(&own->large, large));
    HU_TRY(HU_NEW_ARRAY(&own->made, large));
    HU_TRY(HU_NEW_ARRAY(&own->from, small));
    HU_TRY(HU_NEW_ARRAY(&own->to, large));
done:
    return st;
}

static void free_room(room *own) {
    hu_free(own->small);
    hu_free(own->large);
    hu_free(own->made);
    hu_free(own->from);
    hu_free(own->to);
}

/* Numbers in 0..1 that came from bytes give them back exactly. */
static hu_status enlarge(const hu_field *field, room *own) {
    const int64_t *small = field[SMALL].extent, *large = field[LARGE].extent;
    for (int64_t i = 0; i < hu_field_elements(&field[SMALL]); i++)
        own->from[i] = (uint8_t)(own->small[i] * 255.0f + 0.5f);
    hu_status st = hu_bicubic_resize(own->from, small[0], small[1], large[0], large[1], own->to);
    for (int64_t i = 0; i < hu_field_elements(&field[LARGE]); i++)
        own->made[i] = (float)own->to[i] / 255.0f;
    return st;
}

static hu_status measure(hu_loader *loader, const int *number, const hu_field *field, room *own,
                         double *value) {
    hu_status st = HU_OK;
    double sums[2] = {0.0, 0.0};
    int64_t width = field[LARGE].extent[1];
    hu_metric_call call = {.samples = 1,
                           .rows = field[LARGE].extent[0] * width,
                           .outputs = field[LARGE].extent[2],
                           .prediction = own->made,
                           .target = own->large,
                           .width = width,
                           .border = width / field[SMALL].extent[1]};
    for (int64_t i = 0; i < hu_loader_count(loader); i++) {
        HU_TRY(hu_loader_want(loader, i, 1));
        hu_loader_fill(loader, number[SMALL], HU_READ_UNIT, i, 1, own->small);
        hu_loader_fill(loader, number[LARGE], HU_READ_UNIT, i, 1, own->large);
        HU_TRY(enlarge(field, own));
        hu_metric_luma_psnr.collection->add(&call, sums);
    }
    *value = hu_metric_luma_psnr.value(&call, sums);
done:
    return st;
}

static hu_status measure_bicubic(const hu_dataset *dataset, hu_split_kind half, double *value) {
    const hu_field *all = hu_dataset_fields(dataset, half);
    const int number[] = {hu_dataset_find(dataset, "small"), hu_dataset_find(dataset, "large")};
    const hu_field field[] = {all[number[SMALL]], all[number[LARGE]]};
    const hu_loader_settings plain = {.window = 1};
    hu_status st;
    hu_loader *loader = NULL;
    room own = {0};
    *value = NAN;
    if (field[SMALL].extent[2] != COLOURS) return HU_OK; /* what the resizing knows */
    HU_TRY(hu_loader_create(dataset, half, &plain, &loader));
    HU_TRY(make_room(field, &own));
    HU_TRY(measure(loader, number, field, &own, value));
done:
    free_room(&own);
    hu_loader_close(loader);
    return st;
}

const hu_task hu_task_enlarge = {
    .name = "enlarge",
    .help = "a larger picture from a small one (super-resolution)",
    .field = {{"small", "input", HU_READ_UNIT, false}, {"large", "target", HU_READ_UNIT, true}},
    .kind = HU_LOSS_NUMBERS,
    .loss = "l1",
    .metric = {&hu_metric_luma_psnr, &hu_metric_psnr},
    .count_outputs = count_outputs,
    .head = hu_picture_head,
    .baseline = "bicubic",
    .measure_baseline = measure_bicubic,
    .column = {{"luma_psnr", false, 3, false}},
    .describe = describe,
    .paint = hu_picture_paint,
};
