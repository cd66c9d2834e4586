/* WAV files: an input is a file. */
#include "fuzz.h"

#include <string.h>

#include "../unit/wav_bytes.h"
#include "base/memory.h"
#include "sound/wav.h"

void fuzz_one(const uint8_t *data, size_t size) {
    hu_wav wav;
    hu_status st = hu_wav_decode("file", data, size, &wav);
    FUZZ_CHECK((st == HU_OK) == (wav.sample != NULL));
    if (st == HU_OK) {
        FUZZ_CHECK(wav.rate > 0 && wav.count > 0 && 2 * (size_t)wav.count < size);
        hu_free(wav.sample);
        return;
    }
    FUZZ_CHECK(st == HU_ERR_CORRUPT || fuzz_was_fault(st));
    FUZZ_CHECK(fuzz_was_fault(st) || strstr(hu_last_error(), "file") != NULL);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static wav_writer w;
    if (index > 2) return false;
    w = wav_begin(index == 1 ? 16000 : 8000, 1, 16, index == 1);
    if (index == 2) wav_chunk(&w, "LIST", "words", 5);
    wav_chunk(&w, "data", "0123456789", 10);
    size_t bytes = wav_end(&w);
    FUZZ_CHECK(hu_write_bytes(seed, w.data, bytes) == HU_OK);
    return true;
}
