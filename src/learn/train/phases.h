/* train/phases.h - phases of a step (as in GANs): parameters, optimizer and loss scale of each. */
#ifndef HU_TRAIN_PHASES_H
#define HU_TRAIN_PHASES_H
#include "train/inner.h"

/* Makes them for the listed parameters. HU_ERR_ARGUMENT where the masters of a turn do not stand
 * one behind the other, or an option is out of range. */
hu_status hu_phases_create(hu_trainer *trainer);
void hu_phases_free(hu_trainer *trainer);

/* What the rate of a step is multiplied with in a turn. */
double hu_phase_rate(const hu_trainer *trainer, int phase);

/* "optimizer.m" of a training without turns, "gen.optimizer.m" of a turn: the name of a section.
 * section: room for HU_SECTION_BYTES. Gives it back. */
enum { HU_SECTION_BYTES = 64 };
const char *hu_phase_section(const hu_trainer *trainer, int phase, const char *name, char *section);

#endif
