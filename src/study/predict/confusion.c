#include "predict/confusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_files.h"
#include "data/reader.h"

enum { PICTURE_RANK = 3, COLOURS = 3 };

/* Columns of a task that says one class of each sample; false: it does not. */
static bool find_columns(const hu_task *task, hu_confusion *made) {
    made->truth = made->predicted = made->probability = -1;
    for (int c = 0; task->judge && task->column[c].title; c++) {
        const hu_task_column *of = &task->column[c];
        int *place = !of->is_class     ? &made->probability
                     : of->needs_truth ? &made->truth
                                       : &made->predicted;
        if (*place < 0) *place = c;
    }
    return made->truth >= 0 && made->predicted >= 0 && made->probability >= 0;
}

/* Pictures of bytes in one or three channels can be shown. */
static void find_pictures(const hu_dataset *dataset, hu_half half, hu_confusion *made) {
    int f = hu_dataset_find(dataset, made->task->field[0].field);
    const hu_field *field = f < 0 ? NULL : &hu_dataset_fields(dataset, half)[f];
    if (!field || field->type != HU_FIELD_U8 || field->rank != PICTURE_RANK) return;
    if (field->extent[2] != 1 && field->extent[2] != COLOURS) return;
    made->field = f;
    memcpy(made->extent, field->extent, sizeof made->extent);
}

/* Of one picture; 0 where there are none. */
static size_t numbers_of(const hu_confusion *c) {
    return (size_t)(c->extent[0] * c->extent[1] * c->extent[2]);
}

hu_status hu_confusion_create(const hu_trainer *trainer, const hu_dataset *dataset, hu_half half,
                              size_t most, hu_confusion *made) {
    hu_status st;
    hu_confusion c = {.dataset = dataset, .task = hu_trainer_task(trainer), .most = most};
    *made = (hu_confusion){0};
    if (!find_columns(c.task, &c)) return HU_OK;
    int label = hu_dataset_find(dataset, c.task->field[1].field);
    c.classes = dataset->field[label].classes;
    c.split = half == HU_HALF_VALIDATION ? &dataset->validation : &dataset->test;
    find_pictures(dataset, half, &c);
    *made = c;
    HU_TRY(HU_NEW_ARRAY(&made->count, (size_t)(c.classes * (c.classes + 1))));
    memset(made->count, 0, (size_t)(c.classes * (c.classes + 1)) * sizeof *made->count);
    if (most > 0) HU_TRY(HU_NEW_ARRAY(&made->mistake, most));
    if (numbers_of(made) > 0) HU_TRY(HU_NEW_ARRAY(&made->picture, numbers_of(made)));
done:
    return st;
}

/* What it owns; the mistake itself lies in an array. */
static void free_mistake(hu_confusion_mistake *mistake) {
    hu_free(mistake->file);
    hu_free(mistake->pixels);
}

void hu_confusion_free(hu_confusion *c) {
    for (size_t i = 0; i < c->mistakes; i++) free_mistake(&c->mistake[i]);
    hu_free(c->count);
    hu_free(c->mistake);
    hu_free(c->picture);
    *c = (hu_confusion){0};
}

/* ---- samples ---- */

/* The picture and the file of a sample, which its loader still has. */
static hu_status take_sample(const hu_confusion *c, const hu_loader *loader,
                             hu_confusion_mistake *m) {
    hu_sample_file file;
    size_t numbers = numbers_of(c);
    hu_status st;
    HU_TRY(hu_split_file(c->split, hu_loader_index(loader, m->sample), &file));
    m->file = file.path;
    if (numbers == 0) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&m->pixels, numbers));
    hu_loader_fill(loader, c->field, HU_READ_UNIT, m->sample, 1, c->picture);
    for (size_t i = 0; i < numbers; i++) m->pixels[i] = (uint8_t)(c->picture[i] * 255.0f + 0.5f);
done:
    return st;
}

/* Into its place, in front of those that are less confident; the last one makes room. */
static void insert(hu_confusion *c, const hu_confusion_mistake *mistake) {
    size_t at = c->mistakes;
    if (c->mistakes == c->most)
        free_mistake(&c->mistake[--at]);
    else
        c->mistakes++;
    for (; at > 0 && c->mistake[at - 1].probability < mistake->probability; at--)
        c->mistake[at] = c->mistake[at - 1];
    c->mistake[at] = *mistake;
}

/* Rows of the matrix are true classes. A mistake that is less sure than those that are kept costs
 * nothing: its picture is not looked at. */
hu_status hu_confusion_note(void *confusion, int64_t index, const hu_metric_call *sample,
                            const hu_loader *loader) {
    hu_confusion *c = confusion;
    double cells[HU_TASK_COLUMNS_MAX];
    c->task->describe(sample, cells);
    int64_t truth = (int64_t)cells[c->truth], predicted = (int64_t)cells[c->predicted];
    if (truth < 0) return HU_OK; /* nobody says what it is */
    c->count[truth * (c->classes + 1) + (predicted < 0 ? c->classes : predicted)]++;
    hu_confusion_mistake made = {index, truth, predicted, cells[c->probability], NULL, NULL};
    bool is_full = c->mistakes == c->most;
    if (predicted < 0 || predicted == truth || c->most == 0 ||
        (is_full && made.probability <= c->mistake[c->most - 1].probability))
        return HU_OK;
    hu_status st = take_sample(c, loader, &made);
    if (st == HU_OK)
        insert(c, &made);
    else
        free_mistake(&made);
    return st;
}

/* ---- figures ---- */

/* Of equally many others the first class. */
hu_class_figures hu_confusion_class(const hu_confusion *c, int64_t k) {
    hu_class_figures f = {.other = -1};
    const int64_t *row = c->count + k * (c->classes + 1);
    for (int64_t s = 0; s <= c->classes; s++) f.samples += row[s];
    for (int64_t t = 0; t < c->classes; t++) f.predicted += c->count[t * (c->classes + 1) + k];
    f.right = row[k];
    for (int64_t s = 0; s < c->classes; s++)
        if (s != k && row[s] > f.others) {
            f.other = s;
            f.others = row[s];
        }
    f.recall = (double)f.right / (double)f.samples;
    f.precision = (double)f.right / (double)f.predicted;
    f.f1 = 2.0 * (double)f.right / (double)(f.samples + f.predicted);
    return f;
}

const char *hu_confusion_word(const hu_confusion *c, int64_t k, char number[HU_CLASS_WORD_BYTES]) {
    const char *name = hu_dataset_class_name(c->dataset, k);
    snprintf(number, HU_CLASS_WORD_BYTES, "%lld", (long long)k);
    return name ? name : number;
}

/* ---- What a finished training takes for what, kept in its folder ---- */

enum { NAME_BYTES = 48 };

/* NULL where there is no text, or none that is UTF-8, which JSON cannot hold. */
static json_t *text_json(const char *text) {
    json_t *made = text ? json_string(text) : NULL;
    return made ? made : json_null();
}

static void picture_name(size_t number, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "mistakes/%02zu.png", number);
}

static json_t *mistake_json(const hu_confusion *c, size_t number) {
    const hu_confusion_mistake *m = &c->mistake[number];
    char truth[HU_CLASS_WORD_BYTES], predicted[HU_CLASS_WORD_BYTES], name[NAME_BYTES];
    picture_name(number, name);
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "sample", (json_int_t)m->sample, "file",
                     text_json(m->file), "truth", text_json(hu_confusion_word(c, m->truth, truth)),
                     "said", text_json(hu_confusion_word(c, m->predicted, predicted)),
                     "probability", hu_json_number(m->probability), "picture",
                     text_json(m->pixels ? name : NULL));
}

static hu_status write_picture(const hu_confusion *c, size_t number, const char *folder) {
    char name[NAME_BYTES], *path = NULL;
    uint8_t *png = NULL;
    size_t bytes;
    hu_status st;
    picture_name(number, name);
    HU_TRY(hu_path_join(folder, name, &path));
    HU_TRY(hu_image_png("a sample", c->extent[0], c->extent[1], c->extent[2],
                        c->mistake[number].pixels, &png, &bytes));
    HU_TRY(hu_file_replace(path, png, bytes));
done:
    hu_free(png);
    hu_free(path);
    return st;
}

static hu_status write_pictures(const hu_confusion *c, const char *folder) {
    char *directory = NULL;
    hu_status st = HU_OK;
    if (c->mistakes == 0 || !c->mistake[0].pixels) return HU_OK;
    HU_TRY(hu_path_join(folder, "mistakes", &directory));
    HU_TRY(hu_directory_create(directory));
    for (size_t i = 0; i < c->mistakes; i++) HU_TRY(write_picture(c, i, folder));
done:
    hu_free(directory);
    return st;
}

static hu_status write_json(const char *folder, json_t *object) {
    char *path = NULL, *text = NULL;
    hu_status st = hu_json_pretty(object, &text);
    if (st == HU_OK) st = hu_path_join(folder, "confusion.json", &path);
    if (st == HU_OK) st = hu_file_replace(path, text, strlen(text));
    hu_free(path);
    hu_free(text);
    return st;
}

hu_status hu_confusion_keep(const hu_confusion *c, const char *folder, const char *part,
                            int64_t step) {
    hu_status st;
    json_t *object, *list = json_array();
    if (c->classes == 0) {
        json_decref(list);
        return HU_OK;
    }
    for (size_t i = 0; i < c->mistakes; i++) json_array_append_new(list, mistake_json(c, i));
    object = json_pack("{s:I, s:s, s:o}", "step", (json_int_t)step, "part", part, "mistakes", list);
    HU_TRY(hu_confusion_put(c, part, object));
    HU_TRY(write_pictures(c, folder));
    st = write_json(folder, object);
    object = NULL;
done:
    json_decref(object);
    return st;
}
