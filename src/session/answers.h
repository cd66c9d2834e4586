/* session/answers.h - what a model makes of test samples, as pictures: input, truth and prediction
 * beside each other. */
#ifndef HU_SESSION_ANSWERS_H
#define HU_SESSION_ANSWERS_H
#include "train/trainer.h"

/* The folder of them in the folder of a run, and how many a training leaves there. */
#define HU_ANSWERS_FOLDER "answers"
enum { HU_ANSWERS_OF_TRAINING = 3 };

/* Writes DIRECTORY/answers/00.png, 01.png ... of the first count test samples (fewer where there
 * are no more); nothing where the task's answers are no pictures. *written: how many. Errors are
 * those of evaluation and of files. */
hu_status hu_answers_write(hu_trainer *trainer, const hu_dataset *dataset, const char *directory,
                           int64_t count, int64_t *written);

#endif
