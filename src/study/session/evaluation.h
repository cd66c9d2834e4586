/* session/evaluation.h - how good a model is: beside no network, on which samples, as a whole and
 * by class. */
#ifndef HU_SESSION_EVALUATION_H
#define HU_SESSION_EVALUATION_H
#include "predict/confusion.h"
#include "render/json.h"
#include "runlog/result.h"
#include "session/saved_run.h"
#include "settings/messages.h"
#include "train/trainer.h"

/* ---- What a task's first metric is worth without a network ---- */

typedef struct hu_baseline {
    const char *name; /* "bicubic"; NULL: the task has none. Borrowed: valid forever */
    double value;     /* of the task's first metric */
} hu_baseline;

/* Measures it on a part of the data and tells it: one walk over the samples. Errors are those of
 * reading samples. */
hu_status hu_baseline_measure(const hu_task *task, const hu_dataset *dataset, hu_split_kind half,
                              const hu_listener *listener, hu_baseline *made);

/* Adds "baseline" with name and value; nothing where there is none. */
void hu_baseline_put(const hu_baseline *baseline, json_t *object);

/* ---- class facts ---- */

/* What the latest evaluation gave of each class of the data, where metrics
 * of the task are means over classes. */

/* Adds "test_classes" or "validation_classes", as the half is: a list of {"name", "ap", ...}, null
 * where no sample has the class. Nothing where nothing is known of any class, or object is NULL.
 * HU_ERR_MEMORY leaves the object as it was: the list has all classes in the order of their
 * numbers. Proof: tests/unit/session_class_facts_test.c. */
hu_status hu_class_facts_put(json_t *object, const hu_trainer *trainer, const hu_dataset *dataset,
                             hu_split_kind half);

/* ---- judged ---- */

/* Which samples say how good a model is: those held out, or the test samples. */

/* eval.part of a training. ends_with_test: the test samples are read beside them, once, at the end.
 * HU_ERR_ARGUMENT: validation was asked for, and nothing is held out. */
hu_status hu_evaluation_read(const hu_config *config, const hu_dataset *dataset,
                             hu_split_kind *evaluation, bool *ends_with_test);

/* "validation accuracy 80.00 % of 500 held out, test accuracy 81.20 %"; held 0: nothing was
 * followed but the test samples. */
enum { HU_EVALUATION_TEXT_BYTES = 256 };
const char *hu_evaluation_text(const hu_result_metric *test, const hu_result_metric *validation,
                               int64_t held, char text[HU_EVALUATION_TEXT_BYTES]);

/* A run that is looked at again. */
typedef struct hu_evaluation {
    hu_split_kind half; /* as the command asked */
    const char *part;   /* "validation" or "test". Borrowed: valid forever */
    double metrics[HU_METRICS_MAX], loss;
    hu_baseline baseline;
    hu_confusion confusion; /* of tasks that say one class of each sample, else all zero */
} hu_evaluation;

/* All metrics of the task and the loss over the part that the command asks for (else the test
 * samples, whatever the training was followed on), which is read once. HU_ERR_ARGUMENT as above.
 * Owner frees with hu_evaluation_free, also on failure. */
hu_status hu_evaluation_run(const hu_config *config, const hu_listener *listener, hu_saved_run *run,
                            hu_evaluation *made);

/* "step 740: test mean ap 53.48 %  test mean ap 11 52.93 %  test loss 2.1000  (master weights)". */
enum { HU_EVALUATION_LINE_BYTES = 512 };

/* The object of `eval --json`: the metrics as "test_NAME", the first one under "metric" too, and
 * those of each class. New reference; NULL if out of memory. */
json_t *hu_evaluation_json(const hu_saved_run *run, const hu_evaluation *made);

/* What a person reads: the line, and tables of what is known of each class. Owner frees *text. */
hu_status hu_evaluation_print(const hu_saved_run *run, const hu_evaluation *made, char **text);

/* Writes the files that the command asks for: out.file, a CSV of the classes, and out.page. Each is
 * told. HU_ERR_ARGUMENT where the task says no classes, HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_evaluation_write(const hu_config *config, const hu_listener *listener,
                              const hu_saved_run *run, const hu_evaluation *made);

void hu_evaluation_free(hu_evaluation *made);

#endif
