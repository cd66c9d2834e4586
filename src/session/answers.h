/* session/answers.h - what a model makes of test samples, as pictures: input, truth and prediction
 * beside each other. */
#ifndef HU_SESSION_ANSWERS_H
#define HU_SESSION_ANSWERS_H
#include "train/trainer.h"

/* The folder of them in the folder of a run, how many a training leaves there, and how many there
 * may be. */
#define HU_ANSWERS_FOLDER "answers"
enum { HU_ANSWERS_OF_TRAINING = 3, HU_ANSWERS_MOST = 10, HU_ANSWERS_FOLDER_BYTES = 256 };

/* "answers" for the run's own data (data NULL), and "answers-NAME" for others: NAME is the last
 * part of their path or the name of their kind ("pairs:sets/Set5": "answers-Set5"). So one of them
 * does not overwrite the other. */
const char *hu_answers_folder(const char *data, char folder[HU_ANSWERS_FOLDER_BYTES]);

/* Writes DIRECTORY/FOLDER/00.png, 01.png ... of the first count test samples (fewer where there
 * are no more, HU_ANSWERS_MOST at most) in place of those that an earlier call left there; nothing
 * where the task's answers are no pictures. Beside a label map stands 00-labels.png, its numbers as
 * bytes. *written: how many. Errors are those of evaluation and
 * of files. */
hu_status hu_answers_write(hu_trainer *trainer, const hu_dataset *dataset, const char *directory,
                           const char *folder, int64_t count, int64_t *written);

#endif
