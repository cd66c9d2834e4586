/* sound/decode.h - sound from the bytes of a file: WAV, AIFF, FLAC, OGG (Vorbis, Opus) and what
 * else libsndfile reads. */
#ifndef HU_SOUND_DECODE_H
#define HU_SOUND_DECODE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Largest file that is read, and most moments of a sound. */
#define HU_SOUND_FILE_MAX ((size_t)1 << 30)
#define HU_SOUND_MOMENTS_MAX ((int64_t)1 << 29)

/* One channel: the mean of those of the file. */
typedef struct hu_sound {
    int64_t rate;   /* moments of a second */
    int64_t count;  /* moments */
    double *sample; /* [count] from -1 to 1: whole numbers of n bits over 2^(n - 1), floats as they
                       are; owner frees with hu_free */
} hu_sound;

/* Reads a file of one of the kinds by its contents, with any number of channels, which are added
 * in their order and divided by their number. Of WAV a size of "data" of 0, or of 0x7ffff000 and
 * more, as programs write that cannot go back, and any size of RIFF mean all that is there.
 *
 * HU_ERR_CORRUPT names the file, what was found and what was expected: no sound file, a chunk or a
 * stream that is cut off or damaged, no moment, a number that is not finite. HU_ERR_UNSUPPORTED: a
 * sound file of another kind or coding, with the command that converts it. HU_ERR_LIMIT,
 * HU_ERR_MEMORY. sound->sample is NULL on failure.
 * Proof: tests/unit/sound_decode_test.c. */
hu_status hu_sound_decode(const char *name, const uint8_t *data, size_t bytes, hu_sound *sound);

#endif
