/* train/diagnose.h - finds the tensor in which a non-finite number first appeared. */
#ifndef HU_TRAIN_DIAGNOSE_H
#define HU_TRAIN_DIAGNOSE_H
#include "train/micro_batch.h"

/* Runs the passes of the step again, and scans the tensors that are not rounded; trainer->culprit
 * then says where a non-finite number first appeared. */
void hu_diagnose(hu_trainer *trainer, const hu_step_batch *batch, const hu_pass_options *pass);

/* Counts the masters of parameters that are not rounded. */
void hu_scan_masters(hu_trainer *trainer);

#endif
