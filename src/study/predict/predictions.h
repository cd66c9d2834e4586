/* predict/predictions.h - predictions of a model on test samples. */
#ifndef HU_SESSION_PREDICTIONS_H
#define HU_SESSION_PREDICTIONS_H
#include "data/reader.h"
#include "data/vocabulary.h"
#include "render/json.h"
#include "train/trainer.h"

/* One sample: where it comes from, the texts of a task that has some, and which of the findings are
 * its own. */
typedef struct hu_predictions_sample {
    hu_sample_file file;
    char *source;       /* what is translated; NULL: nothing is */
    char *text, *truth; /* what the model says, and what is true; NULL: nothing */
    size_t first, count;
} hu_predictions_sample;

typedef struct hu_predictions {
    const hu_task *task;
    const hu_dataset *dataset;
    hu_words words;                /* of a task that has texts */
    hu_words source_words;         /* of a task that translates */
    int32_t *number;               /* private: room for the numbers of a text */
    int64_t count;                 /* of samples */
    double *cells;                 /* [count, columns of the task] */
    hu_predictions_sample *sample; /* [count] */
    hu_finding *finding; /* [findings], sample by sample; of boxes in pixels of the picture's file,
                            or of the sample where it has none */
    size_t findings, capacity;
    bool has_files; /* the samples come from files of their own */
    int64_t top;    /* of tables and files: classes that are told of each sample, the likeliest
                       first; below 2: that one. Set after hu_predictions_make */
} hu_predictions;

/* Asks for the first count test samples. Owner frees with hu_predictions_free, also on failure.
 * Errors are those of evaluation. */
hu_status hu_predictions_make(hu_trainer *trainer, const hu_dataset *dataset, int64_t count,
                              hu_predictions *predictions);
void hu_predictions_free(hu_predictions *predictions);

hu_judgement hu_predictions_judgement(const hu_predictions *predictions, int64_t sample);

/* An object for each sample: the task's columns by their titles, "file", "source", "text" and
 * "truth" of a task of texts, the names of classes ("label_name"), and a list of what is found.
 * NULL if out of memory. New reference. */
json_t *hu_predictions_json(const hu_predictions *predictions);

/* The same as a table for people, with a second one of boxes; of long texts their beginnings. Owner
 * frees *text with hu_free. */
hu_status hu_predictions_text(const hu_predictions *predictions, char **text);

/* Writes or replaces a CSV: a row for each sample, or for each box where the task finds boxes.
 * *rows: how many. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_predictions_write(const hu_predictions *predictions, const char *path, int64_t *rows);

#endif
