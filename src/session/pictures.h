/* session/pictures.h - what a model makes of the first pictures that it is judged by, drawn while
 * it learns. */
#ifndef HU_SESSION_PICTURES_H
#define HU_SESSION_PICTURES_H
#include "config/config.h"
#include "train/trainer.h"

/* Writes a sheet of the first samples of a half (count: at least 1, at most 64 are drawn) to a PNG
 * file. HU_ERR_ARGUMENT: the task draws no pictures, or they have neither one nor three channels;
 * HU_ERR_LIMIT: too wide; HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_session_pictures_at(hu_trainer *trainer, hu_half half, int64_t count,
                                 const char *path);

/* Writes FOLDER/pictures/step-NNNNNNNN.png behind an evaluation: the first run.pictures samples of
 * a half in the upper row, below them what the model makes of them. Nothing where the task is not
 * one of pictures of one or three channels, or run.pictures is 0. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_session_pictures(const hu_config *config, hu_trainer *trainer, hu_half half,
                              const char *folder);

#endif
