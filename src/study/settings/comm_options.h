/* settings/comm_options.h - the keys comm.* as the trainer takes them. */
#ifndef HU_SESSION_COMM_OPTIONS_H
#define HU_SESSION_COMM_OPTIONS_H
#include "config/config.h"
#include "train/options.h"

/* The schedule of those who leave it open: owners must be able to add in float32 where the scaling
 * wants that. Borrowed: valid for ever. */
const char *hu_default_schedule(const hu_comm_scaling *scaling);

/* comm.bucket in bytes; left open, what suits so many workers is set. */
hu_status hu_options_bucket(hu_config *config, int32_t workers, int64_t *bytes);

/* Reads what does not depend on schedule, scaling and format: rounding, kahan, error_feedback. */
hu_status hu_options_rounding(const hu_config *config, hu_comm_options *options);

/* All keys comm.*. Nothing travels (workers 0) where there is one worker and the gradient is not
 * rounded on its way. HU_ERR_ARGUMENT where keys do not fit each other, or where one was asked for
 * that would change nothing. */
hu_status hu_options_comm(hu_config *config, hu_train_comm *comm);

#endif
