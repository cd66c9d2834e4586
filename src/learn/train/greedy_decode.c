#include "train/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/tokenizer.h"
#include "planner/planner.h"
#include "task/task.h"
#include "train/trainer.h"

enum { FREE_WORDS = 5 };

/* Samples on their way through the passes. */
typedef struct decoding {
    const hu_trainer *trainer;
    const hu_loader *loader;
    hu_writer *writer; /* [count] of the next pass */
    int64_t count, next;
    int64_t rows; /* words that a translation has room for */
} decoding;

hu_status hu_greedy_decoding_create(hu_trainer *trainer, int64_t samples) {
    hu_status st = HU_OK;
    if (!trainer->task->writes) return HU_OK;
    int64_t rows = trainer->shapes.value[HU_TRANSLATION_TARGETS].extent[0];
    HU_TRY(HU_NEW_ARRAY(&trainer->room.said, (size_t)(samples * rows)));
    HU_TRY(HU_NEW_ARRAY(&trainer->room.writers, (size_t)trainer->part));
    /* Places end one by one: passes may be of any smaller number of samples. */
    for (int64_t n = 1; n < trainer->part; n++) HU_TRY(hu_run_reserve(trainer->run, n));
done:
    return st;
}

void hu_greedy_decoding_free(hu_evaluation_scratch *room) {
    hu_free(room->said);
    hu_free(room->writers);
}

static float *said_of(const decoding *d, const hu_writer *writer) {
    return d->trainer->room.said + writer->sample * d->rows;
}

/* The sample's own numbers of a field. */
static void load(const decoding *d, uint32_t field, int64_t sample, float *row) {
    hu_loader_fill(d->loader, d->trainer->shapes.field[field],
                   d->trainer->task->field[field].reading, sample, 1, row);
}

/* row [rows]: <bos>, the words so far, and what is guessed to follow. */
static void fill_tokens(const decoding *d, const hu_writer *writer, float *row) {
    row[0] = (float)HU_SENTENCE_BEGIN;
    memcpy(row + 1, said_of(d, writer), (size_t)(d->rows - 1) * sizeof *row);
}

/* A hu_source: sample k of the pass is that of writer k. No row has a target, so that losses look
 * at none. */
static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const decoding *d = context;
    int64_t numbers = hu_shape_elements(&d->trainer->shapes.value[field]);
    for (int64_t k = 0; k < count; k++) {
        const hu_writer *writer = &d->writer[first + k];
        float *row = rows + k * numbers;
        if (field == HU_TRANSLATION_TOKENS)
            fill_tokens(d, writer, row);
        else if (field == HU_TRANSLATION_TARGETS)
            for (int64_t t = 0; t < d->rows; t++) row[t] = HU_UNLABELLED;
        else if (field == HU_TRANSLATION_LENGTH)
            row[0] = (float)writer->most;
        else
            load(d, field, writer->sample, row);
    }
}

/* Places that are free take up the next samples, after those that go on. */
static void take_up(decoding *d, int64_t end) {
    const hu_trainer *trainer = d->trainer;
    int64_t left = 0;
    for (int64_t k = 0; k < d->count; k++)
        if (!d->writer[k].is_done) d->writer[left++] = d->writer[k];
    for (; left < trainer->part && d->next < end; left++) {
        float length;
        hu_writer *writer = &d->writer[left];
        *writer = (hu_writer){.sample = d->next++};
        load(d, HU_TRANSLATION_SOURCE_LENGTH, writer->sample, &length);
        writer->most = 2 * (int64_t)length + FREE_WORDS;
        if (writer->most > d->rows) writer->most = d->rows;
        for (int64_t t = 0; t < d->rows; t++) said_of(d, writer)[t] = HU_SENTENCE_PADDING;
    }
    d->count = left;
}

/* The likeliest word of a row of scores; <eos> where one is NaN, which ends the translation. */
static float word_of(const decoding *d, const float *row) {
    int64_t word = hu_metric_class(d->trainer->shapes.outputs, row);
    return (float)(word < 0 ? HU_SENTENCE_END : word);
}

/* scores [rows, outputs]. The next word is that of its row; the row after it has seen this word
 * if it was guessed, and then tells one more. After the first wrong guess rows tell new ones. */
static void write_words(const decoding *d, hu_writer *writer, const float *scores) {
    float *said = said_of(d, writer);
    int64_t outputs = d->trainer->shapes.outputs, t = writer->words;
    for (bool is_right = true; t < writer->most; t++) {
        float word = word_of(d, scores + t * outputs), guess = said[t];
        writer->is_done = is_right && word == (float)HU_SENTENCE_END;
        if (writer->is_done) break;
        said[t] = word;
        writer->words += is_right;
        is_right = is_right && word == guess;
    }
    writer->is_done = writer->is_done || writer->words == writer->most;
    for (t = writer->words; writer->is_done && t < d->rows; t++) said[t] = HU_UNLABELLED;
}

/* Samples come in order: those that are wanted are written where the first writer is after them.
 */
static bool is_written(const decoding *d, int64_t wanted) {
    for (int64_t k = 0; k < d->count; k++)
        if (d->writer[k].sample < wanted) return false;
    return d->next >= wanted;
}

hu_status hu_decode(hu_trainer *trainer, hu_run *run, hu_loader *loader,
                    const hu_pass_options *pass, int64_t wanted, bool *done) {
    hu_status st = HU_OK;
    hu_pass_options own = *pass;
    hu_pass_result result;
    decoding d = {.trainer = trainer,
                  .loader = loader,
                  .writer = trainer->room.writers,
                  .rows = trainer->shapes.value[HU_TRANSLATION_TARGETS].extent[0]};
    const hu_source source = {&d, fill};
    hu_value_id made = hu_task_prediction(hu_run_graph(run));
    *done = true;
    for (take_up(&d, hu_loader_count(loader)); *done && !is_written(&d, wanted);
         take_up(&d, hu_loader_count(loader))) {
        own.samples = d.count;
        HU_TRY(hu_run_forward(run, &own, &source, &result));
        *done = !hu_run_has_unencodable(run);
        if (!*done) break;
        const float *rows = hu_run_value(run, made, d.count, trainer->room.prediction);
        for (int64_t k = 0; k < d.count; k++)
            write_words(&d, &d.writer[k], rows + k * d.rows * trainer->shapes.outputs);
    }
done:
    return st;
}
