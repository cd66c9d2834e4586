/* settings/loss_scale_from_run.h - scaler.init=auto:RUN: a loss scale from the gradients that a run
 * recorded. Source: Micikevicius et al., section 3.2: "a constant scaling factor [...] directly if
 * gradient statistics are available, by choosing a factor so that its product with the maximum
 * absolute gradient value is below 65,504". */
#ifndef HU_SESSION_LOSS_SCALE_FROM_RUN_H
#define HU_SESSION_LOSS_SCALE_FROM_RUN_H
#include "config/config.h"
#include "precision/precision.h"
#include "train/trainer.h"

/* Whether scaler.init names a run. */
bool hu_loss_scale_is_from_run(const hu_config *config);

/* "none", "constant, 1024", "dynamic, from 65536", or what a dynamic one came to: "dynamic, 8192".
 * text: room for HU_SCALING_BYTES. Gives text. */
enum { HU_SCALING_BYTES = 64 };
const char *hu_loss_scaling_words(const hu_config *config, const hu_trainer *trainer, char *text);

/* Puts the number in the place of the run's name; nothing happens where none is named. It is the
 * largest power of two S with S max|g| below the largest finite number of the format of g, for
 * gradients of activations and of parameters; 1 where no gradient has a format with an end.
 * HU_ERR_MISSING: no such run, or it recorded no gradients. */
hu_status hu_loss_scale_from_run(hu_config *config, const hu_precision *precision);

#endif
