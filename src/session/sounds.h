/* session/sounds.h - sounds of which a model hears or learns less than there is. */
#ifndef HU_SESSION_SOUNDS_H
#define HU_SESSION_SOUNDS_H
#include "session/listener.h"

/* Tells of each half of data that are to be written down how many sounds are cut off, and how many
 * are too short for what is said in them: no path of CTC leads there, and the loss leaves them out.
 * Nothing of other tasks. HU_ERR_MEMORY. Proof: tests/program/speech_test.py. */
hu_status hu_sounds_tell(const hu_trainer *trainer, const hu_dataset *dataset,
                         const hu_listener *listener);

#endif
