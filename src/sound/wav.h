/* sound/wav.h - sound from the bytes of a WAV file. */
#ifndef HU_SOUND_WAV_H
#define HU_SOUND_WAV_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Largest file that is read. */
#define HU_WAV_FILE_MAX ((size_t)1 << 30)

typedef struct hu_wav {
    int64_t rate;    /* samples of a second */
    int64_t count;   /* samples */
    int16_t *sample; /* [count] */
} hu_wav;

/* Reads RIFF WAVE of 16 bit PCM in one channel, with the short header or the extensible one. Chunks
 * that are neither "fmt " nor "data" are passed over, and so is what lies behind the RIFF chunk.
 * HU_ERR_CORRUPT names the file, what was found and what was expected: another kind of file or
 * coding, depth or number of channels, a chunk that is longer than what is left, no sample.
 * HU_ERR_MEMORY. Owner frees wav->sample with hu_free; NULL on failure.
 * Proof: tests/unit/sound_wav_test.c. */
hu_status hu_wav_decode(const char *name, const uint8_t *data, size_t bytes, hu_wav *wav);

#endif
