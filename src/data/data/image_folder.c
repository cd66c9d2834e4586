/* A folder of images: every file decoded once, resized and kept as bytes, or decoded ahead of who
 * wants it. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/augment.h"
#include "data/class_names.h"
#include "data/directory.h"
#include "data/image_list.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "data/reader.h"
#include "media/image.h"

/* Pixels of a side, usually; size / PAD_SHARE is the shift where a crop leaves no border;
 * most parts of data.parts. */
enum { USUAL_SIZE = 64, PAD_SHARE = 8, MOST_PARTS = 1000000 };

bool hu_folder_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    return hu_is_folder(directory);
}

/* Size and crop of the images. The border that a crop leaves is what training may shift by. */
static hu_status check_choice(const hu_image_choice *c, hu_dataset *dataset) {
    int64_t size = c->size ? c->size : USUAL_SIZE, crop = c->crop ? c->crop : size;
    if (size < 1 || size > HU_IMAGE_SIDE_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "data.size: found %lld, expected 1..%d", (long long)size,
                       HU_IMAGE_SIDE_MAX);
    if (crop < 1 || crop > size || (size - crop) % 2 != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.crop: found %lld beside data.size=%lld%s, expected 1..%lld, an even "
                       "number of pixels less than the size",
                       (long long)crop, (long long)size, c->size ? "" : " (the usual one)",
                       (long long)size);
    if (c->classes < 0 || c->parts < 0 || c->parts > MOST_PARTS ||
        (c->parts > 0 && (c->part < 1 || c->part > c->parts)))
        return hu_fail(HU_ERR_ARGUMENT,
                       "image choice: found %lld classes, part %lld of %lld, expected 0 or more, "
                       "part 1 to %lld",
                       (long long)c->classes, (long long)c->part, (long long)c->parts,
                       (long long)c->parts);
    if (!(c->area >= 0.0 && c->area <= 1.0))
        return hu_fail(HU_ERR_ARGUMENT, "share of an image: found %g, expected 0..1", c->area);
    int64_t margin = (size - crop) / 2;
    hu_dataset_set_images(dataset, crop, crop, HU_IMAGE_CHANNELS, 0);
    dataset->field[HU_FIELD_IMAGE].margin = margin;
    dataset->augment.area = c->area;
    dataset->augment.pad = margin ? margin : size / PAD_SHARE;
    if (c->area > 0.0) dataset->augment.pad = 0;
    return HU_OK;
}

/* What reading a file of the list came to. */
static hu_status advise(const hu_image_list *list, hu_status st) {
    if (!hu_image_is_unreadable(st) || !list->folder) return st;
    return hu_fail(st, "%s; data.damaged=skip leaves such files out", hu_last_error());
}

/* A file to side x side x 3 bytes. */
static hu_status load_image(const hu_image_list *list, int64_t index, int64_t side,
                            hu_image_scratch *room, uint8_t *square) {
    char *path;
    hu_status st = hu_image_list_path(list, index, &room->path, &path);
    return st == HU_OK ? advise(list, hu_image_read_square(path, side, square, room)) : st;
}

/* Images that stay in their files. */
typedef struct image_reader {
    hu_reader reader;
    hu_image_list list;
    int64_t side, crop; /* of what is stored, and of the square in its middle that is seen */
} image_reader;

/* A random rectangle of the image becomes the middle crop x crop pixels of what is stored; the
 * margin is never seen and left as it is. */
static hu_status load_share(const image_reader *images, const hu_reading_change *change,
                            int64_t index, hu_image_scratch *room, uint8_t *square) {
    const hu_image *image = &room->image;
    size_t row = (size_t)(images->side * HU_IMAGE_CHANNELS);
    int64_t margin = (images->side - images->crop) / 2;
    uint8_t *corner = square + (size_t)margin * row + margin * HU_IMAGE_CHANNELS;
    char *path;
    hu_status st = hu_image_list_path(&images->list, index, &room->path, &path);
    /* Decoded as large as it is: how much of it is seen is not known before. */
    if (st == HU_OK)
        st = advise(&images->list, hu_image_read_upright(path, HU_IMAGE_PIXELS_MAX, room));
    if (st != HU_OK) return st;
    hu_image_cut cut = hu_image_random_cut(change, index, image->width, image->height);
    return hu_image_resize(image, &cut, images->crop, images->crop, row, corner, &room->resizer);
}

static hu_status read_image(const hu_reader *reader, const hu_reading_change *change, int64_t index,
                            hu_image_scratch *room, uint8_t *sample) {
    const image_reader *images = (const image_reader *)reader;
    if (change->area > 0.0) return load_share(images, change, index, room, sample);
    return load_image(&images->list, index, images->side, room, sample);
}

static hu_status tell_file(const hu_reader *reader, int64_t index, hu_sample_file *file) {
    return hu_image_list_copy_path(&((const image_reader *)reader)->list, index, &file->path);
}

static hu_status list_file(const hu_reader *reader, int64_t i, char **path) {
    return hu_image_list_copy_path(&((const image_reader *)reader)->list, i, path);
}

static void close_images(hu_reader *reader) {
    image_reader *images = (image_reader *)reader;
    images->list.label = NULL; /* the data set's own */
    hu_image_list_free(&images->list);
    hu_free(images);
}

/* Takes the list over; its labels go to *owned. */
static hu_status read_later(hu_image_list *list, const hu_field *image, uint64_t memory,
                            void **owned, hu_split *split) {
    image_reader *made;
    hu_status st = HU_NEW(&made);
    if (st != HU_OK) return st;
    made->list = *list;
    made->crop = image->extent[0];
    made->side = made->crop + 2 * image->margin;
    made->reader =
        (hu_reader){.sample_bytes = (size_t)(made->side * made->side * HU_IMAGE_CHANNELS),
                    .memory_bytes = memory,
                    .reads = {[HU_FIELD_IMAGE] = true},
                    .read = read_image,
                    .tell = tell_file,
                    .list = list_file,
                    .close = close_images};
    hu_memory_assign(list->names, HU_MEMORY_DATA);
    hu_memory_assign(list->name, HU_MEMORY_DATA);
    *owned = list->label;
    *split = (hu_split){
        .count = list->count, .rows = {[HU_FIELD_LABEL] = list->label}, .reader = &made->reader};
    *list = (hu_image_list){0};
    return HU_OK;
}

/* What is stored has the border that the crop leaves, from which shifted crops are cut. A share of
 * an image is drawn anew in every epoch: it cannot be kept. */
static hu_status open_halves(const hu_image_choice *choice, hu_image_list *train,
                             hu_image_list *test, hu_dataset *dataset) {
    enum { OF_TRAIN, LABELS_OF_TRAIN, OF_TEST, LABELS_OF_TEST };
    hu_status st;
    void **owned = dataset->owned;
    const hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    int64_t side = image->extent[0] + 2 * image->margin;
    uint64_t bytes = (uint64_t)(side * side * HU_IMAGE_CHANNELS);
    bool may_keep = choice->area == 0.0 && !choice->known.only_test;
    hu_keeping k =
        hu_keeping_decide(choice->memory, may_keep ? train->count : -1, test->count, bytes);
    HU_TRY(read_later(train, image, k.memory, &owned[LABELS_OF_TRAIN], &dataset->train));
    HU_TRY(read_later(test, image, k.memory, &owned[LABELS_OF_TEST], &dataset->test));
    if (k.keeps_train) HU_TRY(hu_split_keep(dataset, &owned[OF_TRAIN], &dataset->train));
    if (k.keeps_test) HU_TRY(hu_split_keep(dataset, &owned[OF_TEST], &dataset->test));
done:
    return st;
}

/* Both halves were listed from the same folders where test images are drawn, or stand for those of
 * training. */
static hu_status note_left(const char *directory, const hu_image_choice *choice,
                           const hu_image_list *train, const hu_image_list *test,
                           hu_dataset *dataset) {
    hu_status st;
    bool is_same = test->is_held || choice->known.only_test;
    hu_skipped_files left = test->left;
    if (!is_same) hu_skipped_files_add(&left, &train->left);
    const int64_t damaged[] = {is_same ? 0 : train->damaged, test->damaged};
    const char *first =
        is_same || !train->first_damaged ? test->first_damaged : train->first_damaged;
    dataset->left_out[0] = damaged[0];
    dataset->left_out[1] = damaged[1];
    if (first)
        HU_TRY(hu_note(&dataset->note,
                       "%s: %lld pictures that cannot be decoded are left out "
                       "(data.damaged=skip), the first is %s",
                       directory, (long long)(damaged[0] + damaged[1]), first));
    st = hu_note_left(&dataset->note, directory, &left);
done:
    return st;
}

/* Pictures of which nobody says what they are, for a model that knows its classes. */
static hu_status list_files(const hu_data_known *known, hu_image_list *train, hu_image_list *test,
                            hu_dataset *dataset) {
    hu_status st;
    dataset->lacks_truth = true;
    dataset->field[HU_FIELD_LABEL].classes = known->classes;
    HU_TRY(hu_image_list_of_files(known->files, known->file_count, train));
    HU_TRY(hu_image_list_of_files(known->files, known->file_count, test));
    if (!known->class_names) return HU_OK;
    dataset->class_name_count = known->classes;
    st = hu_class_names_copy(known->class_names, known->classes, &dataset->class_names);
done:
    return st;
}

hu_status hu_folder_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, const hu_image_choice *choice,
                         hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    hu_image_list train = {0}, test = {0};
    HU_TRY(check_choice(choice, dataset));
    if (choice->known.files) {
        HU_TRY(list_files(&choice->known, &train, &test, dataset));
    } else {
        HU_TRY(hu_image_list_make(directory, limits, choice, &train, &test, &dataset->class_names,
                                  &dataset->class_name_count));
        dataset->field[HU_FIELD_LABEL].classes = dataset->class_name_count;
        dataset->holds_test = test.is_held;
        HU_TRY(note_left(directory, choice, &train, &test, dataset));
    }
    HU_TRY(open_halves(choice, &train, &test, dataset));
done:
    hu_image_list_free(&train);
    hu_image_list_free(&test);
    return st;
}
