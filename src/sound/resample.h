/* sound/resample.h - sound at another rate. */
#ifndef HU_SOUND_RESAMPLE_H
#define HU_SOUND_RESAMPLE_H
#include "sound/decode.h"

/* Makes sound one of so many moments a second, by libsamplerate's band-limited interpolation
 * (SRC_SINC_MEDIUM_QUALITY), which computes in float32 and whose bits are those of that library.
 * Nothing happens where the rate is the same. The sound gets as long as it was, to the nearest
 * moment, at least one.
 *
 * HU_ERR_UNSUPPORTED: rates of which one is more than 256 times the other. HU_ERR_LIMIT,
 * HU_ERR_MEMORY. name: of the sound, for these. The sound is as it was after a failure.
 * Proof: tests/unit/sound_decode_test.c. */
hu_status hu_sound_resample(const char *name, int64_t rate, hu_sound *sound);

#endif
