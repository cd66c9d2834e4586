/* precision/precision_epochs.h - precision by epoch: a list of precisions, each from an epoch on.
 *
 * Source: Han, Si, Demmel, You, "Auto-Precision Scaling for Distributed Deep Learning", table 6:
 * float32 in the first 30 epochs, 8 bits in the other 60. A phase begins with the first step of its
 * epoch and lasts until the next phase begins; masters, optimizer state and loss scale go on
 * through all of them.
 */
#ifndef HU_PRECISION_PRECISION_EPOCHS_H
#define HU_PRECISION_PRECISION_EPOCHS_H
#include "precision/names.h"

/* Makes a precision from the text of one phase; context is the caller's. */
typedef hu_status hu_phase_reader(void *context, const char *text, hu_precision *precision);

/* Whether a text is meant as a list of phases: it begins with an epoch and a colon. */
bool hu_precision_is_list(const char *text);

/* Reads "0: fp32, 30: hfp8": "EPOCH: PRECISION, ..." with epochs that ascend from 0. Each PRECISION
 * goes through read. Loss scaling is on if it is on in any phase, promotion is watched if any phase
 * asks for it, evaluation takes the masters if it does in all phases. The name is the list.
 * HU_ERR_PARSE, HU_ERR_ARGUMENT and the errors of read, with the epoch that they are about; then
 * *precision is zero. */
hu_status hu_precision_parse_list(const char *text, hu_phase_reader *read, void *context,
                                  hu_precision *precision);

/* The precision of the steps of an epoch: a phase, or the precision itself if it has none.
 * Borrowed: valid as long as the precision. */
const hu_precision *hu_precision_at(const hu_precision *precision, int64_t epoch);

#endif
