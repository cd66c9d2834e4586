#include "predict/predictions.h"

#include "base/error.h"
#include "base/memory.h"
#include "task/sequence.h"

/* Where findings go, and how large the picture is that their boxes lie in. */
typedef struct collecting {
    hu_predictions *predictions;
    double width, height;
    hu_status status;
} collecting;

/* Shares of the picture become pixels. A failure ends the list, and is told behind the sample. */
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
    const hu_field *field = hu_dataset_fields(predictions->dataset, HU_HALF_TEST);
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

const double *hu_predictions_row(const hu_predictions *predictions, int64_t sample) {
    return predictions->cells + sample * hu_task_column_count(predictions->task);
}

hu_judgement hu_predictions_judgement(const hu_predictions *predictions, int64_t sample) {
    return predictions->task->judge
               ? predictions->task->judge(hu_predictions_row(predictions, sample))
               : HU_UNJUDGED;
}
