/* session/said.c - asks a model for what it says of samples, one after the other, and keeps it. */
#include "session/said.h"

#include "base/error.h"
#include "base/memory.h"

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

/* Cells and findings of a sample, and its file: the order of the data set is that of its files. */
static hu_status note_sample(void *context, int64_t position, const hu_metric_call *call,
                             const hu_loader *loader) {
    hu_said *said = context;
    hu_said_sample *sample = &said->sample[position];
    int64_t index = hu_loader_index(loader, position);
    hu_status st = hu_split_file(&said->dataset->test, index, &sample->file);
    if (st != HU_OK) return st;
    said->has_files = said->has_files || sample->file.path;
    said->task->describe(call, said->cells + position * hu_task_column_count(said->task));
    sample->first = said->findings;
    if (!said->task->find) return HU_OK;
    collecting c = collector_of(said, &sample->file);
    said->task->find(call, add_finding, &c);
    sample->count = said->findings - sample->first;
    return c.status;
}

hu_status hu_said_make(hu_trainer *trainer, const hu_dataset *dataset, int64_t count,
                       hu_said *said) {
    hu_status st;
    *said = (hu_said){.task = hu_trainer_task(trainer), .dataset = dataset, .count = count};
    size_t columns = (size_t)hu_task_column_count(said->task);
    HU_TRY(HU_NEW_ARRAY(&said->cells, (size_t)count * columns));
    HU_TRY(HU_NEW_ARRAY(&said->sample, (size_t)count));
    st = hu_trainer_show(trainer, count, note_sample, said);
done:
    return st;
}

void hu_said_free(hu_said *said) {
    for (int64_t i = 0; said->sample && i < said->count; i++) hu_free(said->sample[i].file.path);
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
