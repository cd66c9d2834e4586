#include "predict/predictions.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/csv.h"
#include "render/table.h"
#include "task/task.h"

/* Where findings go, and how large the picture is that their boxes lie in. */
typedef struct collecting {
    hu_predictions *predictions;
    double width, height;
    hu_status status;
} collecting;

/* Shares of the picture become pixels. A failure ends the list, and is told after the sample. */
static void add_finding(void *context, const hu_finding *found) {
    collecting *c = context;
    hu_predictions *predictions = c->predictions;
    if (c->status == HU_OK)
        c->status = hu_grow(&predictions->finding, predictions->findings, &predictions->capacity,
                            sizeof *predictions->finding);
    if (c->status != HU_OK) return;
    hu_finding *to = &predictions->finding[predictions->findings++];
    *to = *found;
    to->box.x1 *= c->width;
    to->box.x2 *= c->width;
    to->box.y1 *= c->height;
    to->box.y2 *= c->height;
}

/* The size of the file, or of the samples. */
static collecting collector_of(hu_predictions *predictions, const hu_sample_file *file) {
    enum { PICTURE_RANK = 3 };
    const hu_field *field = hu_dataset_fields(predictions->dataset, HU_SPLIT_TEST);
    int image = hu_dataset_find(predictions->dataset, predictions->task->field[0].field);
    collecting c = {.predictions = predictions, .width = 1.0, .height = 1.0};
    if (file->width > 0) {
        c.width = (double)file->width;
        c.height = (double)file->height;
    } else if (field[image].rank == PICTURE_RANK) {
        c.width = (double)field[image].extent[1];
        c.height = (double)field[image].extent[0];
    }
    return c;
}

/* What the model says of a sample, or what is true, in words. */
static hu_status note_text(hu_predictions *predictions, const hu_metric_call *call, bool is_truth,
                           char **text) {
    int64_t most = call->rows > call->targets ? call->rows : call->targets;
    hu_status st = HU_OK;
    if (!predictions->number) HU_TRY(HU_NEW_ARRAY(&predictions->number, (size_t)most));
    int64_t count = predictions->task->spell(call, is_truth, predictions->number);
    st = hu_words_join(&predictions->words, predictions->number, count, false, text);
done:
    return st;
}

/* The sentence that a sample is the translation of. */
static hu_status note_source(hu_predictions *predictions, const hu_loader *loader, int64_t position,
                             char **text) {
    const hu_task_field *source = &predictions->task->field[HU_TRANSLATION_SOURCE],
                        *length = &predictions->task->field[HU_TRANSLATION_SOURCE_LENGTH];
    int f = hu_dataset_find(predictions->dataset, source->field);
    float words = 0.0f, *row = NULL;
    int32_t *number = NULL;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&row, (size_t)predictions->dataset->field[f].extent[0]));
    HU_TRY(HU_NEW_ARRAY(&number, (size_t)predictions->dataset->field[f].extent[0]));
    hu_loader_fill(loader, f, source->reading, position, 1, row);
    f = hu_dataset_find(predictions->dataset, length->field);
    hu_loader_fill(loader, f, length->reading, position, 1, &words);
    for (int64_t t = 0; t < (int64_t)words; t++) number[t] = (int32_t)row[t];
    st = hu_words_join(&predictions->source_words, number, (int64_t)words, false, text);
done:
    hu_free(row);
    hu_free(number);
    return st;
}

static hu_status note_texts(hu_predictions *predictions, const hu_metric_call *call,
                            const hu_loader *loader, int64_t position) {
    hu_predictions_sample *sample = &predictions->sample[position];
    hu_status st = HU_OK;
    if (!predictions->task->spell) return HU_OK;
    if (predictions->task->writes)
        HU_TRY(note_source(predictions, loader, position, &sample->source));
    if (call->prediction) HU_TRY(note_text(predictions, call, false, &sample->text));
    if (!predictions->dataset->lacks_truth)
        HU_TRY(note_text(predictions, call, true, &sample->truth));
done:
    return st;
}

/* Columns that say how right a sample is have no number where nobody knows. */
static void drop_unknown(const hu_predictions *predictions, double *cells) {
    for (int c = 0;
         predictions->dataset->lacks_truth && c < hu_task_column_count(predictions->task); c++)
        if (predictions->task->column[c].needs_truth) cells[c] = -1.0;
}

/* Cells, texts and findings of a sample, and its file: the order of the data set is that of its
 * files. */
static hu_status note_sample(void *context, int64_t position, const hu_metric_call *call,
                             const hu_loader *loader) {
    hu_predictions *predictions = context;
    hu_predictions_sample *sample = &predictions->sample[position];
    int64_t index = hu_loader_index(loader, position);
    hu_status st;
    HU_TRY(hu_split_file(&predictions->dataset->test, index, &sample->file));
    predictions->has_files = predictions->has_files || sample->file.path;
    double *cells = predictions->cells + position * hu_task_column_count(predictions->task);
    predictions->task->describe(call, cells);
    drop_unknown(predictions, cells);
    HU_TRY(note_texts(predictions, call, loader, position));
    sample->first = predictions->findings;
    if (!predictions->task->find) return HU_OK;
    collecting c = collector_of(predictions, &sample->file);
    predictions->task->find(call, add_finding, &c);
    sample->count = predictions->findings - sample->first;
    st = c.status;
done:
    return st;
}

hu_status hu_predictions_make(hu_trainer *trainer, const hu_dataset *dataset, int64_t count,
                              hu_predictions *predictions) {
    hu_status st;
    *predictions =
        (hu_predictions){.task = hu_trainer_task(trainer), .dataset = dataset, .count = count};
    size_t columns = (size_t)hu_task_column_count(predictions->task);
    HU_TRY(HU_NEW_ARRAY(&predictions->cells, (size_t)count * columns));
    HU_TRY(HU_NEW_ARRAY(&predictions->sample, (size_t)count));
    if (predictions->task->spell) HU_TRY(hu_words_create(dataset, &predictions->words));
    if (predictions->task->writes) HU_TRY(hu_words_of_source(dataset, &predictions->source_words));
    st = hu_trainer_show(trainer, count, note_sample, predictions);
done:
    return st;
}

void hu_predictions_free(hu_predictions *predictions) {
    for (int64_t i = 0; predictions->sample && i < predictions->count; i++) {
        hu_free(predictions->sample[i].file.path);
        hu_free(predictions->sample[i].source);
        hu_free(predictions->sample[i].text);
        hu_free(predictions->sample[i].truth);
    }
    hu_words_free(&predictions->words);
    hu_words_free(&predictions->source_words);
    hu_free(predictions->number);
    hu_free(predictions->sample);
    hu_free(predictions->cells);
    hu_free(predictions->finding);
    *predictions = (hu_predictions){0};
}

/* The columns of a sample, and whether it is right (HU_UNJUDGED where the task does not know). */
static const double *predictions_row(const hu_predictions *predictions, int64_t sample) {
    return predictions->cells + sample * hu_task_column_count(predictions->task);
}

hu_judgement hu_predictions_judgement(const hu_predictions *predictions, int64_t sample) {
    return predictions->task->judge ? predictions->task->judge(predictions_row(predictions, sample))
                                    : HU_UNJUDGED;
}

/* ---- Printing ---- */

/* ---- What a model says of samples, as JSON, as tables and as a file ---- */

enum { NAME_BYTES = 24, TITLE_BYTES = 48, MOST_TITLES = 2 * HU_TASK_COLUMNS_MAX + 7 };

/* NULL where a cell is no class, or one without a name. */
static const char *name_in(const hu_predictions *predictions, int64_t sample, int column) {
    double cell = predictions_row(predictions, sample)[column];
    if (!predictions->task->column[column].is_class || !(cell >= 0.0)) return NULL;
    return hu_dataset_class_name(predictions->dataset, (int64_t)cell);
}

/* The name of a class, or its number. */
static const char *class_word(const hu_predictions *predictions, int64_t c,
                              char number[NAME_BYTES]) {
    const char *name = hu_dataset_class_name(predictions->dataset, c);
    snprintf(number, NAME_BYTES, "%lld", (long long)c);
    return name ? name : number;
}

/* The task finds boxes: each is a row of its own, and has corners. */
static bool has_boxes(const hu_predictions *predictions) {
    return predictions->task->finds_boxes;
}

/* ---- JSON ---- */

/* Left out where it is not known, or not UTF-8, which JSON cannot hold. */
static void put_text(json_t *object, const char *key, const char *text) {
    if (object && text) json_object_set_new(object, key, json_string(text));
}

/* Corners of boxes, with the score of their class; else a class and its probability. */
static json_t *finding_json(const hu_predictions *predictions, const hu_finding *f) {
    const char *name = hu_dataset_class_name(predictions->dataset, f->class_number);
    const char *score = has_boxes(predictions) ? "score" : "probability";
    json_t *object = json_pack("{s:I, s:o}", "class", (json_int_t)f->class_number, score,
                               hu_json_number(f->score));
    put_text(object, "name", name);
    if (!object || !has_boxes(predictions)) return object;
    json_object_set_new(object, "x1", hu_json_number(f->box.x1));
    json_object_set_new(object, "y1", hu_json_number(f->box.y1));
    json_object_set_new(object, "x2", hu_json_number(f->box.x2));
    json_object_set_new(object, "y2", hu_json_number(f->box.y2));
    return object;
}

/* Numbers that the task calls whole (a class) are integers of JSON. */
static void put_cell(const hu_predictions *predictions, int64_t i, int column, json_t *row) {
    const hu_task_column *of = &predictions->task->column[column];
    double cell = predictions_row(predictions, i)[column];
    char title[TITLE_BYTES];
    const char *name = name_in(predictions, i, column);
    json_object_set_new(row, of->title,
                        of->is_whole ? json_integer((json_int_t)cell) : hu_json_number(cell));
    snprintf(title, sizeof title, "%s_name", of->title);
    put_text(row, title, name);
}

/* What is found stands in a list after the columns: "detections" of boxes, best first in each
 * class; "top" of classes. */
json_t *hu_predictions_json(const hu_predictions *predictions) {
    json_t *rows = json_array();
    for (int64_t i = 0; rows && i < predictions->count; i++) {
        const hu_predictions_sample *sample = &predictions->sample[i];
        json_t *list, *row = json_pack("{s:I}", "sample", (json_int_t)i);
        put_text(row, "file", sample->file.path);
        put_text(row, "source", sample->source);
        put_text(row, "text", sample->text);
        put_text(row, "truth", sample->truth);
        for (int c = 0; row && c < hu_task_column_count(predictions->task); c++)
            put_cell(predictions, i, c, row);
        if (row && predictions->task->find) {
            json_object_set_new(row, has_boxes(predictions) ? "detections" : "top",
                                list = json_array());
            for (size_t f = 0; f < sample->count; f++)
                json_array_append_new(
                    list, finding_json(predictions, &predictions->finding[sample->first + f]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

/* ---- tables ---- */

enum { SHOWN_BYTES = 60 };

/* The beginning of a text in one line, whole characters of it. */
static const char *beginning(const char *text, char cell[SHOWN_BYTES + sizeof "..."]) {
    size_t bytes = strlen(text);
    bool is_whole = bytes <= SHOWN_BYTES;
    if (!is_whole)
        for (bytes = SHOWN_BYTES; ((unsigned char)text[bytes] & 0xc0) == 0x80;) bytes--;
    memcpy(cell, text, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (cell[i] == '\n' || cell[i] == '\t') cell[i] = ' ';
    strcpy(cell + bytes, is_whole ? "" : "...");
    return cell;
}

static hu_status put_beginning(hu_table *table, const char *text) {
    char cell[SHOWN_BYTES + sizeof "..."];
    return hu_table_cell(table, "%s", text ? beginning(text, cell) : "-");
}

/* What is translated, what the model says, and what is true. */
static hu_status put_texts(hu_table *table, const hu_predictions *predictions, int64_t i) {
    const hu_predictions_sample *sample = &predictions->sample[i];
    bool has_truth = !predictions->dataset->lacks_truth;
    hu_status st = predictions->task->writes ? put_beginning(table, sample->source) : HU_OK;
    if (st == HU_OK) st = put_beginning(table, sample->text);
    return st == HU_OK && has_truth ? put_beginning(table, sample->truth) : st;
}

/* A table leaves out columns of which nobody knows anything. */
static bool is_shown(const hu_predictions *predictions, int column) {
    return !(predictions->dataset->lacks_truth && predictions->task->column[column].needs_truth);
}

/* Classes after the likeliest one. */
static bool tells_more(const hu_predictions *predictions) {
    return predictions->task->find && !has_boxes(predictions) && predictions->top > 1;
}

/* Finding n of a sample; NULL after the last, and after those that are asked for. */
static const hu_finding *finding_at(const hu_predictions *predictions, int64_t i, int64_t n) {
    const hu_predictions_sample *sample = &predictions->sample[i];
    return n < predictions->top && n < (int64_t)sample->count
               ? &predictions->finding[sample->first + (size_t)n]
               : NULL;
}

/* "dog 0.0213, eel 0.0001", most likely first. */
static hu_status put_next(hu_table *table, const hu_predictions *predictions, int64_t i) {
    hu_byte_writer out = {0};
    char number[NAME_BYTES], share[NAME_BYTES];
    const hu_finding *f;
    hu_status st = HU_OK;
    for (int64_t n = 1; (f = finding_at(predictions, i, n)) != NULL; n++) {
        snprintf(share, sizeof share, " %.4f", f->score);
        if (n > 1) HU_TRY(hu_write_bytes(&out, ", ", 2));
        const char *word = class_word(predictions, f->class_number, number);
        HU_TRY(hu_write_bytes(&out, word, strlen(word)));
        HU_TRY(hu_write_bytes(&out, share, strlen(share)));
    }
    HU_TRY(hu_write_u8(&out, 0));
    st = hu_table_cell(table, "%s", out.size > 1 ? (const char *)out.data : "-");
done:
    hu_writer_free(&out);
    return st;
}

/* The columns of the task, and the verdict. */
static hu_status put_columns(hu_table *table, const hu_predictions *predictions, int64_t i) {
    static const char *const verdicts[] = {
        [HU_UNJUDGED] = "-", [HU_WRONG] = "wrong", [HU_RIGHT] = "right"};
    char cell[HU_TASK_CELL_BYTES];
    hu_status st = HU_OK;
    for (int c = 0; c < hu_task_column_count(predictions->task); c++) {
        const char *name = name_in(predictions, i, c);
        hu_task_cell(predictions->task, c, predictions_row(predictions, i)[c], cell);
        if (is_shown(predictions, c)) HU_TRY(hu_table_cell(table, "%s", name ? name : cell));
    }
    if (predictions->task->judge && !predictions->dataset->lacks_truth)
        HU_TRY(hu_table_cell(table, "%s", verdicts[hu_predictions_judgement(predictions, i)]));
done:
    return st;
}

/* sample, the columns of the task, the verdict where there is one, the next classes, texts, and the
 * file. */

/* Columns in the order in which rows fill them. */
static hu_status open_samples(const hu_predictions *predictions, hu_table **table) {
    const char *titles[MOST_TITLES] = {"sample"};
    bool has_truth = !predictions->dataset->lacks_truth;
    int count = 1;
    for (int c = 0; c < hu_task_column_count(predictions->task); c++)
        if (is_shown(predictions, c)) titles[count++] = predictions->task->column[c].title;
    if (predictions->task->judge && has_truth) titles[count++] = "verdict";
    if (tells_more(predictions)) titles[count++] = "next likeliest";
    if (predictions->task->writes) titles[count++] = "source";
    if (predictions->task->spell) titles[count++] = "text";
    if (predictions->task->spell && has_truth) titles[count++] = "truth";
    if (predictions->has_files) titles[count++] = "file";
    return hu_table_create(titles, count, table);
}

static hu_status print_samples(const hu_predictions *predictions, char **text) {
    hu_status st;
    hu_table *table = NULL;
    HU_TRY(open_samples(predictions, &table));
    for (int64_t i = 0; i < predictions->count; i++) {
        const char *path = predictions->sample[i].file.path;
        HU_TRY(hu_table_cell(table, "%lld", (long long)i));
        HU_TRY(put_columns(table, predictions, i));
        if (tells_more(predictions)) HU_TRY(put_next(table, predictions, i));
        if (predictions->task->spell) HU_TRY(put_texts(table, predictions, i));
        if (predictions->has_files) HU_TRY(hu_table_cell(table, "%s", path ? path : "-"));
    }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

/* A row for each box, in pixels to a tenth. */
static hu_status print_boxes(const hu_predictions *predictions, char **text) {
    static const char *const titles[] = {"sample", "class", "score", "x1", "y1", "x2", "y2"};
    char number[NAME_BYTES];
    hu_status st;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int64_t i = 0; i < predictions->count; i++)
        for (size_t n = 0; n < predictions->sample[i].count; n++) {
            const hu_finding *f = &predictions->finding[predictions->sample[i].first + n];
            const double numbers[] = {f->box.x1, f->box.y1, f->box.x2, f->box.y2};
            HU_TRY(hu_table_cell(table, "%lld", (long long)i));
            HU_TRY(hu_table_cell(table, "%s", class_word(predictions, f->class_number, number)));
            HU_TRY(hu_table_cell(table, "%.4f", f->score));
            for (int k = 0; k < 4; k++) HU_TRY(hu_table_cell(table, "%.1f", numbers[k]));
        }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

/* Boxes stand below, with the number of their sample: one has none, another has many. */
hu_status hu_predictions_text(const hu_predictions *predictions, char **text) {
    char *boxes = NULL, *samples = NULL;
    hu_status st;
    *text = NULL;
    HU_TRY(print_samples(predictions, &samples));
    if (predictions->findings > 0 && has_boxes(predictions))
        HU_TRY(print_boxes(predictions, &boxes));
    size_t bytes = strlen(samples) + (boxes ? strlen(boxes) : 0) + 2;
    HU_TRY(HU_NEW_ARRAY(text, bytes));
    snprintf(*text, bytes, "%s%s%s", samples, boxes ? "\n" : "", boxes ? boxes : "");
done:
    hu_free(samples);
    hu_free(boxes);
    return st;
}

/* ---- a file ---- */

/* A column of classes, of data that have names for them. */
static bool has_names(const hu_predictions *predictions, int column) {
    return predictions->task->column[column].is_class &&
           hu_dataset_class_name(predictions->dataset, 0);
}

/* Titles of the classes that are told of a sample, and these; empty where there are fewer. */
static hu_status write_top_titles(const hu_predictions *predictions, hu_byte_writer *out) {
    char titles[3 * TITLE_BYTES];
    hu_status st = HU_OK;
    for (int64_t n = 1; st == HU_OK && tells_more(predictions) && n <= predictions->top; n++) {
        snprintf(titles, sizeof titles, ",top%lld,top%lld_name,top%lld_probability", (long long)n,
                 (long long)n, (long long)n);
        st = hu_csv_put_text(out, titles);
    }
    return st;
}

/* Number, name (empty where classes have none) and probability of each. */
static hu_status write_top(const hu_predictions *predictions, int64_t i, hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (int64_t n = 0; tells_more(predictions) && n < predictions->top; n++) {
        const hu_finding *f = finding_at(predictions, i, n);
        if (!f) {
            HU_TRY(hu_csv_put_text(out, ",,,"));
            continue;
        }
        HU_TRY(hu_csv_put_number(out, ",", (double)f->class_number));
        HU_TRY(hu_csv_put_word(out, hu_dataset_class_name(predictions->dataset, f->class_number)));
        HU_TRY(hu_csv_put_number(out, ",", f->score));
    }
done:
    return st;
}

/* The first line. */
static hu_status write_titles(const hu_predictions *predictions, hu_byte_writer *out) {
    hu_status st;
    int columns = hu_task_column_count(predictions->task);
    char title[TITLE_BYTES];
    HU_TRY(hu_csv_put_text(out, "sample"));
    for (int c = 0; c < columns; c++)
        HU_TRY(hu_csv_put_word(out, predictions->task->column[c].title));
    for (int c = 0; c < columns; c++) {
        snprintf(title, sizeof title, "%s_name", predictions->task->column[c].title);
        if (has_names(predictions, c)) HU_TRY(hu_csv_put_word(out, title));
    }
    HU_TRY(write_top_titles(predictions, out));
    if (predictions->task->writes) HU_TRY(hu_csv_put_text(out, ",source"));
    if (predictions->task->spell) HU_TRY(hu_csv_put_text(out, ",text,truth"));
    st = hu_csv_put_text(out, predictions->has_files ? ",file\n" : "\n");
done:
    return st;
}

/* A row for each sample: after the numbers, the names of the classes and the file. */
static hu_status write_samples(const hu_predictions *predictions, hu_byte_writer *out) {
    hu_status st;
    int columns = hu_task_column_count(predictions->task);
    HU_TRY(write_titles(predictions, out));
    for (int64_t i = 0; i < predictions->count; i++) {
        HU_TRY(hu_csv_put_number(out, "", (double)i));
        for (int c = 0; c < columns; c++)
            HU_TRY(hu_csv_put_number(out, ",", predictions_row(predictions, i)[c]));
        for (int c = 0; c < columns; c++)
            if (has_names(predictions, c)) HU_TRY(hu_csv_put_word(out, name_in(predictions, i, c)));
        HU_TRY(write_top(predictions, i, out));
        if (predictions->task->writes) HU_TRY(hu_csv_put_word(out, predictions->sample[i].source));
        if (predictions->task->spell) HU_TRY(hu_csv_put_word(out, predictions->sample[i].text));
        if (predictions->task->spell) HU_TRY(hu_csv_put_word(out, predictions->sample[i].truth));
        if (predictions->has_files) HU_TRY(hu_csv_put_word(out, predictions->sample[i].file.path));
        HU_TRY(hu_csv_put_text(out, "\n"));
    }
done:
    return st;
}

/* A row for each box. */
static hu_status write_boxes(const hu_predictions *predictions, hu_byte_writer *out) {
    char number[NAME_BYTES];
    hu_status st;
    HU_TRY(hu_csv_put_text(out, "sample,file,class,name,score,x1,y1,x2,y2\n"));
    for (int64_t i = 0; i < predictions->count; i++)
        for (size_t n = 0; n < predictions->sample[i].count; n++) {
            const hu_finding *f = &predictions->finding[predictions->sample[i].first + n];
            const double numbers[] = {f->score, f->box.x1, f->box.y1, f->box.x2, f->box.y2};
            HU_TRY(hu_csv_put_number(out, "", (double)i));
            HU_TRY(hu_csv_put_word(out, predictions->sample[i].file.path));
            HU_TRY(hu_csv_put_number(out, ",", (double)f->class_number));
            HU_TRY(hu_csv_put_word(out, class_word(predictions, f->class_number, number)));
            for (int k = 0; k < 5; k++) HU_TRY(hu_csv_put_number(out, ",", numbers[k]));
            HU_TRY(hu_csv_put_text(out, "\n"));
        }
done:
    return st;
}

hu_status hu_predictions_write(const hu_predictions *predictions, const char *path, int64_t *rows) {
    hu_byte_writer out = {0};
    hu_status st =
        has_boxes(predictions) ? write_boxes(predictions, &out) : write_samples(predictions, &out);
    *rows = has_boxes(predictions) ? (int64_t)predictions->findings : predictions->count;
    if (st == HU_OK) st = hu_file_replace(path, out.data, out.size);
    hu_writer_free(&out);
    return st;
}
