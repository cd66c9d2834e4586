/* sounds:DIR - sounds in folders of classes, DIR/train/CLASS/NAME.wav and DIR/val/CLASS/NAME.wav
 * (or test; or DIR/CLASS/NAME.wav, of which some are drawn to test with): their spectrograms as
 * grey pictures, time downward and frequency to the right. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/class_names.h"
#include "data/image_list.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "data/reader.h"
#include "data/speech.h"

enum { USUAL_FRAMES = 100, OWNED_OF_HALF = 2 };

/* ---- where samples come from ---- */

typedef struct sound_list {
    hu_reader reader; /* which reads nothing: the samples are in memory */
    hu_image_list list;
} sound_list;

static hu_status tell_file(const hu_reader *reader, int64_t index, hu_sample_file *file) {
    return hu_image_list_copy_path(&((const sound_list *)reader)->list, index, &file->path);
}

static hu_status list_file(const hu_reader *reader, int64_t i, char **path) {
    return hu_image_list_copy_path(&((const sound_list *)reader)->list, i, path);
}

static void close_list(hu_reader *reader) {
    sound_list *sounds = (sound_list *)reader;
    hu_image_list_free(&sounds->list);
    hu_free(sounds);
}

/* ---- one half ---- */

/* Where the rows of a half go. */
typedef struct filling {
    const hu_image_list *list;
    const hu_spectrum *spectrum;
    int64_t frames;
    float *rows;    /* [count, frames, bins] */
    int32_t *label; /* [count] */
    hu_sound_counts *counts;
} filling;

static hu_status fill_rows(void *context, int64_t i) {
    const filling *f = context;
    hu_scratch room = {0};
    char *path;
    int32_t frames;
    hu_status st = hu_image_list_path(f->list, i, &room, &path);
    if (st == HU_OK)
        st = hu_sound_rows(path, f->spectrum, f->frames,
                           f->rows + i * f->frames * f->spectrum->bins, &frames, f->counts);
    f->label[i] = f->list->label[i];
    hu_scratch_free(&room);
    return st;
}

/* The half takes the list over. number: 0 training, 1 testing. */
static hu_status fill_half(hu_image_list *list, const hu_spectrum *spectrum, int number,
                           hu_dataset *dataset) {
    hu_sound_counts counts = {0};
    void **owned = dataset->owned + OWNED_OF_HALF * number;
    hu_split *split = number == 0 ? &dataset->train : &dataset->test;
    int64_t frames = dataset->field[HU_FIELD_IMAGE].extent[0], count = list->count;
    sound_list *files;
    hu_status st;
    HU_TRY(hu_alloc_array((size_t)count, (size_t)(frames * spectrum->bins) * sizeof(float),
                          &owned[0]));
    HU_TRY(hu_alloc_array((size_t)count, sizeof(int32_t), &owned[1]));
    filling f = {list, spectrum, frames, owned[0], owned[1], &counts};
    HU_TRY(hu_data_each(count, fill_rows, &f));
    dataset->sounds[number] = (hu_sounds_told){.cut = counts.cut,
                                               .resampled = counts.resampled,
                                               .silent = counts.silent,
                                               .left_out = list->others};
    HU_TRY(HU_NEW(&files));
    *files = (sound_list){{.tell = tell_file, .list = list_file, .close = close_list}, *list};
    *list = (hu_image_list){0};
    *split = (hu_split){.count = count,
                        .rows = {[HU_FIELD_IMAGE] = owned[0], [HU_FIELD_LABEL] = owned[1]},
                        .files = &files->reader};
done:
    return st;
}

/* ---- opening ---- */

bool hu_sounds_available(const hu_data_kind *kind, const char *directory) {
    return hu_folder_available(kind, directory);
}

static hu_status list_files(const char *directory, const hu_data_limits *limits,
                            const hu_image_choice *choice, hu_image_list *train,
                            hu_image_list *test, hu_dataset *dataset) {
    const hu_data_known *known = &choice->known;
    hu_image_choice of_sounds = *choice;
    hu_status st;
    of_sounds.of_sounds = true;
    if (!known->files) {
        HU_TRY(hu_image_list_make(directory, limits, &of_sounds, train, test, &dataset->class_names,
                                  &dataset->class_name_count));
        dataset->holds_test = test->is_held;
        return HU_OK;
    }
    dataset->lacks_truth = true;
    dataset->class_name_count = known->classes;
    HU_TRY(hu_image_list_of_files(known->files, known->file_count, test));
    st = known->class_names
             ? hu_class_names_copy(known->class_names, known->classes, &dataset->class_names)
             : HU_OK;
done:
    return st;
}

/* The rate of all is that of the first training sound: the first of the first class. */
static hu_status make_spectrum(const hu_image_list *list, const hu_image_choice *choice,
                               hu_spectrum *spectrum) {
    hu_scratch room = {0};
    char *first;
    bool is_known = choice->known.files || choice->known.only_test;
    hu_status st = hu_image_list_path(list, 0, &room, &first);
    if (st == HU_OK) st = hu_sound_spectrum(first, choice, is_known, spectrum);
    hu_scratch_free(&room);
    return st;
}

static void set_fields(const hu_image_choice *choice, int64_t bins, hu_dataset *dataset) {
    const hu_data_known *known = &choice->known;
    int64_t frames = choice->frames > 0 ? choice->frames : USUAL_FRAMES;
    if ((known->files || known->only_test) && known->height > 0) frames = known->height;
    hu_dataset_set_images(dataset, frames, bins, 1, dataset->class_name_count);
    dataset->field[HU_FIELD_IMAGE].type = HU_FIELD_F32;
    dataset->field[HU_FIELD_IMAGE].is_spatial = false;
}

hu_status hu_sounds_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, const hu_image_choice *choice,
                         hu_dataset *dataset) {
    (void)kind;
    bool only_test = choice->known.files || choice->known.only_test;
    hu_image_list train = {0}, test = {0};
    hu_spectrum spectrum = {0};
    hu_status st;
    HU_TRY(list_files(directory, limits, choice, &train, &test, dataset));
    HU_TRY(make_spectrum(only_test ? &test : &train, choice, &spectrum));
    set_fields(choice, spectrum.bins, dataset);
    if (!only_test) HU_TRY(fill_half(&train, &spectrum, 0, dataset));
    HU_TRY(fill_half(&test, &spectrum, 1, dataset));
    if (only_test) {
        dataset->train = dataset->test;
        dataset->train.files = NULL; /* the test half closes them */
    }
done:
    hu_image_list_free(&train);
    hu_image_list_free(&test);
    hu_spectrum_free(&spectrum);
    return st;
}
