#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "data/augment.h"
#include "data/box_sample.h"
#include "data/class_names.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "data/voc_xml.h"
#include "media/image.h"

/* ---- boxes ---- */

/* boxes:DIR - pictures with boxes in the layout of PASCAL VOC: DIR/ImageSets/Main/train.txt and
 * test.txt (or val.txt) name them, DIR/JPEGImages and DIR/Annotations hold them. */

enum { BOXES = 1, FIELDS = 2, LIST_LIMIT = 1 << 30, XML_LIMIT = 1 << 26 };
enum {
    OF_TRAIN,
    BOXES_OF_TRAIN,
    LENGTHS_OF_TRAIN,
    OF_TEST,
    BOXES_OF_TEST,
    LENGTHS_OF_TEST,
    FIELDS_OF_TEST
};

typedef struct boxes_reader {
    hu_reader reader;
    char *pictures, *annotations; /* folders; NULL: names are paths, without annotations */
    char *text;                   /* the list, its names ended by zeros */
    char **name;                  /* [count], into text */
    int64_t count, used;          /* used: as many as the limit leaves; classes are those of all */
    bool needs_no_truth;          /* pictures may lack their annotation */
    hu_scene_size size;
    hu_voc *voc; /* [count], until the boxes are packed */
    const float
        *boxes; /* [used, most, 5] and [used] of the data set, where windows are drawn; else NULL */
    const int32_t *length;
    int64_t most;
    int32_t
        *declared; /* [count, 2] width and height of the pictures as the XML has them; 0: none */
    hu_boxes_told *told; /* [count], until they are added up */
} boxes_reader;

static void free_annotations(boxes_reader *half) {
    for (int64_t i = 0; half->voc && i < half->count; i++) hu_free(half->voc[i].box);
    hu_free(half->voc);
    hu_free(half->told);
    half->voc = NULL;
    half->told = NULL;
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
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp",
                                          ".JPG", ".JPEG", ".PNG", ".WEBP"};
    bool is_present = false;
    *path = NULL;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        char file[1024];
        if (!half->pictures) return hu_strdup(half->name[index], path);
        if (strlen(half->name[index]) + strlen(endings[e]) >= sizeof file) break;
        strcat(strcpy(file, half->name[index]), endings[e]);
        hu_status st = hu_path_join(half->pictures, file, path);
        if (st == HU_OK) st = hu_file_find(*path, &is_present);
        if (st == HU_OK && is_present) return st;
        hu_free(*path);
        *path = NULL;
        if (st != HU_OK) return st;
    }
    return hu_fail(HU_ERR_CORRUPT, "%s: found no picture %.64s.jpg (.jpeg, .png, .webp)",
                   half->pictures, half->name[index]);
}

static hu_box_window window_of(const boxes_reader *half, const hu_reading_change *change,
                               int64_t index) {
    const int32_t *declared = half->declared + 2 * index;
    return hu_box_window_draw(change, index, declared[0], declared[1],
                              half->boxes + index * half->most * HU_BOX_NUMBERS,
                              half->length[index]);
}

static void move_boxes(const hu_reader *reader, const hu_reading_change *change, int64_t index,
                       int64_t count, float *moved) {
    const boxes_reader *half = (const boxes_reader *)reader;
    const int32_t *declared = half->declared + 2 * index;
    const float *box = half->boxes + index * half->most * HU_BOX_NUMBERS;
    const hu_box_window window = window_of(half, change, index);
    for (int64_t i = 0; i < count; i++, box += HU_BOX_NUMBERS, moved += HU_BOX_NUMBERS)
        if (!hu_box_window_move(&window, declared[0], declared[1], box, moved)) {
            memset(moved, 0, HU_BOX_NUMBERS * sizeof *moved);
            moved[HU_BOX_CLASS] = (float)HU_UNLABELLED;
        }
}

/* The picture of a file, and a window of it. */
static hu_status read_window(const boxes_reader *half, const hu_reading_change *change,
                             int64_t index, const char *path, hu_image_scratch *room,
                             uint8_t *sample, hu_image *file) {
    hu_status st = half->size.upright ? hu_image_read_upright(path, HU_IMAGE_PIXELS_MAX, room)
                                      : hu_image_read(path, HU_IMAGE_PIXELS_MAX, room);
    if (st != HU_OK) return st;
    *file = (hu_image){.width = room->image.width,
                       .height = room->image.height,
                       .orientation = room->image.orientation};
    const hu_box_window window = window_of(half, change, index);
    return hu_box_window_show(&window, &room->image, half->size.height, half->size.width,
                              &room->resizer, sample);
}

static hu_status read_picture(const hu_reader *reader, const hu_reading_change *change,
                              int64_t index, hu_image_scratch *room, uint8_t *sample) {
    const boxes_reader *half = (const boxes_reader *)reader;
    const int32_t *declared = half->declared + 2 * index;
    char *path = NULL;
    hu_image file;
    hu_status st;
    char seen[HU_IMAGE_SEEN_BYTES];
    HU_TRY(find_picture(half, index, &path));
    if (change->samples)
        HU_TRY(read_window(half, change, index, path, room, sample, &file));
    else
        HU_TRY(hu_scene_read(path, &half->size, room, sample, &file));
    if (declared[0] > 0 && (file.width != declared[0] || file.height != declared[1]))
        HU_TRY(hu_fail(HU_ERR_CORRUPT,
                       "%s: found %lldx%lld pixels%s, expected %dx%d as %s/%s.xml has: it is the "
                       "annotation of another picture, or of this one in another size",
                       path, (long long)file.width, (long long)file.height,
                       hu_image_seen(&file, seen), (int)declared[0], (int)declared[1],
                       half->annotations, half->name[index]));
done:
    hu_free(path);
    return st;
}

/* Pictures without annotation are measured. */
static hu_status tell_file(const hu_reader *reader, int64_t index, hu_sample_file *file) {
    const boxes_reader *half = (const boxes_reader *)reader;
    hu_scene_size size;
    hu_status st = find_picture(half, index, &file->path);
    file->width = half->declared[2 * index];
    file->height = half->declared[2 * index + 1];
    if (st != HU_OK || file->width > 0) return st;
    st = hu_scene_measure(file->path, 0, half->size.upright, &size);
    file->width = size.width;
    file->height = size.height;
    return st;
}

/* What annotations say is in memory. */
static hu_status list_file(const hu_reader *reader, int64_t i, char **path) {
    const boxes_reader *half = (const boxes_reader *)reader;
    *path = NULL;
    return i < half->used ? find_picture(half, i, path) : HU_OK;
}

/* ---- the list and the annotations ---- */

static bool ends_name(char c) {
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* Whether a path leads out of the folder that it begins in. */
static bool leaves_folder(const char *name) {
    if (name[0] == '/') return true;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2])) return true;
    return false;
}

static hu_status add_name(boxes_reader *half, const char *path, size_t line, char *name,
                          size_t *capacity) {
    if (leaves_folder(name))
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: line %zu: found '%.64s', expected the name of a picture in JPEGImages",
                       path, line, name);
    hu_status st = hu_grow(&half->name, (size_t)half->count, capacity, sizeof *half->name);
    if (st == HU_OK) half->name[half->count++] = name;
    return st;
}

/* The first word of every line that has one: lists of single classes have a mark after it. */
static hu_status split_names(boxes_reader *half, const char *path, size_t bytes) {
    size_t capacity = 0;
    char *text = half->text, *end = text + bytes;
    hu_status st = HU_OK;
    for (size_t line = 1; st == HU_OK && text < end; line++) {
        char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (!line_end) line_end = end;
        while (text < line_end && ends_name(*text)) text++;
        char *name = text;
        while (text < line_end && !ends_name(*text)) text++;
        bool is_present = text > name;
        *text = '\0'; /* there is one byte after the end */
        if (is_present) st = add_name(half, path, line, name, &capacity);
        text = line_end + 1;
    }
    return st;
}

static hu_status read_list(boxes_reader *half, const char *path) {
    hu_status st;
    size_t bytes;
    HU_TRY(hu_text_read(path, LIST_LIMIT, &half->text, &bytes));
    HU_TRY(split_names(half, path, bytes));
    if (half->count == 0) HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no name of a picture", path));
done:
    return st;
}

/* The size that the picture itself has, where its annotation says none. */
static hu_status measure_picture(const boxes_reader *half, int64_t index, hu_voc *voc) {
    char *path;
    hu_scene_size size;
    hu_status st = find_picture(half, index, &path);
    if (st == HU_OK) st = hu_scene_measure(path, 0, false, &size);
    hu_free(path);
    if (st != HU_OK) return st;
    voc->width = size.width;
    voc->height = size.height;
    return HU_OK;
}

/* What a picture without boxes teaches, the loss says. */
static hu_status read_annotation(void *context, int64_t index) {
    boxes_reader *half = context;
    char file[1024], *path = NULL;
    uint8_t *data = NULL;
    size_t bytes;
    bool is_present = true;
    hu_status st = HU_OK;
    if (strlen(half->name[index]) + sizeof ".xml" > sizeof file)
        return hu_fail(HU_ERR_CORRUPT, "%s: found a name of %zu letters", half->annotations,
                       strlen(half->name[index]));
    HU_TRY(hu_path_join(half->annotations, strcat(strcpy(file, half->name[index]), ".xml"), &path));
    if (half->needs_no_truth) HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(hu_file_read_plain(path, XML_LIMIT, &data, &bytes));
    hu_voc *voc = &half->voc[index];
    HU_TRY(hu_voc_read(path, data, bytes, voc));
    if (voc->width == 0) HU_TRY(measure_picture(half, index, voc));
    half->declared[2 * index] = (int32_t)voc->width;
    half->declared[2 * index + 1] = (int32_t)voc->height;
    hu_voc_fit(voc, voc->width, voc->height, &half->told[index]);
    half->told[index].renamed = !hu_voc_is_of(voc, half->name[index]);
done:
    hu_free(data);
    hu_free(path);
    return st;
}

/* Owner closes the reader, also on failure. */
static hu_status make_half(const hu_data_known *known, boxes_reader **made) {
    hu_status st = HU_NEW(made);
    if (st != HU_OK) return st;
    boxes_reader *half = *made;
    half->needs_no_truth = known->needs_no_truth;
    half->reader.close = close_boxes;
    half->reader.read = read_picture;
    half->reader.tell = tell_file;
    half->reader.list = list_file;
    half->reader.reads[HU_FIELD_IMAGE] = true;
    return HU_OK;
}

static hu_status make_annotations(boxes_reader *half) {
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&half->voc, (size_t)half->count));
    HU_TRY(HU_NEW_ARRAY(&half->declared, 2 * (size_t)half->count));
    HU_TRY(HU_NEW_ARRAY(&half->told, (size_t)half->count));
done:
    return st;
}

static hu_status open_half(const char *directory, const char *list, const hu_data_known *known,
                           boxes_reader **made) {
    hu_status st;
    char *path = NULL;
    HU_TRY(make_half(known, made));
    boxes_reader *half = *made;
    HU_TRY(hu_path_join(directory, "JPEGImages", &half->pictures));
    HU_TRY(hu_path_join(directory, "Annotations", &half->annotations));
    HU_TRY(hu_path_join(directory, list, &path));
    HU_TRY(read_list(half, path));
    HU_TRY(make_annotations(half));
    HU_TRY(hu_data_each(half->count, read_annotation, half));
done:
    hu_free(path);
    return st;
}

/* Pictures that somebody names, in which nobody has marked anything. */
static hu_status open_files(const hu_data_known *known, boxes_reader **made) {
    hu_status st;
    size_t bytes = 0, at = 0, count = known->file_count;
    HU_TRY(make_half(known, made));
    boxes_reader *half = *made;
    for (size_t i = 0; i < count; i++) bytes += strlen(known->files[i]) + 1;
    HU_TRY(HU_NEW_ARRAY(&half->text, bytes));
    HU_TRY(HU_NEW_ARRAY(&half->name, count));
    for (size_t i = 0; i < count; at += strlen(known->files[i++]) + 1)
        half->name[i] = strcpy(half->text + at, known->files[i]);
    half->count = (int64_t)count;
    st = make_annotations(half);
done:
    return st;
}

static const char train_list[] = "ImageSets/Main/train.txt";

/* test.txt, or val.txt: the test part of VOC is not public in all years. */
static hu_status open_test(const char *directory, const hu_data_known *known, boxes_reader **made) {
    static const char test[] = "ImageSets/Main/test.txt", val[] = "ImageSets/Main/val.txt";
    char *path;
    bool has_test = false;
    if (known->files) return open_files(known, made);
    hu_status st = hu_path_join(directory, test, &path);
    if (st == HU_OK) st = hu_file_find(path, &has_test);
    hu_free(path);
    return st == HU_OK ? open_half(directory, has_test ? test : val, known, made) : st;
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
 * annotations. HU_ERR_CORRUPT: there is no box. */
static hu_status list_classes(const boxes_reader *train, class_name **names, size_t *count) {
    size_t boxes = 0, kept = 0;
    *names = NULL;
    *count = 0;
    for (int64_t i = 0; i < train->count; i++) boxes += train->voc[i].count;
    if (boxes == 0)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found no box with an area in %lld annotations of training pictures, "
                       "expected at least one",
                       train->annotations, (long long)train->count);
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

/* At least 1: a field has room for something. */
static int64_t longest(const boxes_reader *half) {
    size_t most = 1;
    for (int64_t i = 0; i < half->used; i++)
        if (half->voc[i].count > most) most = half->voc[i].count;
    return (int64_t)most;
}

/* row [at most `most`, 5]; HU_ERR_CORRUPT for a class that is none of the data set's. */
static hu_status pack(const boxes_reader *half, const hu_class_index *classes, int64_t index,
                      int64_t most, float *row) {
    char where[512];
    const hu_voc *voc = &half->voc[index];
    snprintf(where, sizeof where, "%s/%s.xml", half->annotations ? half->annotations : "",
             half->name[index]);
    for (size_t b = 0; b < voc->count && b < (size_t)most; b++, row += HU_BOX_NUMBERS) {
        const hu_voc_box *box = &voc->box[b];
        int64_t number;
        hu_status st = hu_class_index_expect(classes, where, box->name, &number);
        if (st != HU_OK) return st;
        row[HU_BOX_X1] = (float)(box->x1 / (double)voc->width);
        row[HU_BOX_Y1] = (float)(box->y1 / (double)voc->height);
        row[HU_BOX_X2] = (float)(box->x2 / (double)voc->width);
        row[HU_BOX_Y2] = (float)(box->y2 / (double)voc->height);
        row[HU_BOX_CLASS] = (float)(box->is_difficult ? HU_BOX_DIFFICULT - number : number);
    }
    return HU_OK;
}

/* rows [count, most, 5] and lengths [count] go to owned[0] and owned[1]. */
static hu_status pack_half(const boxes_reader *half, const hu_dataset *dataset, int64_t most,
                           void **owned) {
    hu_status st;
    hu_class_index classes = {0};
    HU_TRY(hu_alloc_array((size_t)(half->used * most), HU_BOX_NUMBERS * sizeof(float), &owned[0]));
    HU_TRY(hu_alloc_array((size_t)half->used, sizeof(int32_t), &owned[1]));
    HU_TRY(hu_class_index_create(dataset->class_names, dataset->class_name_count, &classes));
    float *rows = owned[0];
    int32_t *length = owned[1];
    for (int64_t i = 0; i < half->used; i++) {
        int64_t count = (int64_t)half->voc[i].count;
        HU_TRY(pack(half, &classes, i, most, rows + i * most * HU_BOX_NUMBERS));
        length[i] = (int32_t)(count < most ? count : most);
    }
done:
    hu_class_index_free(&classes);
    return st;
}

/* ---- opening ---- */

static void set_size(boxes_reader *half, const hu_scene_size *size) {
    half->size = *size;
    half->reader.sample_bytes = (size_t)(size->height * size->width * HU_IMAGE_CHANNELS);
}

/* The size of the first training picture is that of all, or the one that a model knows. */
static hu_status measure(const hu_image_choice *choice, const boxes_reader *train,
                         hu_scene_size *size) {
    const hu_data_known *known = &choice->known;
    char *first;
    *size = (hu_scene_size){known->height, known->width, true, !train->pictures};
    if (known->only_test && known->height > 0) return HU_OK;
    hu_status st = find_picture(train, 0, &first);
    if (st == HU_OK) st = hu_scene_measure(first, choice->size, !train->pictures, size);
    hu_free(first);
    return st;
}

/* Pictures with more boxes than the model was trained on have fields of their own: they change
 * nothing of a network. */
static hu_status set_test_fields(int64_t most, hu_dataset *dataset) {
    hu_field *field;
    if (most <= dataset->field[BOXES].extent[0]) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&field, FIELDS);
    if (st != HU_OK) return st;
    dataset->owned[FIELDS_OF_TEST] = field;
    memcpy(field, dataset->field, FIELDS * sizeof *field);
    field[BOXES].extent[0] = most;
    dataset->test.field = field;
    return HU_OK;
}

static hu_status set_fields(const hu_image_choice *choice, boxes_reader *train, boxes_reader *test,
                            hu_dataset *dataset) {
    hu_scene_size size;
    const hu_data_known *known = &choice->known;
    hu_status st = measure(choice, train, &size);
    if (st != HU_OK) return st;
    int64_t most = longest(train), of_test = longest(test);
    if (known->boxes == 0 && of_test > most) most = of_test;
    if (known->boxes > 0 && (known->only_test || most < known->boxes)) most = known->boxes;
    set_size(train, &size);
    set_size(test, &size);
    hu_dataset_set_images(dataset, size.height, size.width, HU_IMAGE_CHANNELS, 0);
    dataset->field[BOXES] = (hu_field){.name = "boxes",
                                       .type = HU_FIELD_F32,
                                       .rank = 2,
                                       .extent = {most, HU_BOX_NUMBERS},
                                       .is_ragged = true,
                                       .is_boxes = true};
    dataset->field_count = FIELDS;
    return set_test_fields(of_test, dataset);
}

/* Those of training, or those that a model knows. */
static hu_status name_classes(const hu_data_known *known, const boxes_reader *train,
                              hu_dataset *dataset) {
    class_name *names = NULL;
    size_t classes = 0;
    hu_status st = HU_OK;
    if (known->only_test) {
        HU_TRY(hu_class_names_copy(known->class_names, known->classes, &dataset->class_names));
        classes = (size_t)known->classes;
    } else {
        HU_TRY(list_classes(train, &names, &classes));
        HU_TRY(hu_class_names_join(names, classes, &dataset->class_names));
    }
    dataset->class_name_count = (int64_t)classes;
done:
    hu_free(names);
    return st;
}

static hu_status make_boxes(const hu_data_known *known, const boxes_reader *train,
                            const boxes_reader *test, hu_dataset *dataset) {
    hu_status st;
    hu_field *field = &dataset->field[BOXES];
    int64_t of_test = hu_dataset_fields(dataset, HU_SPLIT_TEST)[BOXES].extent[0];
    HU_TRY(name_classes(known, train, dataset));
    field->classes = dataset->class_name_count;
    if (dataset->test.field)
        ((hu_field *)dataset->owned[FIELDS_OF_TEST])[BOXES].classes = field->classes;
    HU_TRY(pack_half(train, dataset, field->extent[0], &dataset->owned[BOXES_OF_TRAIN]));
    HU_TRY(pack_half(test, dataset, of_test, &dataset->owned[BOXES_OF_TEST]));
done:
    return st;
}

/* Of all pictures, not those of a limit alone: classes are theirs, too. */
static void tell_boxes(const boxes_reader *half, hu_boxes_told *told) {
    for (int64_t i = 0; i < half->count; i++) {
        told->boxes += half->told[i].boxes;
        told->cut += half->told[i].cut;
        told->empty += half->told[i].empty;
        told->turned += half->told[i].turned;
        told->renamed += half->told[i].renamed;
    }
}

/* Windows are of the sizes that annotations say, and are drawn anew in every epoch. */
static hu_status draw_windows(boxes_reader *half, void *const *owned, hu_dataset *dataset) {
    half->boxes = owned[0];
    half->length = owned[1];
    half->most = dataset->field[BOXES].extent[0];
    half->reader.move_boxes = move_boxes;
    dataset->augment.box_samples = true;
    for (int64_t i = 0; i < half->used; i++)
        if (half->declared[2 * i] < 1)
            return hu_fail(
                HU_ERR_CORRUPT,
                "%s/%s.xml: found no size of the picture, expected one: data.box_samples",
                half->annotations ? half->annotations : "", half->name[i]);
    if (!half->size.resizes)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.box_samples: found data.size=0, expected a size that windows are made "
                       "to");
    return HU_OK;
}

/* Gives the reader to a split of the data set. */
static void give(boxes_reader *half, uint64_t memory, void *const *owned, hu_split *split) {
    free_annotations(half);
    half->reader.memory_bytes = memory;
    *split = (hu_split){.field = split->field,
                        .count = half->used,
                        .rows = {[BOXES] = owned[0]},
                        .length = {[BOXES] = owned[1]},
                        .reader = &half->reader};
}

hu_status hu_boxes_open(const hu_data_kind *kind, const char *directory,
                        const hu_data_limits *limits, const hu_image_choice *choice,
                        hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    const hu_data_known *known = &choice->known;
    boxes_reader *train = NULL, *test = NULL;
    void **owned = dataset->owned;
    if (known->only_test)
        HU_TRY(open_test(directory, known, &train));
    else
        HU_TRY(open_half(directory, train_list, known, &train));
    HU_TRY(open_test(directory, known, &test));
    train->used = hu_limited(train->count, known->files ? 0 : limits->train);
    test->used = hu_limited(test->count, known->files ? 0 : limits->test);
    HU_TRY(set_fields(choice, train, test, dataset));
    HU_TRY(make_boxes(known, train, test, dataset));
    if (!known->only_test) tell_boxes(train, &dataset->boxes[0]);
    tell_boxes(test, &dataset->boxes[1]);
    bool samples = choice->box_samples && !known->only_test;
    if (samples) HU_TRY(draw_windows(train, &owned[BOXES_OF_TRAIN], dataset));
    hu_keeping k = hu_keeping_decide(choice->memory, known->only_test || samples ? -1 : train->used,
                                     test->used, train->reader.sample_bytes);
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
