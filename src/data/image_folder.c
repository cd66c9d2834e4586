/* A folder of images: every file decoded once, resized, and kept as bytes. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/file_names.h"
#include "data/image_decode.h"
#include "data/image_list.h"
#include "data/kind.h"

/* Pixels of a side: usual, and most; size / PAD_SHARE is the shift where a crop leaves no border;
 * most parts of data.parts. */
enum { USUAL_SIZE = 64, LARGEST_SIZE = 4096, PAD_SHARE = 8, MOST_PARTS = 1000000 };

bool hu_folder_available(const hu_data_kind *kind, const char *directory) {
    static const char *const names[] = {"train", "val", "test"};
    bool has[3] = {false};
    (void)kind;
    for (int i = 0; i < 3; i++) {
        char *path;
        if (hu_path_join(directory, names[i], &path) != HU_OK) return false;
        has[i] = hu_is_folder(path);
        hu_free(path);
    }
    /* "val" and "test" are both names for the half that is not trained on. */
    return has[0] && (has[1] || has[2]);
}

/* Size and crop of the images. The border that a crop leaves is what training may shift by. */
static hu_status check_choice(const hu_image_choice *c, hu_dataset *dataset) {
    int64_t size = c->size ? c->size : USUAL_SIZE, crop = c->crop ? c->crop : size;
    if (size < 1 || size > LARGEST_SIZE)
        return hu_fail(HU_ERR_ARGUMENT, "image size: found %lld, expected 1..%d", (long long)size,
                       LARGEST_SIZE);
    if (crop < 1 || crop > size || (size - crop) % 2 != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "image crop: found %lld, expected 1..%lld and an even number of pixels less "
                       "than the size of %lld",
                       (long long)crop, (long long)size, (long long)size);
    if (c->classes < 0 || c->parts < 0 || c->parts > MOST_PARTS ||
        (c->parts > 0 && (c->part < 1 || c->part > c->parts)))
        return hu_fail(HU_ERR_ARGUMENT,
                       "image choice: found %lld classes, part %lld of %lld, expected 0 or more, "
                       "part 1 to %lld",
                       (long long)c->classes, (long long)c->part, (long long)c->parts,
                       (long long)c->parts);
    int64_t margin = (size - crop) / 2;
    hu_dataset_set_images(dataset, crop, crop, HU_IMAGE_CHANNELS, 0);
    dataset->field[HU_FIELD_IMAGE].margin = margin;
    dataset->augment.pad = margin ? margin : size / PAD_SHARE;
    return HU_OK;
}

/* Bytes that programs can still get; 0: not known. */
static uint64_t available_bytes(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
    if (file) fclose(file);
    return kib * 1024;
}

/* All images are kept decoded: too many are refused before the first is read. */
static hu_status check_memory(int64_t images, size_t image_bytes) {
    uint64_t have = available_bytes(), need = (uint64_t)images * image_bytes;
    if (have == 0 || need <= have) return HU_OK;
    return hu_fail(
        HU_ERR_MEMORY,
        "%lld images of %zu bytes need %llu MiB of memory, found %llu MiB; take a smaller "
        "data.size, data.limit, data.classes or data.part",
        (long long)images, image_bytes, (unsigned long long)(need >> 20),
        (unsigned long long)(have >> 20));
}

/* A file to side x side x 3 bytes; the file's own bytes are not kept. */
static hu_status load_image(const char *path, int64_t side, uint8_t *square) {
    hu_status st;
    uint8_t *data = NULL;
    size_t bytes;
    hu_image image = {0};
    HU_TRY(hu_file_read_plain(path, HU_IMAGE_FILE_MAX, &data, &bytes));
    HU_TRY(hu_image_decode(path, data, bytes, side, &image));
    HU_TRY(hu_image_shrink(&image, side, square));
done:
    hu_free(image.pixels);
    hu_free(data);
    return st;
}

/* The first image that could not be loaded. */
typedef struct failure {
    int64_t index;
    hu_status status;
    char message[1024];
} failure;

/* Keeps the failure of the lowest index, so that the message does not depend on threads. */
static void note(failure *first, int64_t index, hu_status st) {
#pragma omp critical(hu_image_failure)
    if (index < first->index) {
        first->index = index;
        first->status = st;
        snprintf(first->message, sizeof first->message, "%s", hu_last_error());
    }
}

static int64_t failed_at(const failure *first) {
    int64_t index;
#pragma omp critical(hu_image_failure)
    index = first->index;
    return index;
}

/* Files in parallel; behind a failure only those before it are still read. */
static hu_status load_all(const hu_image_list *list, int64_t side, uint8_t *pixels) {
    failure first = {.index = INT64_MAX, .status = HU_OK};
    int64_t square = side * side * HU_IMAGE_CHANNELS;
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t i = 0; i < list->count; i++) {
        if (i > failed_at(&first)) continue;
        hu_status st = load_image(list->path[i], side, pixels + i * square);
        if (st != HU_OK) note(&first, i, st);
    }
    return first.status == HU_OK ? HU_OK : hu_fail(first.status, "%s", first.message);
}

/* pixels [count, side, side, 3] and labels [count] go to owned[0] and owned[1]. */
static hu_status open_half(hu_image_list *list, int64_t side, void **owned, hu_split *split) {
    hu_status st;
    HU_TRY(
        hu_alloc_array((size_t)list->count, (size_t)(side * side * HU_IMAGE_CHANNELS), &owned[0]));
    HU_TRY(load_all(list, side, owned[0]));
    owned[1] = list->label;
    list->label = NULL;
    *split = (hu_split){.count = list->count, .rows = {owned[0], owned[1]}};
done:
    return st;
}

hu_status hu_folder_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, const hu_image_choice *choice,
                         hu_dataset *dataset) {
    hu_status st;
    hu_image_list train = {0}, test = {0};
    HU_TRY(check_choice(choice, dataset));
    const hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    HU_TRY(hu_image_list_make(directory, limits, choice, &train, &test,
                              &dataset->field[HU_FIELD_LABEL].classes));
    /* What is stored has the border that the crop leaves, from which shifted crops are cut. */
    int64_t side = image->extent[0] + 2 * image->margin;
    HU_TRY(check_memory(train.count + test.count, (size_t)(side * side * HU_IMAGE_CHANNELS)));
    HU_TRY(open_half(&train, side, dataset->owned, &dataset->train));
    HU_TRY(open_half(&test, side, dataset->owned + 2, &dataset->test));
done:
    hu_image_list_free(&train);
    hu_image_list_free(&test);
    if (st == HU_ERR_MISSING)
        return hu_fail(st, "data %s: %s; %s", dataset->name, hu_last_error(), kind->advice);
    return st;
}
