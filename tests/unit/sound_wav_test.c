/* Sound out of WAV files: sound, strange and damaged ones, and all that are cut. */
#include "base/memory.h"
#include "data_files.h"
#include "sound/wav.h"
#include "wav_bytes.h"

static void both_headers_give_the_samples(void **state) {
    (void)state;
    static const int16_t sample[] = {0, 1, -1, 32767, -32768, 258, -2};
    for (int extensible = 0; extensible < 2; extensible++) {
        wav_writer w = wav_begin(8000, 1, 16, extensible);
        wav_chunk(&w, "LIST", "odd", 3); /* passed over, with the byte that fills it up */
        wav_chunk(&w, "data", sample, sizeof sample);
        wav_chunk(&w, "junk", "behind", 6);
        size_t bytes = wav_end(&w);
        hu_wav wav;
        memcpy(w.data + bytes, "not in RIFF", 11);
        if (hu_wav_decode("a.wav", w.data, bytes + 11, &wav) != HU_OK)
            fail_msg("%s", hu_last_error());
        assert_true(wav.rate == 8000 && wav.count == 7);
        assert_memory_equal(wav.sample, sample, sizeof sample);
        hu_free(wav.sample);
    }
}

static void refuse(const uint8_t *data, size_t bytes, const char *part) {
    hu_wav wav;
    uint64_t blocks = hu_memory_count().live_blocks;
    assert_int_equal(hu_wav_decode("a.wav", data, bytes, &wav), HU_ERR_CORRUPT);
    assert_null(wav.sample);
    assert_non_null(strstr(hu_last_error(), "a.wav"));
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static void other_kinds_are_named(void **state) {
    (void)state;
    static const struct {
        uint32_t rate;
        uint16_t channels, bits, coding;
        const char *part;
    } table[] = {{8000, 1, 8, 1, "coding 1 of 8 bits in 1 channels"},
                 {8000, 2, 16, 1, "of 16 bits in 2 channels"},
                 {8000, 1, 16, 3, "coding 3 of 16 bits"},
                 {0, 1, 16, 1, "at 0 samples a second, expected coding 1 (PCM) of 16 bits"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        wav_writer w = wav_begin(table[i].rate, table[i].channels, table[i].bits, false);
        memcpy(w.data + WAV_CODING_AT, &table[i].coding, sizeof table[i].coding);
        wav_chunk(&w, "data", "abcd", 4);
        refuse(w.data, wav_end(&w), table[i].part);
    }
    wav_writer w = wav_begin(8000, 1, 16, true);
    w.data[WAV_CODING_AT + 24] = 3; /* of the extension: float */
    wav_chunk(&w, "data", "abcd", 4);
    refuse(w.data, wav_end(&w), "found coding 3 of 16 bits");
    w = wav_begin(8000, 1, 16, true);
    w.data[WAV_CODING_AT + 26] = 7; /* of the number behind it: nobody's coding */
    wav_chunk(&w, "data", "abcd", 4);
    refuse(w.data, wav_end(&w), "extensible header with coding 1 and 16 valid bits");
}

static void what_is_missing_is_named(void **state) {
    (void)state;
    wav_writer w = wav_begin(8000, 1, 16, false);
    refuse(w.data, wav_end(&w), "found no chunk 'data'");
    wav_chunk(&w, "data", "abc", 3);
    refuse(w.data, wav_end(&w), "found 3 bytes of sound, expected samples of 2 bytes");
    w = wav_begin(8000, 1, 16, false);
    wav_chunk(&w, "data", "", 0);
    refuse(w.data, wav_end(&w), "found 0 bytes of sound");
    memcpy(w.data, "RIFX", 4);
    refuse(w.data, w.bytes, "expected RIFF WAVE");
    refuse((const uint8_t *)"GIF89a", 6, "found 6 bytes of another kind");
    w = wav_begin(8000, 1, 16, false);
    wav_chunk(&w, "data", "abcd", 4);
    size_t bytes = wav_end(&w);
    w.data[bytes - 8] = 200; /* longer than what is left of RIFF */
    refuse(w.data, bytes, "found 4 bytes of a chunk, expected 200: the file is cut off");
}

/* Wherever a file ends, it is refused without reading behind its end (the sanitizers look). */
static void cut_files_are_refused(void **state) {
    (void)state;
    for (int extensible = 0; extensible < 2; extensible++) {
        wav_writer w = wav_begin(16000, 1, 16, extensible);
        wav_chunk(&w, "data", "abcdef", 6);
        size_t bytes = wav_end(&w);
        for (size_t cut = 0; cut < bytes; cut++) {
            uint8_t *copy = malloc(cut + 1);
            assert_non_null(copy);
            memcpy(copy, w.data, cut);
            refuse(copy, cut, "found");
            free(copy);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_headers_give_the_samples), cmocka_unit_test(other_kinds_are_named),
        cmocka_unit_test(what_is_missing_is_named), cmocka_unit_test(cut_files_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
