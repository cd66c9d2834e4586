#include "predict/predictions.h"

#include "base/error.h"
#include "base/memory.h"
#include "task/sequence.h"

/* Where findings go, and how large the picture is that their boxes lie in. */
typedef struct collecting {
    hu_said *said;
    double width, height;
    hu_status status;
} collecting;

/* Shares of the picture become pixels. A failure ends the list, and is told behind the sample. */
static void add_finding(void *context, const hu_finding *found) {
    collecting *c = context;
    hu_said *said = c->said;
    if (c->status == HU_OK)
        c->status = hu_grow(&said->finding, said->findings, &said->capacity, sizeof *said->finding);
    if (c->status != HU_OK) return;
    hu_finding *to = &said->finding[said->findings++];
    *to = *found;
    to->box.x1 *= c->width;
    to->box.x2 *= c->width;
    to->box.y1 *= c->height;
    to->box.y2 *= c->height;
}

/* The size of the file, or of the samples. */
static collecting collector_of(hu_said *said, const hu_sample_file *file) {
    enum { PICTURE_RANK = 3 };
    const hu_field *field = hu_dataset_fields(said->dataset, HU_HALF_TEST);
    int image = hu_dataset_find(said->dataset, said->task->field[0].field);
    collecting c = {.said = said, .width = 1.0, .height = 1.0};
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
static hu_status note_text(hu_said *said, const hu_metric_call *call, bool is_truth, char **text) {
    int64_t most = call->rows > call->targets ? call->rows : call->targets;
    hu_status st = HU_OK;
    if (!said->number) HU_TRY(HU_NEW_ARRAY(&said->number, (size_t)most));
    int64_t count = said->task->spell(call, is_truth, said->number);
    st = hu_words_join(&said->words, said->number, count, false, text);
done:
    return st;
}

/* The sentence that a sample is the translation of. */
static hu_status note_source(hu_said *said, const hu_loader *loader, int64_t position,
                             char **text) {
    const hu_task_field *source = &said->task->field[HU_TRANSLATION_SOURCE],
                        *length = &said->task->field[HU_TRANSLATION_SOURCE_LENGTH];
    int f = hu_dataset_find(said->dataset, source->field);
    float words = 0.0f, *row = NULL;
    int32_t *number = NULL;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&row, (size_t)said->dataset->field[f].extent[0]));
    HU_TRY(HU_NEW_ARRAY(&number, (size_t)said->dataset->field[f].extent[0]));
    hu_loader_fill(loader, f, source->reading, position, 1, row);
    f = hu_dataset_find(said->dataset, length->field);
    hu_loader_fill(loader, f, length->reading, position, 1, &words);
    for (int64_t t = 0; t < (int64_t)words; t++) number[t] = (int32_t)row[t];
    st = hu_words_join(&said->source_words, number, (int64_t)words, false, text);
done:
    hu_free(row);
    hu_free(number);
    return st;
}

static hu_status note_texts(hu_said *said, const hu_metric_call *call, const hu_loader *loader,
                            int64_t position) {
    hu_said_sample *sample = &said->sample[position];
    hu_status st = HU_OK;
    if (!said->task->spell) return HU_OK;
    if (said->task->writes) HU_TRY(note_source(said, loader, position, &sample->source));
    if (call->prediction) HU_TRY(note_text(said, call, false, &sample->text));
    if (!said->dataset->lacks_truth) HU_TRY(note_text(said, call, true, &sample->truth));
done:
    return st;
}

/* Columns that say how right a sample is have no number where nobody knows. */
static void drop_unknown(const hu_said *said, double *cells) {
    for (int c = 0; said->dataset->lacks_truth && c < hu_task_column_count(said->task); c++)
        if (said->task->column[c].needs_truth) cells[c] = -1.0;
}

/* Cells, texts and findings of a sample, and its file: the order of the data set is that of its
 * files. */
static hu_status note_sample(void *context, int64_t position, const hu_metric_call *call,
                             const hu_loader *loader) {
    hu_said *said = context;
    hu_said_sample *sample = &said->sample[position];
    int64_t index = hu_loader_index(loader, position);
    hu_status st;
    HU_TRY(hu_split_file(&said->dataset->test, index, &sample->file));
    said->has_files = said->has_files || sample->file.path;
    double *cells = said->cells + position * hu_task_column_count(said->task);
    said->task->describe(call, cells);
    drop_unknown(said, cells);
    HU_TRY(note_texts(said, call, loader, position));
    sample->first = said->findings;
    if (!said->task->find) return HU_OK;
    collecting c = collector_of(said, &sample->file);
    said->task->find(call, add_finding, &c);
    sample->count = said->findings - sample->first;
    st = c.status;
done:
    return st;
}

hu_status hu_said_make(hu_trainer *trainer, const hu_dataset *dataset, int64_t count,
                       hu_said *said) {
    hu_status st;
    *said = (hu_said){.task = hu_trainer_task(trainer), .dataset = dataset, .count = count};
    size_t columns = (size_t)hu_task_column_count(said->task);
    HU_TRY(HU_NEW_ARRAY(&said->cells, (size_t)count * columns));
    HU_TRY(HU_NEW_ARRAY(&said->sample, (size_t)count));
    if (said->task->spell) HU_TRY(hu_words_create(dataset, &said->words));
    if (said->task->writes) HU_TRY(hu_words_of_source(dataset, &said->source_words));
    st = hu_trainer_show(trainer, count, note_sample, said);
done:
    return st;
}

void hu_said_free(hu_said *said) {
    for (int64_t i = 0; said->sample && i < said->count; i++) {
        hu_free(said->sample[i].file.path);
        hu_free(said->sample[i].source);
        hu_free(said->sample[i].text);
        hu_free(said->sample[i].truth);
    }
    hu_words_free(&said->words);
    hu_words_free(&said->source_words);
    hu_free(said->number);
    hu_free(said->sample);
    hu_free(said->cells);
    hu_free(said->finding);
    *said = (hu_said){0};
}

const double *hu_said_row(const hu_said *said, int64_t sample) {
    return said->cells + sample * hu_task_column_count(said->task);
}

hu_judgement hu_said_judgement(const hu_said *said, int64_t sample) {
    return said->task->judge ? said->task->judge(hu_said_row(said, sample)) : HU_UNJUDGED;
}
