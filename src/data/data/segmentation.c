#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/augment.h"
#include "data/class_names.h"
#include "data/directory.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "media/image_files.h"

/* ---- dense ---- */

/* dense:DIR - pictures with a label map each: DIR/train/NAME.jpg with DIR/trainannot/NAME.png, and
 * the same of test (or val); DIR/classes.txt may say what the classes are called. */

enum {
    MASK = 1,
    FIELDS = 2,
    BYTES = 256,
    FIRST_OWNED_OF_TEST = 4,
    FIELDS_OF_TEST = 6,
    LIST_BYTES = 128
};

typedef struct dense_reader {
    hu_reader reader;
    char *pictures, *maps;      /* folders */
    hu_file_names names;        /* of pictures */
    hu_skipped_files left;      /* what lies beside them */
    hu_scene_size size, window; /* of a picture, and what of it is seen */
    uint8_t meaning[BYTES];     /* of the numbers in maps: class, or HU_UNLABELLED_BYTE */
    bool is_known[BYTES];       /* numbers that may stand there */
} dense_reader;

static void close_dense(hu_reader *reader) {
    dense_reader *dense = (dense_reader *)reader;
    hu_free(dense->pictures);
    hu_free(dense->maps);
    hu_file_names_free(&dense->names);
    hu_free(dense);
}

/* Owner frees map->labels and *path, also on failure. */
static hu_status decode_map(const dense_reader *dense, int64_t index, char **path,
                            hu_label_map *map) {
    hu_status st;
    uint8_t *data = NULL;
    size_t bytes;
    *map = (hu_label_map){0};
    HU_TRY(hu_scene_partner(dense->maps, dense->names.name[index], ".png", path));
    HU_TRY(hu_file_read_plain(*path, HU_IMAGE_FILE_MAX, &data, &bytes));
    HU_TRY(hu_label_map_decode(*path, data, bytes, map));
done:
    hu_free(data);
    return st;
}

/* Numbers are the classes, or data.labels says which are. */
static hu_status choose_meaning(const hu_image_choice *choice, dense_reader *dense) {
    bool has_list = choice->label_count > 0;
    for (int b = 0; b < BYTES; b++) {
        dense->meaning[b] = has_list ? HU_UNLABELLED_BYTE : (uint8_t)b;
        dense->is_known[b] = !has_list;
    }
    dense->is_known[HU_UNLABELLED_BYTE] = true;
    for (int c = 0; c < choice->label_count; c++) {
        if (choice->unlabelled == choice->labels[c] + 1)
            return hu_fail(HU_ERR_ARGUMENT,
                           "data.labels: found %d, which data.unlabelled says is no class",
                           choice->labels[c]);
        dense->meaning[choice->labels[c]] = (uint8_t)c;
        dense->is_known[choice->labels[c]] = true;
    }
    if (choice->unlabelled == 0) return HU_OK;
    dense->meaning[choice->unlabelled - 1] = HU_UNLABELLED_BYTE;
    dense->is_known[choice->unlabelled - 1] = true;
    return HU_OK;
}

static hu_status read_dense(const hu_reader *reader, const hu_reading_change *change, int64_t index,
                            hu_image_scratch *room, uint8_t *sample) {
    const dense_reader *dense = (const dense_reader *)reader;
    char *picture = NULL, *path = NULL;
    hu_label_map map = {0};
    hu_image file;
    hu_status st;
    char seen[HU_IMAGE_SEEN_BYTES];
    uint8_t *labels = sample + dense->reader.start[MASK];
    hu_scene_crop crop = hu_scene_random_crop(change, index, &dense->size, &dense->window);
    HU_TRY(hu_path_join(dense->pictures, dense->names.name[index], &picture));
    HU_TRY(hu_scene_read_crop(picture, &dense->size, &crop, room, sample, &file));
    HU_TRY(decode_map(dense, index, &path, &map));
    if (map.width != file.width || map.height != file.height)
        HU_TRY(hu_fail(HU_ERR_CORRUPT,
                       "%s: found a label map of %lldx%lld pixels, expected %lldx%lld as its "
                       "picture has%s",
                       path, (long long)map.width, (long long)map.height, (long long)file.width,
                       (long long)file.height, hu_image_seen(&file, seen)));
    for (int64_t i = 0; i < map.height * map.width; i++)
        map.labels[i] = dense->meaning[map.labels[i]];
    hu_scene_take_labels(&map, &crop, labels);
done:
    hu_free(map.labels);
    hu_free(picture);
    hu_free(path);
    return st;
}

static hu_status tell_file(const hu_reader *reader, int64_t index, hu_sample_file *file) {
    const dense_reader *dense = (const dense_reader *)reader;
    return hu_path_join(dense->pictures, dense->names.name[index], &file->path);
}

/* Pictures and their maps in turn. */
static hu_status list_file(const hu_reader *reader, int64_t i, char **path) {
    const dense_reader *dense = (const dense_reader *)reader;
    *path = NULL;
    if (i / 2 >= (int64_t)dense->names.count) return HU_OK;
    const char *name = dense->names.name[i / 2];
    return i % 2 ? hu_scene_partner(dense->maps, name, ".png", path)
                 : hu_path_join(dense->pictures, name, path);
}

/* ---- which classes there are ---- */

typedef struct class_search {
    const dense_reader *dense;
    _Atomic bool has[BYTES];   /* classes of the training maps */
    _Atomic bool found[BYTES]; /* numbers of the maps that were looked at */
    const char *test_lacking;  /* not NULL: a class that training lacks is an error */
} class_search;

static hu_status look_at(void *context, int64_t index) {
    class_search *search = context;
    bool found[BYTES] = {false};
    const dense_reader *dense = search->dense;
    hu_label_map map;
    char *path = NULL;
    hu_status st;
    HU_TRY(decode_map(search->dense, index, &path, &map));
    for (int64_t i = 0; i < map.width * map.height; i++) found[map.labels[i]] = true;
    for (int byte = 0; byte < BYTES; byte++) {
        if (!found[byte]) continue;
        search->found[byte] = true;
        if (!dense->is_known[byte])
            HU_TRY(hu_fail(HU_ERR_CORRUPT,
                           "%s: found the number %d, which is neither in data.labels nor "
                           "data.unlabelled",
                           path, byte));
        uint8_t class_number = dense->meaning[byte];
        if (class_number == HU_UNLABELLED_BYTE || search->has[class_number]) continue;
        if (search->test_lacking)
            HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found class %d, which no map in %s has", path,
                           class_number, search->test_lacking));
        search->has[class_number] = true;
    }
done:
    hu_free(map.labels);
    hu_free(path);
    return st;
}

/* Those of a model, by number: other maps must have no more. */
static hu_status check_known(const dense_reader *test, int64_t classes) {
    class_search search = {.dense = test, .test_lacking = "the training of the run"};
    for (int64_t c = 0; c < classes; c++) search.has[c] = true;
    return hu_data_each((int64_t)test->names.count, look_at, &search);
}

/* "[0,127,255]": the numbers of the maps, as data.labels would have them. */
static const char *list_found(const class_search *search, char *text, size_t capacity) {
    size_t used = (size_t)snprintf(text, capacity, "[");
    for (int b = 0; b < BYTES && used < capacity; b++)
        if (search->found[b])
            used += (size_t)snprintf(text + used, capacity - used, "%s%d", used > 1 ? "," : "", b);
    if (used < capacity) snprintf(text + used, capacity - used, "]");
    return text;
}

static hu_status fail_few(const class_search *search, int64_t classes) {
    char list[LIST_BYTES];
    bool has_white = search->found[HU_UNLABELLED_BYTE] &&
                     search->dense->meaning[HU_UNLABELLED_BYTE] == HU_UNLABELLED_BYTE;
    return hu_fail(
        HU_ERR_CORRUPT, "%s: found labels of %lld class%s, expected at least 2%s%s%s",
        search->dense->maps, (long long)classes, classes == 1 ? "" : "es",
        has_white ? "; 255 means unlabelled, as usual: where it is a class, data.labels=" : "",
        has_white ? list_found(search, list, sizeof list) : "", has_white ? " says so" : "");
}

/* Black and white maps, or those that colours were made numbers of, have few numbers far apart. */
static hu_status note_gaps(const class_search *search, int64_t classes, char **note) {
    char list[LIST_BYTES];
    int64_t seen = 0;
    for (int64_t c = 0; c < classes; c++) seen += search->has[c];
    if (2 * seen >= classes) return HU_OK;
    return hu_note(note,
                   "%s: %lld of %lld classes have no pixel: numbers in label maps are classes from "
                   "0 on, and 255 is unlabelled; data.labels=%s makes those that are there classes "
                   "0 to %lld",
                   search->dense->maps, (long long)(classes - seen), (long long)classes,
                   list_found(search, list, sizeof list),
                   (long long)(seen - 1 + search->found[HU_UNLABELLED_BYTE]));
}

static hu_status find_classes(const dense_reader *train, const dense_reader *test, int64_t *classes,
                              char **note) {
    class_search search = {.dense = train};
    hu_status st = hu_data_each((int64_t)train->names.count, look_at, &search);
    if (st != HU_OK) return st;
    *classes = HU_UNLABELLED_BYTE;
    while (*classes > 0 && !search.has[*classes - 1]) --*classes;
    if (*classes < 2) return fail_few(&search, *classes);
    st = note_gaps(&search, *classes, note);
    if (st != HU_OK) return st;
    search.dense = test;
    search.test_lacking = train->maps;
    return hu_data_each((int64_t)test->names.count, look_at, &search);
}

/* ---- opening ---- */

bool hu_dense_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    return hu_has_folder(directory, "train") && hu_has_folder(directory, "trainannot");
}

/* The names of a half. Owner closes the reader, also on failure. */
static hu_status open_half(const char *directory, const char *half, const hu_image_choice *choice,
                           dense_reader **made) {
    hu_status st;
    char maps[32];
    HU_TRY(HU_NEW(made));
    dense_reader *dense = *made;
    dense->reader.close = close_dense;
    dense->reader.read = read_dense;
    dense->reader.tell = tell_file;
    dense->reader.list = list_file;
    HU_TRY(choose_meaning(choice, dense));
    strcpy(maps, half);
    HU_TRY(hu_path_join(directory, half, &dense->pictures));
    HU_TRY(hu_path_join(directory, strcat(maps, "annot"), &dense->maps));
    HU_TRY(hu_file_names_of_images_counted(dense->pictures, &dense->names, &dense->left));
    if (dense->names.count == 0)
        HU_TRY(
            hu_fail(HU_ERR_CORRUPT, "%s: found no image (" HU_IMAGE_ENDINGS ")", dense->pictures));
done:
    return st;
}

/* DIR/test, or DIR/val. */
static hu_status open_test(const char *directory, const hu_image_choice *choice,
                           dense_reader **made) {
    const char *half;
    hu_status st = hu_test_split(directory, &half);
    return st == HU_OK ? open_half(directory, half, choice, made) : st;
}

/* Classes are those of all maps, so that a limit does not change what is learned. */
static void limit_to(dense_reader *dense, int64_t limit) {
    dense->names.count = (size_t)hu_limited((int64_t)dense->names.count, limit);
}

/* A sample is a window of a picture and the labels of its pixels. */
static void set_sample(dense_reader *dense, const hu_scene_size *size,
                       const hu_scene_size *window) {
    size_t pixels = (size_t)(window->height * window->width);
    dense->size = *size;
    dense->window = *window;
    dense->reader.reads[HU_FIELD_IMAGE] = dense->reader.reads[MASK] = true;
    dense->reader.start[MASK] = pixels * HU_IMAGE_CHANNELS;
    dense->reader.sample_bytes = pixels * (HU_IMAGE_CHANNELS + 1);
}

static bool is_cut(const hu_image_choice *choice) {
    return choice->crop > 0 || choice->most_scale > 0.0;
}

/* The window of training: a square, or as large as the pictures. */
static hu_status choose_window(const hu_image_choice *c, const hu_scene_size *size,
                               hu_scene_size *window) {
    double most = c->most_scale > 0.0 ? c->most_scale : 1.0;
    int64_t longer = size->height > size->width ? size->height : size->width;
    *window = *size;
    if (c->crop == 0) return HU_OK;
    if (c->crop < 0 || (double)c->crop > most * (double)longer)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.crop: found %lld, expected 0 to %lld: pictures are %lldx%lld, at most "
                       "%g times as large in training",
                       (long long)c->crop, (long long)(most * (double)longer),
                       (long long)size->width, (long long)size->height, most);
    window->height = window->width = c->crop;
    return HU_OK;
}

static void set_fields(const dense_reader *dense, hu_field *field) {
    field[HU_FIELD_IMAGE].extent[0] = field[MASK].extent[0] = dense->window.height;
    field[HU_FIELD_IMAGE].extent[1] = field[MASK].extent[1] = dense->window.width;
}

/* Where training sees windows, test pictures are whole all the same. */
static hu_status set_test_fields(const dense_reader *test, hu_dataset *dataset) {
    hu_field *field;
    hu_status st = HU_NEW_ARRAY(&field, FIELDS);
    if (st != HU_OK) return st;
    dataset->owned[FIELDS_OF_TEST] = field;
    memcpy(field, dataset->field, FIELDS * sizeof *field);
    set_fields(test, field);
    dataset->test.field = field;
    return HU_OK;
}

/* The size of the first training picture is that of all. */
static hu_status set_size(const hu_image_choice *choice, dense_reader *train, dense_reader *test,
                          hu_dataset *dataset) {
    char *first;
    hu_scene_size size, window;
    hu_status st = hu_path_join(train->pictures, train->names.name[0], &first);
    if (st == HU_OK) st = hu_scene_measure(first, choice->size, false, &size);
    hu_free(first);
    if (st == HU_OK) st = choose_window(choice, &size, &window);
    if (st != HU_OK) return st;
    set_sample(train, &size, &window);
    set_sample(test, &size, &size);
    hu_dataset_set_images(dataset, window.height, window.width, HU_IMAGE_CHANNELS, 0);
    dataset->field[MASK] =
        (hu_field){.name = "mask", .type = HU_FIELD_U8, .rank = 2, .is_spatial = true};
    set_fields(train, dataset->field);
    dataset->field_count = FIELDS;
    if (is_cut(choice)) {
        dataset->augment.least_scale = choice->most_scale > 0.0 ? choice->least_scale : 1.0;
        dataset->augment.most_scale = choice->most_scale > 0.0 ? choice->most_scale : 1.0;
    }
    return HU_OK;
}

/* How many classes there are, and what they are called. */
static hu_status name_classes(const char *directory, const hu_data_known *known,
                              const dense_reader *train, const dense_reader *test,
                              hu_dataset *dataset) {
    hu_status st;
    int64_t *classes = &dataset->field[MASK].classes;
    if (known->only_test) {
        *classes = known->classes;
        HU_TRY(check_known(test, *classes));
    } else {
        HU_TRY(find_classes(train, test, classes, &dataset->note));
    }
    if (known->only_test && known->class_names) {
        HU_TRY(hu_class_names_compare(directory, known->class_names, *classes));
        HU_TRY(hu_class_names_copy(known->class_names, *classes, &dataset->class_names));
    } else {
        HU_TRY(hu_class_names_read(directory, *classes, &dataset->class_names));
    }
    if (dataset->class_names) dataset->class_name_count = *classes;
done:
    return st;
}

/* Gives the reader to a split of the data set. */
static void give(dense_reader *dense, uint64_t memory, hu_split *split) {
    dense->reader.memory_bytes = memory;
    *split = (hu_split){.count = (int64_t)dense->names.count, .reader = &dense->reader};
}

hu_status hu_dense_open(const hu_data_kind *kind, const char *directory,
                        const hu_data_limits *limits, const hu_image_choice *choice,
                        hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    const hu_data_known *known = &choice->known;
    dense_reader *train = NULL, *test = NULL;
    if (known->only_test)
        HU_TRY(open_test(directory, choice, &train));
    else
        HU_TRY(open_half(directory, "train", choice, &train));
    HU_TRY(open_test(directory, choice, &test));
    if (!known->only_test) hu_skipped_files_add(&test->left, &train->left);
    HU_TRY(hu_note_left(&dataset->note, directory, &test->left));
    HU_TRY(set_size(choice, train, test, dataset));
    HU_TRY(name_classes(directory, known, train, test, dataset));
    limit_to(train, limits->train);
    limit_to(test, limits->test);
    /* A window is drawn anew in every epoch: it cannot be kept. */
    hu_keeping k = hu_keeping_decide(
        choice->memory, is_cut(choice) || known->only_test ? -1 : (int64_t)train->names.count,
        (int64_t)test->names.count, test->reader.sample_bytes);
    give(train, k.memory, &dataset->train);
    give(test, k.memory, &dataset->test);
    const dense_reader *whole = test;
    train = test = NULL; /* the data set closes them */
    if (choice->crop > 0) HU_TRY(set_test_fields(whole, dataset));
    if (k.keeps_train) HU_TRY(hu_split_keep(dataset, dataset->owned, &dataset->train));
    if (k.keeps_test)
        HU_TRY(hu_split_keep(dataset, dataset->owned + FIRST_OWNED_OF_TEST, &dataset->test));
done:
    if (train) close_dense(&train->reader);
    if (test) close_dense(&test->reader);
    return st;
}
