/* boxes:DIR - pictures with boxes in the layout of PASCAL VOC: DIR/ImageSets/Main/train.txt and
 * test.txt (or val.txt) name them, DIR/JPEGImages and DIR/Annotations hold them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/box_field.h"
#include "data/class_names.h"
#include "data/each.h"
#include "data/kind.h"
#include "data/scenes.h"
#include "data/voc.h"

enum { BOXES = 1, FIELDS = 2, LIST_LIMIT = 1 << 30, XML_LIMIT = 1 << 26 };
enum { OF_TRAIN, BOXES_OF_TRAIN, LENGTHS_OF_TRAIN, OF_TEST, BOXES_OF_TEST, LENGTHS_OF_TEST };

typedef struct boxes_reader {
    hu_reader reader;
    char *pictures, *annotations; /* folders */
    char *text;                   /* the list, its names ended by zeros */
    char **name;                  /* [count], into text */
    int64_t count, used;          /* used: as many as the limit leaves; classes are those of all */
    hu_scene_size size;
    hu_voc *voc;       /* [count], until the boxes are packed */
    int32_t *declared; /* [count, 2] width and height of the pictures as the XML has them */
} boxes_reader;

static void free_annotations(boxes_reader *half) {
    for (int64_t i = 0; half->voc && i < half->count; i++) hu_free(half->voc[i].box);
    hu_free(half->voc);
    half->voc = NULL;
}

static void close_boxes(hu_reader *reader) {
    boxes_reader *half = (boxes_reader *)reader;
    free_annotations(half);
    hu_free(half->pictures);
    hu_free(half->annotations);
    hu_free(half->text);
    hu_free(half->name);
    hu_free(half->declared);
    hu_free(half);
}

/* The path of a picture, whatever its ending. Owner frees. */
static hu_status find_picture(const boxes_reader *half, int64_t index, char **path) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        char file[1024];
        if (strlen(half->name[index]) + strlen(endings[e]) >= sizeof file) break;
        strcat(strcpy(file, half->name[index]), endings[e]);
        hu_status st = hu_path_join(half->pictures, file, path);
        if (st != HU_OK || hu_file_exists(*path)) return st;
        hu_free(*path);
    }
    *path = NULL;
    return hu_fail(HU_ERR_CORRUPT, "%s: found no picture %.64s.jpg (.jpeg, .png)", half->pictures,
                   half->name[index]);
}

static hu_status read_picture(const hu_reader *reader, const hu_reading_change *change,
                              int64_t index, hu_image_room *room, uint8_t *sample) {
    const boxes_reader *half = (const boxes_reader *)reader;
    const int32_t *declared = half->declared + 2 * index;
    char *path = NULL;
    hu_image file;
    hu_status st;
    (void)change;
    HU_TRY(find_picture(half, index, &path));
    HU_TRY(hu_scene_read(path, &half->size, room, sample, &file));
    if (file.width != declared[0] || file.height != declared[1])
        HU_TRY(hu_fail(HU_ERR_CORRUPT,
                       "%s: found %lldx%lld pixels, expected %dx%d as %s/%s.xml has", path,
                       (long long)file.width, (long long)file.height, (int)declared[0],
                       (int)declared[1], half->annotations, half->name[index]));
done:
    hu_free(path);
    return st;
}

/* ---- the list and the annotations ---- */

static bool ends_name(char c) {
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* The first word of every line that has one: lists of single classes have a mark behind it. */
static hu_status split_names(boxes_reader *half, size_t bytes) {
    size_t capacity = 0;
    char *text = half->text, *end = text + bytes;
    while (text < end) {
        char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (!line_end) line_end = end;
        while (text < line_end && ends_name(*text)) text++;
        char *name = text;
        while (text < line_end && !ends_name(*text)) text++;
        if (text > name) {
            hu_status st = hu_grow(&half->name, (size_t)half->count, &capacity, sizeof *half->name);
            if (st != HU_OK) return st;
            half->name[half->count++] = name;
        }
        *text = '\0'; /* there is one byte behind the end */
        text = line_end + 1;
    }
    return HU_OK;
}

static hu_status read_list(boxes_reader *half, const char *path) {
    hu_status st;
    uint8_t *data = NULL;
    size_t bytes;
    HU_TRY(hu_file_read_plain(path, LIST_LIMIT, &data, &bytes));
    HU_TRY(hu_strndup((const char *)data, bytes, &half->text));
    HU_TRY(split_names(half, strlen(half->text)));
    if (half->count == 0) HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no name of a picture", path));
done:
    hu_free(data);
    return st;
}

/* A picture without boxes teaches nothing; lists of VOC have none. */
static hu_status read_annotation(void *context, int64_t index) {
    boxes_reader *half = context;
    char file[1024], *path = NULL;
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st = HU_OK;
    if (strlen(half->name[index]) + sizeof ".xml" > sizeof file)
        return hu_fail(HU_ERR_CORRUPT, "%s: found a name of %zu letters", half->annotations,
                       strlen(half->name[index]));
    HU_TRY(hu_path_join(half->annotations, strcat(strcpy(file, half->name[index]), ".xml"), &path));
    HU_TRY(hu_file_read_plain(path, XML_LIMIT, &data, &bytes));
    HU_TRY(hu_voc_read(path, data, bytes, &half->voc[index]));
    half->declared[2 * index] = (int32_t)half->voc[index].width;
    half->declared[2 * index + 1] = (int32_t)half->voc[index].height;
    if (half->voc[index].count == 0)
        HU_TRY(
            hu_fail(HU_ERR_CORRUPT, "%s: found no box with an area, expected at least one", path));
done:
    hu_free(data);
    hu_free(path);
    return st;
}

/* Owner closes the reader, also on failure. */
static hu_status open_half(const char *directory, const char *list, boxes_reader **made) {
    hu_status st;
    char *path = NULL;
    HU_TRY(HU_NEW(made));
    boxes_reader *half = *made;
    half->reader.close = close_boxes;
    half->reader.read = read_picture;
    half->reader.reads[HU_FIELD_IMAGE] = true;
    HU_TRY(hu_path_join(directory, "JPEGImages", &half->pictures));
    HU_TRY(hu_path_join(directory, "Annotations", &half->annotations));
    HU_TRY(hu_path_join(directory, list, &path));
    HU_TRY(read_list(half, path));
    HU_TRY(HU_NEW_ARRAY(&half->voc, (size_t)half->count));
    HU_TRY(HU_NEW_ARRAY(&half->declared, 2 * (size_t)half->count));
    HU_TRY(hu_data_each(half->count, read_annotation, half));
done:
    hu_free(path);
    return st;
}

static const char train_list[] = "ImageSets/Main/train.txt";

/* test.txt, or val.txt: the test part of VOC is not public in all years. */
static hu_status open_test(const char *directory, boxes_reader **made) {
    static const char test[] = "ImageSets/Main/test.txt", val[] = "ImageSets/Main/val.txt";
    char *path;
    hu_status st = hu_path_join(directory, test, &path);
    if (st != HU_OK) return st;
    const char *list = hu_file_exists(path) ? test : val;
    hu_free(path);
    return open_half(directory, list, made);
}

bool hu_boxes_available(const hu_data_kind *kind, const char *directory) {
    char *path;
    (void)kind;
    if (hu_path_join(directory, train_list, &path) != HU_OK) return false;
    bool has = hu_file_exists(path);
    hu_free(path);
    return has;
}

/* ---- classes ---- */

typedef const char *class_name;

static int compare(const void *a, const void *b) {
    return strcmp(*(const class_name *)a, *(const class_name *)b);
}

/* The names of all training boxes, sorted byte by byte, each once; owner frees. They lie in the
 * annotations. */
static hu_status list_classes(const boxes_reader *train, class_name **names, size_t *count) {
    size_t boxes = 0, kept = 0;
    *names = NULL;
    *count = 0;
    for (int64_t i = 0; i < train->count; i++) boxes += train->voc[i].count;
    hu_status st = HU_NEW_ARRAY(names, boxes);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < train->count; i++)
        for (size_t b = 0; b < train->voc[i].count; b++)
            (*names)[(*count)++] = train->voc[i].box[b].name;
    qsort(*names, *count, sizeof **names, compare);
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || strcmp((*names)[kept - 1], (*names)[i]) != 0)
            (*names)[kept++] = (*names)[i];
    *count = kept;
    return HU_OK;
}

/* ---- boxes as a field ---- */

static int64_t longest(const boxes_reader *half) {
    size_t most = 0;
    for (int64_t i = 0; i < half->used; i++)
        if (half->voc[i].count > most) most = half->voc[i].count;
    return (int64_t)most;
}

/* row [count of voc, 5]; HU_ERR_CORRUPT for a class that training lacks. */
static hu_status pack(const boxes_reader *half, int64_t index, const class_name *names,
                      size_t classes, float *row) {
    const hu_voc *voc = &half->voc[index];
    for (size_t b = 0; b < voc->count; b++, row += HU_BOX_NUMBERS) {
        const hu_voc_box *box = &voc->box[b];
        class_name name = box->name;
        const class_name *found = bsearch(&name, names, classes, sizeof *names, compare);
        if (!found)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s/%s.xml: found class '%s', which no training picture has",
                           half->annotations, half->name[index], name);
        row[HU_BOX_X1] = (float)(box->x1 / (double)voc->width);
        row[HU_BOX_Y1] = (float)(box->y1 / (double)voc->height);
        row[HU_BOX_X2] = (float)(box->x2 / (double)voc->width);
        row[HU_BOX_Y2] = (float)(box->y2 / (double)voc->height);
        row[HU_BOX_CLASS] = (float)(found - names);
    }
    return HU_OK;
}

/* rows [count, most, 5] and lengths [count] go to owned[0] and owned[1]. */
static hu_status pack_half(const boxes_reader *half, const class_name *names, size_t classes,
                           int64_t most, void **owned) {
    hu_status st;
    HU_TRY(hu_alloc_array((size_t)(half->used * most), HU_BOX_NUMBERS * sizeof(float), &owned[0]));
    HU_TRY(hu_alloc_array((size_t)half->used, sizeof(int32_t), &owned[1]));
    float *rows = owned[0];
    int32_t *length = owned[1];
    for (int64_t i = 0; i < half->used; i++) {
        HU_TRY(pack(half, i, names, classes, rows + i * most * HU_BOX_NUMBERS));
        length[i] = (int32_t)half->voc[i].count;
    }
done:
    return st;
}

/* ---- opening ---- */

static void set_size(boxes_reader *half, const hu_scene_size *size) {
    half->size = *size;
    half->reader.sample_bytes = (size_t)(size->height * size->width * HU_IMAGE_CHANNELS);
}

/* The size of the first training picture is that of all. */
static hu_status set_fields(const hu_image_choice *choice, boxes_reader *train, boxes_reader *test,
                            hu_dataset *dataset) {
    char *first;
    hu_status st = find_picture(train, 0, &first);
    if (st == HU_OK) st = hu_scene_measure(first, choice->size, &train->size);
    hu_free(first);
    if (st != HU_OK) return st;
    int64_t most = longest(train), of_test = longest(test);
    set_size(train, &train->size);
    set_size(test, &train->size);
    hu_dataset_set_images(dataset, train->size.height, train->size.width, HU_IMAGE_CHANNELS, 0);
    dataset->field[BOXES] = (hu_field){.name = "boxes",
                                       .type = HU_FIELD_F32,
                                       .rank = 2,
                                       .extent = {most > of_test ? most : of_test, HU_BOX_NUMBERS},
                                       .is_ragged = true,
                                       .is_boxes = true};
    dataset->field_count = FIELDS;
    return HU_OK;
}

static hu_status make_boxes(const boxes_reader *train, const boxes_reader *test,
                            hu_dataset *dataset) {
    hu_status st;
    class_name *names = NULL;
    size_t classes;
    hu_field *field = &dataset->field[BOXES];
    HU_TRY(list_classes(train, &names, &classes));
    field->classes = (int64_t)classes;
    HU_TRY(hu_class_names_join(names, classes, &dataset->class_names));
    dataset->class_name_count = field->classes;
    HU_TRY(pack_half(train, names, classes, field->extent[0], &dataset->owned[BOXES_OF_TRAIN]));
    HU_TRY(pack_half(test, names, classes, field->extent[0], &dataset->owned[BOXES_OF_TEST]));
done:
    hu_free(names);
    return st;
}

/* Gives the reader to a split of the data set. */
static void give(boxes_reader *half, uint64_t memory, void *const *owned, hu_split *split) {
    free_annotations(half);
    half->reader.memory_bytes = memory;
    *split = (hu_split){.count = half->used,
                        .rows = {[BOXES] = owned[0]},
                        .length = {[BOXES] = owned[1]},
                        .reader = &half->reader};
}

hu_status hu_boxes_open(const char *directory, const hu_data_limits *limits,
                        const hu_image_choice *choice, hu_dataset *dataset) {
    hu_status st;
    boxes_reader *train = NULL, *test = NULL;
    void **owned = dataset->owned;
    HU_TRY(open_half(directory, train_list, &train));
    HU_TRY(open_test(directory, &test));
    train->used = hu_limited(train->count, limits->train);
    test->used = hu_limited(test->count, limits->test);
    HU_TRY(set_fields(choice, train, test, dataset));
    HU_TRY(make_boxes(train, test, dataset));
    hu_keeping k =
        hu_keeping_decide(choice->memory, train->used, test->used, train->reader.sample_bytes);
    give(train, k.memory, &owned[BOXES_OF_TRAIN], &dataset->train);
    give(test, k.memory, &owned[BOXES_OF_TEST], &dataset->test);
    train = test = NULL; /* the data set closes them */
    if (k.keeps_train) HU_TRY(hu_split_keep(dataset, &owned[OF_TRAIN], &dataset->train));
    if (k.keeps_test) HU_TRY(hu_split_keep(dataset, &owned[OF_TEST], &dataset->test));
done:
    if (train) close_boxes(&train->reader);
    if (test) close_boxes(&test->reader);
    return st;
}
