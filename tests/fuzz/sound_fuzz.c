/* Files of sound, WAV and FLAC: an input is a file. */
#include "fuzz.h"

#include <string.h>

#include "../unit/wav_bytes.h"
#include "base/memory.h"
#include "media/audio.h"

void fuzz_one(const uint8_t *data, size_t size) {
    hu_sound sound;
    hu_status st = hu_sound_decode("file", data, size, &sound);
    FUZZ_CHECK((st == HU_OK) == (sound.sample != NULL));
    if (st == HU_OK) {
        FUZZ_CHECK(sound.rate > 0 && sound.count > 0);
        for (int64_t i = 0; i < sound.count; i++)
            FUZZ_CHECK(sound.sample[i] >= -1e30 && sound.sample[i] <= 1e30);
        hu_free(sound.sample);
        return;
    }
    FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_UNSUPPORTED || st == HU_ERR_LIMIT ||
               fuzz_was_fault(st));
    FUZZ_CHECK(fuzz_was_fault(st) || strstr(hu_last_error(), "file") != NULL);
}

/* 16 moments of 16 bits, silent but for the last one. */
static const uint8_t flac[] = {
    0x66, 0x4c, 0x61, 0x43, 0x80, 0x00, 0x00, 0x22, 0x10, 0x00, 0x10, 0x00, 0x00, 0x00, 0x12,
    0x00, 0x00, 0x12, 0x01, 0xf4, 0x00, 0xf0, 0x00, 0x00, 0x00, 0x10, 0xdd, 0xd4, 0x19, 0xe7,
    0x22, 0x74, 0x7c, 0x7c, 0xde, 0xb9, 0x23, 0xe1, 0xfd, 0xe6, 0x92, 0x7c, 0xff, 0xf8, 0x64,
    0x08, 0x00, 0x0f, 0xce, 0x10, 0x08, 0x3c, 0x3c, 0x3d, 0x60, 0x82, 0x00, 0xe8, 0x16, 0xca};

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    enum { FLAC = 4, SEEDS };
    static const uint8_t coding[FLAC] = {1, 1, 1, 3};
    static wav_writer w;
    if (index >= SEEDS) return false;
    if (index == FLAC) return hu_write_bytes(seed, flac, sizeof flac) == HU_OK;
    w = wav_begin(index == 1 ? 16000 : 8000, 1, index == 3 ? 32 : 16, index == 1);
    w.data[WAV_CODING_AT + (index == 1 ? 24 : 0)] = coding[index];
    if (index == 2) wav_chunk(&w, "LIST", "words", 5);
    wav_chunk(&w, "data", "0123456789", 8);
    size_t bytes = wav_end(&w);
    FUZZ_CHECK(hu_write_bytes(seed, w.data, bytes) == HU_OK);
    return true;
}
