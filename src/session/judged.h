/* session/judged.h - which samples say how good a model is: those held out, or the test samples. */
#ifndef HU_SESSION_JUDGED_H
#define HU_SESSION_JUDGED_H
#include "journal/result.h"
#include "session/baseline.h"
#include "session/confusion.h"
#include "session/saved_run.h"

/* eval.part of a training. ends_with_test: the test samples are read beside them, once, at the end.
 * HU_ERR_ARGUMENT: validation was asked for, and nothing is held out. */
hu_status hu_judged_read(const hu_config *config, const hu_dataset *dataset, hu_half *judged,
                         bool *ends_with_test);

/* "validation accuracy 80.00 % of 500 held out, test accuracy 81.20 %"; held 0: nothing was
 * followed but the test samples. */
enum { HU_JUDGED_TEXT_BYTES = 256 };
const char *hu_judged_text(const hu_result_metric *test, const hu_result_metric *validation,
                           int64_t held, char text[HU_JUDGED_TEXT_BYTES]);

/* A run that is looked at again. */
typedef struct hu_judged {
    hu_half half;     /* as the command asked */
    const char *part; /* "validation" or "test". Borrowed: valid for ever */
    double metrics[HU_METRICS_MAX], loss;
    hu_baseline baseline;
    hu_confusion confusion; /* of tasks that say one class of each sample, else all zero */
} hu_judged;

/* All metrics of the task and the loss over the part that the command asks for (else the test
 * samples, whatever the training was followed on), which is read once. HU_ERR_ARGUMENT as above.
 * Owner frees with hu_judged_free, also on failure. */
hu_status hu_judged_run(const hu_config *config, const hu_listener *listener, hu_saved_run *run,
                        hu_judged *made);

/* "step 740: test mean ap 53.48 %  test mean ap 11 52.93 %  test loss 2.1000  (master weights)". */
enum { HU_JUDGED_LINE_BYTES = 512 };
const char *hu_judged_line(const hu_saved_run *run, const hu_judged *made,
                           char line[HU_JUDGED_LINE_BYTES]);

/* The object of `eval --json`: the metrics as "test_NAME", the first one under "metric" too, and
 * those of each class. New reference; NULL if out of memory. */
json_t *hu_judged_json(const hu_saved_run *run, const hu_judged *made);

/* What a person reads: the line, and tables of what is known of each class. Owner frees *text. */
hu_status hu_judged_print(const hu_saved_run *run, const hu_judged *made, char **text);

/* Writes the files that the command asks for: out.file, a CSV of the classes, and out.page. Each is
 * told. HU_ERR_ARGUMENT where the task says no classes, HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_judged_write(const hu_config *config, const hu_listener *listener,
                          const hu_saved_run *run, const hu_judged *made);

void hu_judged_free(hu_judged *made);

#endif
