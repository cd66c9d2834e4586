#include "predict/confusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/reader.h"
#include "media/image_files.h"
#include "render/csv.h"
#include "render/html.h"
#include "render/table.h"

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
static void find_pictures(const hu_dataset *dataset, hu_split_kind half, hu_confusion *made) {
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

hu_status hu_confusion_create(const hu_trainer *trainer, const hu_dataset *dataset,
                              hu_split_kind half, size_t most, hu_confusion *made) {
    hu_status st;
    hu_confusion c = {.dataset = dataset, .task = hu_trainer_task(trainer), .most = most};
    *made = (hu_confusion){0};
    if (!find_columns(c.task, &c)) return HU_OK;
    int label = hu_dataset_find(dataset, c.task->field[1].field);
    c.classes = dataset->field[label].classes;
    c.split = half == HU_SPLIT_VALIDATION ? &dataset->validation : &dataset->test;
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
static hu_class_figures confusion_class(const hu_confusion *c, int64_t k) {
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

static const char *confusion_word(const hu_confusion *c, int64_t k,
                                  char number[HU_CLASS_WORD_BYTES]) {
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
                     text_json(m->file), "truth", text_json(confusion_word(c, m->truth, truth)),
                     "said", text_json(confusion_word(c, m->predicted, predicted)), "probability",
                     hu_json_number(m->probability), "picture", text_json(m->pixels ? name : NULL));
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

/* ---- Printing ---- */

/* ---- Which classes are taken for which: as text, JSON and CSV ---- */

enum { CELL_BYTES = 32, MATRIX_MOST = 100 };

/* "92.31 %"; a dash of nothing. */
static hu_status put_share(hu_table *table, double share) {
    return isnan(share) ? hu_table_cell(table, "-")
                        : hu_table_cell(table, "%.2f %%", 100.0 * share);
}

/* ---- text ---- */

/* A row for each class: how many samples it has, how good the model is at it, and what it takes it
 * for otherwise. */
static hu_status print_classes(const hu_confusion *c, char **text) {
    static const char *const titles[] = {"class",     "samples", "recall",
                                         "precision", "F1",      "most often taken for"};
    char number[HU_CLASS_WORD_BYTES];
    hu_table *table = NULL;
    hu_status st;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int64_t k = 0; k < c->classes; k++) {
        hu_class_figures f = confusion_class(c, k);
        HU_TRY(hu_table_cell(table, "%s", confusion_word(c, k, number)));
        HU_TRY(hu_table_cell(table, "%lld", (long long)f.samples));
        HU_TRY(put_share(table, f.recall));
        HU_TRY(put_share(table, f.precision));
        HU_TRY(put_share(table, f.f1));
        if (f.other < 0)
            HU_TRY(hu_table_cell(table, "-"));
        else
            HU_TRY(hu_table_cell(table, "%s (%lld)", confusion_word(c, f.other, number),
                                 (long long)f.others));
    }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

/* A row for each true class, a column for each that is said. */
static hu_status print_matrix(const hu_confusion *c, char **text) {
    char number[HU_CONFUSION_SHOWN][HU_CLASS_WORD_BYTES];
    const char *titles[1 + HU_CONFUSION_SHOWN] = {"true \\ said"};
    hu_table *table = NULL;
    hu_status st;
    for (int64_t k = 0; k < c->classes; k++) titles[1 + k] = confusion_word(c, k, number[k]);
    HU_TRY(hu_table_create(titles, (int)c->classes + 1, &table));
    for (int64_t t = 0; t < c->classes; t++) {
        HU_TRY(hu_table_cell(table, "%s", titles[1 + t]));
        for (int64_t s = 0; s < c->classes; s++)
            HU_TRY(hu_table_cell(table, "%lld", (long long)c->count[t * (c->classes + 1) + s]));
    }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

/* Instead of a matrix that no terminal is wide enough for. */
static hu_status print_pairs(const hu_confusion *c, char **text) {
    static const char *const titles[] = {"true class", "taken for", "samples"};
    hu_confusion_pair pair[HU_CONFUSION_SHOWN];
    char number[HU_CLASS_WORD_BYTES];
    size_t pairs = hu_confusion_pairs(c, pair, HU_CONFUSION_SHOWN);
    hu_table *table = NULL;
    hu_status st;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (size_t i = 0; i < pairs; i++) {
        HU_TRY(hu_table_cell(table, "%s", confusion_word(c, pair[i].truth, number)));
        HU_TRY(hu_table_cell(table, "%s", confusion_word(c, pair[i].predicted, number)));
        HU_TRY(hu_table_cell(table, "%lld", (long long)pair[i].samples));
    }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

hu_status hu_confusion_text(const hu_confusion *c, char **text) {
    char *classes = NULL, *confused = NULL;
    hu_status st = HU_OK;
    *text = NULL;
    if (c->classes == 0) return HU_OK;
    HU_TRY(print_classes(c, &classes));
    HU_TRY(c->classes <= HU_CONFUSION_SHOWN ? print_matrix(c, &confused)
                                            : print_pairs(c, &confused));
    size_t bytes = strlen(classes) + strlen(confused) + 2;
    HU_TRY(HU_NEW_ARRAY(text, bytes));
    snprintf(*text, bytes, "%s\n%s", classes, confused);
done:
    hu_free(classes);
    hu_free(confused);
    return st;
}

/* ---- the pairs that are confused most ---- */

size_t hu_confusion_pairs(const hu_confusion *c, hu_confusion_pair *pair, size_t most) {
    size_t pairs = 0;
    for (int64_t t = 0; t < c->classes; t++)
        for (int64_t s = 0; s < c->classes; s++) {
            int64_t samples = c->count[t * (c->classes + 1) + s];
            if (s == t || samples == 0) continue;
            if (pairs == most && samples <= pair[most - 1].samples) continue;
            size_t at = pairs < most ? pairs++ : most - 1;
            for (; at > 0 && pair[at - 1].samples < samples; at--) pair[at] = pair[at - 1];
            pair[at] = (hu_confusion_pair){t, s, samples};
        }
    return pairs;
}

/* ---- JSON ---- */

/* Shares of nothing are null. */
static json_t *class_json(const hu_confusion *c, int64_t k) {
    char number[HU_CLASS_WORD_BYTES];
    hu_class_figures f = confusion_class(c, k);
    return json_pack("{s:s, s:I, s:o, s:o, s:o}", "name", confusion_word(c, k, number), "samples",
                     (json_int_t)f.samples, "recall", hu_json_number(f.recall), "precision",
                     hu_json_number(f.precision), "f1", hu_json_number(f.f1));
}

/* All of them, or NULL: one that is left out would give its number to the next. */
static json_t *list_of(const hu_confusion *c, json_t *(*make)(const hu_confusion *, int64_t)) {
    json_t *list = json_array();
    bool is_whole = list != NULL;
    for (int64_t k = 0; is_whole && k < c->classes; k++)
        is_whole = json_array_append_new(list, make(c, k)) == 0;
    if (is_whole) return list;
    json_decref(list);
    return NULL;
}

static json_t *name_json(const hu_confusion *c, int64_t k) {
    char number[HU_CLASS_WORD_BYTES];
    return json_string(confusion_word(c, k, number));
}

static json_t *row_json(const hu_confusion *c, int64_t k) {
    json_t *row = json_array();
    bool is_whole = row != NULL;
    for (int64_t s = 0; is_whole && s <= c->classes; s++)
        is_whole = json_array_append_new(
                       row, json_integer((json_int_t)c->count[k * (c->classes + 1) + s])) == 0;
    if (is_whole) return row;
    json_decref(row);
    return NULL;
}

/* Of many classes a list [true, said, samples] of what there is: a matrix would be mostly zeros.
 * -1: nothing is said. */
static json_t *pairs_json(const hu_confusion *c) {
    json_t *list = json_array();
    bool is_whole = list != NULL;
    for (int64_t i = 0; is_whole && i < c->classes * (c->classes + 1); i++) {
        int64_t predicted = i % (c->classes + 1);
        if (c->count[i] == 0) continue;
        json_t *pair = json_pack("[I, I, I]", (json_int_t)(i / (c->classes + 1)),
                                 (json_int_t)(predicted == c->classes ? -1 : predicted),
                                 (json_int_t)c->count[i]);
        is_whole = json_array_append_new(list, pair) == 0;
    }
    if (is_whole) return list;
    json_decref(list);
    return NULL;
}

hu_status hu_confusion_put(const hu_confusion *c, const char *part, json_t *object) {
    char key[CELL_BYTES];
    if (!object || c->classes == 0) return HU_OK;
    snprintf(key, sizeof key, "%.16s_classes", part);
    bool is_whole = json_object_set_new(object, key, list_of(c, class_json)) == 0;
    bool is_matrix = c->classes <= MATRIX_MOST;
    json_t *rows = is_matrix ? list_of(c, row_json) : pairs_json(c);
    json_t *matrix = json_pack("{s:o, s:o}", "classes", list_of(c, name_json),
                               is_matrix ? "matrix" : "pairs", rows);
    if (json_object_set_new(object, "confusion", matrix) == 0 && is_whole) return HU_OK;
    return hu_fail(HU_ERR_MEMORY, "out of memory for the matrix of classes");
}

/* ---- CSV ---- */

/* An empty cell of nothing. */
static hu_status put_number(hu_byte_writer *out, double number) {
    return isnan(number) ? hu_csv_put_text(out, ",") : hu_csv_put_number(out, ",", number);
}

/* Figures of class k, then how often each class is said of its samples, and nothing of them. */
static hu_status put_row(const hu_confusion *c, int64_t k, hu_byte_writer *out) {
    char number[HU_CLASS_WORD_BYTES];
    hu_class_figures f = confusion_class(c, k);
    hu_status st;
    HU_TRY(hu_csv_put_cell(out, confusion_word(c, k, number)));
    HU_TRY(put_number(out, (double)f.samples));
    HU_TRY(put_number(out, f.recall));
    HU_TRY(put_number(out, f.precision));
    HU_TRY(put_number(out, f.f1));
    for (int64_t s = 0; s <= c->classes; s++)
        HU_TRY(put_number(out, (double)c->count[k * (c->classes + 1) + s]));
    st = hu_csv_put_text(out, "\n");
done:
    return st;
}

hu_status hu_confusion_write(const hu_confusion *c, const char *path) {
    char number[HU_CLASS_WORD_BYTES];
    hu_byte_writer out = {0};
    hu_status st;
    HU_TRY(hu_csv_put_text(&out, "class,samples,recall,precision,f1"));
    for (int64_t k = 0; k < c->classes; k++)
        HU_TRY(hu_csv_put_word(&out, confusion_word(c, k, number)));
    HU_TRY(hu_csv_put_text(&out, ",nothing\n"));
    for (int64_t k = 0; k < c->classes; k++) HU_TRY(put_row(c, k, &out));
    st = hu_file_replace(path, out.data, out.size);
done:
    hu_writer_free(&out);
    return st;
}

/* ---- confusion page ---- */

/* What a model is wrong about, as a page: pictures lie inside of it, so
 * that it is one file to hand on, and nothing on it is a script. */

enum {
    CONFUSION_PAGE_CELL_BYTES = 64,
    SHOWN_WIDTH = 64
}; /* pictures are enlarged to at least so many pixels */

static void put_count(hu_page *page, int64_t count) {
    char cell[CONFUSION_PAGE_CELL_BYTES];
    snprintf(cell, sizeof cell, "%lld", (long long)count);
    hu_html_number(page, cell);
}

/* A dash of nothing. */
static void confusion_page_put_share(hu_page *page, double share) {
    char cell[CONFUSION_PAGE_CELL_BYTES];
    snprintf(cell, sizeof cell, "%.2f %%", 100.0 * share);
    hu_html_number(page, isnan(share) ? "-" : cell);
}

/* The same figures as the terminal's. */
static void put_classes(hu_page *page, const hu_confusion *c) {
    static const char *const titles[] = {"class", "samples", "recall", "precision", "F1"};
    char number[HU_CLASS_WORD_BYTES];
    hu_html_section(page, "classes", "Classes",
                    "Recall: share of the samples of a class that are told as such. Precision: "
                    "share of what is told as such that is.");
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 1);
    for (int64_t k = 0; k < c->classes; k++) {
        hu_class_figures f = confusion_class(c, k);
        hu_html_row(page, false);
        hu_html_text(page, confusion_word(c, k, number));
        put_count(page, f.samples);
        confusion_page_put_share(page, f.recall);
        confusion_page_put_share(page, f.precision);
        confusion_page_put_share(page, f.f1);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
    hu_html_section_end(page);
}

/* What is right stands strong. */
static void put_matrix(hu_page *page, const hu_confusion *c) {
    char number[HU_CONFUSION_SHOWN][HU_CLASS_WORD_BYTES];
    const char *titles[1 + HU_CONFUSION_SHOWN] = {"true class"};
    for (int64_t k = 0; k < c->classes; k++) titles[1 + k] = confusion_word(c, k, number[k]);
    hu_html_table(page, titles, 1 + (size_t)c->classes, 1);
    for (int64_t t = 0; t < c->classes; t++) {
        hu_html_row(page, false);
        hu_html_text(page, titles[1 + t]);
        for (int64_t s = 0; s < c->classes; s++) {
            long long count = (long long)c->count[t * (c->classes + 1) + s];
            hu_html_cell(page, true);
            hu_page_put(page, s == t ? "<b>%lld</b>" : "%lld", count);
            hu_html_cell_end(page);
        }
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

/* Of many classes, as the terminal has them. */
static void put_pairs(hu_page *page, const hu_confusion *c) {
    static const char *const titles[] = {"true class", "taken for", "samples"};
    char number[HU_CLASS_WORD_BYTES];
    hu_confusion_pair pair[HU_CONFUSION_SHOWN];
    size_t pairs = hu_confusion_pairs(c, pair, HU_CONFUSION_SHOWN);
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 2);
    for (size_t i = 0; i < pairs; i++) {
        hu_html_row(page, false);
        hu_html_text(page, confusion_word(c, pair[i].truth, number));
        hu_html_text(page, confusion_word(c, pair[i].predicted, number));
        put_count(page, pair[i].samples);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

static void put_confused(hu_page *page, const hu_confusion *c) {
    bool is_whole = c->classes <= HU_CONFUSION_SHOWN;
    hu_html_section(page, "confusion", "What is taken for what",
                    is_whole ? "A row for each true class, a column for each that is said."
                             : "The pairs of classes that are confused most often.");
    if (is_whole)
        put_matrix(page, c);
    else
        put_pairs(page, c);
    hu_html_section_end(page);
}

/* Each pixel as a square of so many. Owner frees *large. */
static hu_status enlarge(const hu_confusion *c, const uint8_t *pixels, int64_t times,
                         uint8_t **large) {
    int64_t height = c->extent[0] * times, width = c->extent[1] * times, channels = c->extent[2];
    hu_status st = HU_NEW_ARRAY(large, (size_t)(height * width * channels));
    if (st != HU_OK) return st;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            memcpy(*large + (y * width + x) * channels,
                   pixels + (y / times * c->extent[1] + x / times) * channels, (size_t)channels);
    return HU_OK;
}

/* A cell with the picture as the model sees it, in squares where it is small; empty where samples
 * are no pictures. */
static hu_status put_picture(hu_page *page, const hu_confusion *c, const hu_confusion_mistake *m) {
    char number[HU_CLASS_WORD_BYTES];
    uint8_t *large = NULL, *png = NULL;
    size_t bytes;
    int64_t width = c->extent[1], times = 1;
    if (width > 0 && width < SHOWN_WIDTH) times = (SHOWN_WIDTH + width - 1) / width;
    hu_status st = HU_OK;
    hu_html_cell(page, false);
    if (m->pixels) {
        HU_TRY(enlarge(c, m->pixels, times, &large));
        HU_TRY(hu_image_png("a sample", c->extent[0] * times, c->extent[1] * times, c->extent[2],
                            large, &png, &bytes));
        hu_html_png(page, confusion_word(c, m->truth, number), png, bytes);
    }
    hu_html_cell_end(page);
done:
    hu_free(large);
    hu_free(png);
    return st;
}

static hu_status put_mistakes(hu_page *page, const hu_confusion *c) {
    static const char *const titles[] = {"picture", "it is", "the model says", "file",
                                         "probability"};
    char number[HU_CLASS_WORD_BYTES], sample[CONFUSION_PAGE_CELL_BYTES];
    hu_status st = HU_OK;
    hu_html_section(page, "mistakes", "The most confident mistakes",
                    "Samples of whose wrong class the model is surest, as the model sees them.");
    if (c->mistakes == 0) hu_html_note(page, "There is no mistake.");
    if (c->mistakes > 0) hu_html_table(page, titles, sizeof titles / sizeof *titles, 4);
    for (size_t i = 0; i < c->mistakes; i++) {
        const hu_confusion_mistake *m = &c->mistake[i];
        snprintf(sample, sizeof sample, "sample %lld", (long long)m->sample);
        hu_html_row(page, false);
        HU_TRY(put_picture(page, c, m));
        hu_html_text(page, confusion_word(c, m->truth, number));
        hu_html_text(page, confusion_word(c, m->predicted, number));
        hu_html_text(page, m->file ? m->file : sample);
        confusion_page_put_share(page, m->probability);
        hu_html_row_end(page);
    }
    if (c->mistakes > 0) hu_html_table_end(page);
    hu_html_section_end(page);
done:
    return st;
}

hu_status hu_confusion_page(const hu_confusion *c, const char *title, const char *line,
                            const char *path) {
    hu_page page = {0};
    char *text = NULL;
    hu_status st;
    if (c->classes == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "page: found a run whose task does not say one class of each sample, "
                       "expected task=classify");
    hu_html_begin(&page, title, line);
    HU_TRY(put_mistakes(&page, c));
    put_confused(&page, c);
    put_classes(&page, c);
    hu_html_end(&page, "Made by halfulp " HALFULP_VERSION ", verb eval.");
    HU_TRY(hu_page_finish(&page, &text));
    st = hu_file_replace(path, text, strlen(text));
done:
    hu_page_free(&page);
    hu_free(text);
    return st;
}
