#include "session/assumed_rows.h"

#include <string.h>

#include "base/error.h"
#include "data/fields.h"
#include "model/registry.h"
#include "precision/rules.h"

/* Rows of a sample; numbers of a row of a sound, or words of the language that is translated from;
 * different tokens, or characters and the blank. */
typedef struct assumed_rows {
    const char *model; /* a glob pattern; the first that matches counts */
    int64_t length, bins, sources, classes;
} assumed_rows;

/* Ten seconds of 16 kHz, and 1.6 of 8 kHz, with English letters, blank, apostrophe and the blank of
 * CTC; English and French of Multi30k, and as many words as Micikevicius et al. 2018 had; words of
 * WikiText-103, -2 and One Billion Words, and of the test text of WikiText-2 that it has three
 * times; pieces of BERT. */
static const assumed_rows usual[] = {
    {"deepspeech2", 1000, 161, 0, 29},
    {"deepspeech2-mandarin", 1000, 161, 0, 6000},
    {"ds2-s", 160, 81, 0, 27},
    {"biglstm", 20, 0, 0, 793470},
    {"biglstm-s", 20, 0, 0, 7266},
    {"lstm-lm", 35, 0, 0, 33278},
    {"lstm-lm-s", 32, 0, 0, 7266},
    {"seq2seq-s", 32, 0, 5898, 6434},
    {"seq2seq*", 32, 0, 100000, 40000},
    {"bert-tiny-s", 64, 0, 0, 7270},
    {"bert*", 128, 0, 0, 30522},
    {"transformer-lm", 3072, 0, 0, 267744},
    {"*", 64, 0, 0, 7266},
};

/* NULL: the model neither reads nor hears. */
static const assumed_rows *find(const char *name) {
    const hu_model *model;
    const assumed_rows *row = usual;
    if (hu_model_find(name, &model) != HU_OK) return NULL;
    if (strcmp(model->task, hu_task_transcribe.name) != 0 &&
        strcmp(model->task, hu_task_pretrain.name) != 0 &&
        strcmp(model->task, hu_task_translate.name) != 0 &&
        strcmp(model->task, hu_task_language.name) != 0)
        return NULL;
    while (!hu_glob_match(row->model, name)) row++;
    return row;
}

/* The samples of a batch stand side by side in a text. */
static void set_text(int64_t length, int64_t words, hu_dataset *assumed) {
    hu_text_fields(length, words, assumed);
    assumed->streams = assumed->test.count;
}

/* Frames of 10 ms; nobody says more than a character in four of them. */
static int64_t most_letters(int64_t frames) {
    enum { FRAMES_OF_A_CHARACTER = 4 };
    return (frames + FRAMES_OF_A_CHARACTER - 1) / FRAMES_OF_A_CHARACTER;
}

hu_status hu_assumed_rows(const hu_config *config, const char *model, hu_dataset *assumed) {
    int64_t length, classes;
    hu_status st = HU_OK;
    const assumed_rows *row = find(model);
    if (!row) return HU_OK;
    HU_TRY(hu_config_i64(config, row->bins ? "data.frames" : "data.length", &length));
    HU_TRY(hu_config_i64(config, "data.classes", &classes));
    if (length == 0) length = row->length;
    if (classes == 0) classes = row->classes;
    if (row->bins)
        hu_sound_fields(length, row->bins, most_letters(length), classes, assumed);
    else if (row->sources)
        hu_sentence_fields(length, row->sources, classes, assumed);
    else if (hu_glob_match("bert*", model))
        hu_segment_fields(length, classes, assumed);
    else
        set_text(length, classes, assumed);
done:
    return st;
}

const char *hu_assumed_rows_keys(const char *model) {
    const assumed_rows *row = find(model);
    if (!row) return NULL;
    return row->bins ? "data.frames=N data.classes=N" : "data.length=N data.classes=N";
}
