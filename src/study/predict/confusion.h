/* predict/confusion.h - which classes a model takes for which, and what it is wrong about. */
#ifndef HU_SESSION_CONFUSION_H
#define HU_SESSION_CONFUSION_H
#include "base/bytes.h"
#include "render/json.h"
#include "train/trainer.h"

/* A sample whose class is another one than the model says. */
typedef struct hu_confusion_mistake {
    int64_t sample; /* its number in the half */
    int64_t truth, predicted;
    double probability; /* of what is said */
    char *file;         /* NULL: it has none of its own */
    uint8_t *pixels;    /* [extents of hu_confusion]; NULL: samples are no pictures */
} hu_confusion_mistake;

/* All zero: nothing is kept, and the functions below write nothing. */
typedef struct hu_confusion {
    const hu_dataset *dataset;
    const hu_task *task;
    const hu_split *split;
    int truth, predicted, probability; /* columns of the task */
    int64_t classes;
    int64_t *count; /* [classes, classes + 1] samples of a class by what is said of them, the last
                       column being nothing */
    hu_confusion_mistake
        *mistake; /* [mistakes] the most confident first, of equal ones the first sample */
    size_t mistakes, most;
    int field;         /* of the pictures */
    int64_t extent[3]; /* height, width and channels (1 or 3); all 0: there are no pictures */
    float *picture;    /* room for one */
} hu_confusion;

/* Makes room for the classes and so many mistakes; leaves *made all zero where the task does not
 * say one class of each sample. HU_ERR_MEMORY. Owner frees with hu_confusion_free, also on failure.
 */
hu_status hu_confusion_create(const hu_trainer *trainer, const hu_dataset *dataset,
                              hu_split_kind half, size_t most, hu_confusion *made);
void hu_confusion_free(hu_confusion *confusion);

/* Notes a sample: a hu_sample_visitor whose context is the confusion. */
hu_status hu_confusion_note(void *confusion, int64_t index, const hu_metric_call *sample,
                            const hu_loader *loader);

/* What is known of a class. Shares are NaN of nothing. */
typedef struct hu_class_figures {
    int64_t samples, predicted, right;
    double recall, precision, f1; /* right / samples, right / said, 2 right / (samples + said) */
    int64_t other, others; /* the class that it is most often taken for, -1: none; how often */
} hu_class_figures;

/* The name of a class, or its number, written into room for it. */
enum { HU_CLASS_WORD_BYTES = 24 };

/* As tables for people: figures of each class and, of up to 20 classes, the matrix, else the 20
 * pairs that are confused most often. NULL where nothing is kept. Owner frees *text. */
hu_status hu_confusion_text(const hu_confusion *confusion, char **text);

/* Adds the list "<part>_classes" and the object "confusion" {"classes": names, "matrix": rows of
 * true classes, of which the last number is that of samples of which nothing is said}; of more than
 * 100 classes "pairs" instead, [true, said or -1, samples] of what there is. */
hu_status hu_confusion_put(const hu_confusion *confusion, const char *part, json_t *object);

/* Writes or replaces a CSV: a row for each class, its figures and its row of the matrix. */
hu_status hu_confusion_write(const hu_confusion *confusion, const char *path);

/* Writes or replaces a page without scripts: figures, matrix, and the mistakes with their pictures.
 * title, line: what was judged. Proof of all: tests/program/judge_test.py. */
hu_status hu_confusion_page(const hu_confusion *confusion, const char *title, const char *line,
                            const char *path);

/* ---- The classes that are confused most often ---- */

/* Classes whose matrix is shown whole, and pairs that are shown of more. */
enum { HU_CONFUSION_SHOWN = 20 };

typedef struct hu_confusion_pair {
    int64_t truth, predicted, samples;
} hu_confusion_pair;

/* Up to `most` pairs of different classes, most samples first, of equal ones the first classes.
 * Returns how many. */
size_t hu_confusion_pairs(const hu_confusion *confusion, hu_confusion_pair *pair, size_t most);

/* ---- What a finished training takes for what, kept in its folder ---- */

/* Mistakes that a run's folder has. */
enum { HU_MISTAKES_KEPT = 12 };

/* Writes FOLDER/confusion.json: {"step", "part", "<part>_classes", "confusion"} as
 * hu_confusion_put, and "mistakes": [{"sample", "file" (null), "truth", "said": names,
 * "probability", "picture" (null)}], the most confident first, with FOLDER/mistakes/NN.png. Nothing
 * where nothing is kept. HU_ERR_MEMORY, HU_ERR_IO. */
hu_status hu_confusion_keep(const hu_confusion *confusion, const char *folder, const char *part,
                            int64_t step);

#endif
