/* predict/sample_images.h - samples, answers and pictures in rows, as one PNG file. */
#ifndef HU_SESSION_SAMPLE_IMAGES_H
#define HU_SESSION_SAMPLE_IMAGES_H
#include <stdint.h>

#include <halfulp/status.h>

#include "config/config.h"
#include "train/trainer.h"

/* ---- answers ---- */

/* What a model makes of test samples, as pictures: input, truth and prediction
 * beside each other. */

/* The folder of them in the folder of a run, how many a training leaves there, and how many there
 * may be. */
#define HU_ANSWERS_FOLDER "answers"
enum { HU_ANSWERS_OF_TRAINING = 3, HU_ANSWERS_MOST = 10, HU_ANSWERS_FOLDER_BYTES = 256 };

/* "answers" for the run's own data (data NULL), and "answers-NAME" for others: NAME is the last
 * part of their path or the name of their kind ("pairs:sets/Set5": "answers-Set5"). So one of them
 * does not overwrite the other. */
const char *hu_sample_images_folder(const char *data, char folder[HU_ANSWERS_FOLDER_BYTES]);

/* Writes DIRECTORY/FOLDER/00.png, 01.png ... of the first count test samples (fewer where there
 * are no more, HU_ANSWERS_MOST at most) in place of those that an earlier call left there; nothing
 * where the task's answers are no pictures. Beside a label map stands 00-labels.png, its numbers as
 * bytes. *written: how many. Errors are those of evaluation and
 * of files. */
hu_status hu_sample_images_write(hu_trainer *trainer, const hu_dataset *dataset,
                                 const char *directory, const char *folder, int64_t count,
                                 int64_t *written);

/* ---- pictures ---- */

/* What a model makes of the first pictures that it is judged by, drawn while
 * it learns. */

/* Writes a sheet of the first samples of a half (count: at least 1, at most 64 are drawn) to a PNG
 * file. HU_ERR_ARGUMENT: the task draws no pictures, or they have neither one nor three channels;
 * HU_ERR_LIMIT: too wide; HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_session_pictures_at(hu_trainer *trainer, hu_split_kind half, int64_t count,
                                 const char *path);

/* Writes FOLDER/pictures/step-NNNNNNNN.png after an evaluation: the first run.pictures samples of
 * a half in the upper row, below them what the model makes of them. Nothing where the task is not
 * one of pictures of one or three channels, or run.pictures is 0. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_session_pictures(const hu_config *config, hu_trainer *trainer, hu_split_kind half,
                              const char *folder);

#endif
