/* Sound out of files: every coding and width of WAV by its bytes, streams, other kinds, strange and
 * damaged files, all that are cut, and other rates. */
#include <math.h>
#include <sndfile.h>

#include "base/file.h"
#include "base/memory.h"
#include "data_files.h"
#include "media/audio.h"
#include "wav_bytes.h"

static const double pi = 3.14159265358979323846;

enum { PCM = 1, FLOATS = 3, A_LAW = 6, MU_LAW = 7 };

/* The sound of a file that is one; owner frees its samples. */
static hu_sound decoded(const uint8_t *data, size_t bytes) {
    hu_sound sound;
    if (hu_sound_decode("a.wav", data, bytes, &sound) != HU_OK) fail_msg("%s", hu_last_error());
    return sound;
}

static void expect(const uint8_t *data, size_t bytes, int64_t rate, const double *sample,
                   int64_t count) {
    hu_sound sound = decoded(data, bytes);
    assert_true(sound.rate == rate);
    assert_int_equal(sound.count, count);
    for (int64_t i = 0; i < count; i++)
        if (sound.sample[i] != sample[i])
            fail_msg("%lld: found %.17g, expected %.17g", (long long)i, sound.sample[i], sample[i]);
    hu_free(sound.sample);
}

static void refuse_as(hu_status expected, const uint8_t *data, size_t bytes, const char *part) {
    hu_sound sound;
    uint64_t blocks = hu_memory_count().live_blocks;
    hu_status st = hu_sound_decode("a.wav", data, bytes, &sound);
    if (st != expected) fail_msg("%d: %s", st, hu_last_error());
    assert_null(sound.sample);
    assert_non_null(strstr(hu_last_error(), "a.wav"));
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static void refuse(const uint8_t *data, size_t bytes, const char *part) {
    refuse_as(HU_ERR_CORRUPT, data, bytes, part);
}

static wav_writer begin_coding(uint16_t coding, uint16_t channels, uint16_t bits) {
    wav_writer w = wav_begin(8000, channels, bits, false);
    w.data[WAV_CODING_AT] = (uint8_t)coding;
    return w;
}

static void both_headers_give_the_samples(void **state) {
    (void)state;
    static const int16_t sample[] = {0, 1, -1, 32767, -32768, 258, -2};
    static const double right[] = {0,    0x1p-15,       -0x1p-15,    32767 * 0x1p-15,
                                   -1.0, 258 * 0x1p-15, -2 * 0x1p-15};
    for (int extensible = 0; extensible < 2; extensible++) {
        wav_writer w = wav_begin(8000, 1, 16, extensible);
        wav_chunk(&w, "LIST", "odd", 3); /* passed over, with the byte that fills it up */
        wav_chunk(&w, "data", sample, sizeof sample);
        wav_chunk(&w, "junk", "behind", 6);
        size_t bytes = wav_end(&w);
        memcpy(w.data + bytes, "not in RIFF", 11);
        expect(w.data, bytes + 11, 8000, right, 7);
    }
}

/* A moment of each coding and width, in one channel. A-law and mu-law by the tables of G.711. */
static void codings_give_their_numbers(void **state) {
    (void)state;
    static const struct {
        uint16_t coding, bits;
        uint8_t bytes[16];
        int count;
        double right[4];
    } table[] = {
        {PCM, 8, {0, 128, 255, 129}, 4, {-1.0, 0.0, 127.0 / 128, 1.0 / 128}},
        {PCM, 24, {0, 0, 0x80, 1, 0, 0, 0xff, 0xff, 0x7f}, 3, {-1.0, 0x1p-23, 1 - 0x1p-23}},
        {PCM, 32, {0, 0, 0, 0x80, 1, 0, 0, 0, 255, 255, 255, 127}, 3, {-1.0, 0x1p-31, 1 - 0x1p-31}},
        {FLOATS, 32, {0, 0, 0x80, 0xbf, 0, 0, 0, 0x3e, 0, 0, 0, 0x40}, 3, {-1.0, 0.125, 2.0}},
        {FLOATS,
         64,
         {0, 0, 0, 0, 0, 0, 0xf0, 0xbf, 1, 0, 0, 0, 0, 0, 0xd0, 0x3f},
         2,
         {-1.0, 0.25 + 0x1p-54}},
        {A_LAW,
         8,
         {0xd5, 0x55, 0xaa, 0x2a},
         4,
         {8 * 0x1p-15, -8 * 0x1p-15, 32256 * 0x1p-15, -32256 * 0x1p-15}},
        {MU_LAW, 8, {0xff, 0x7f, 0x80, 0x00}, 4, {0.0, 0.0, 32124 * 0x1p-15, -32124 * 0x1p-15}}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        wav_writer w = begin_coding(table[i].coding, 1, table[i].bits);
        wav_chunk(&w, "data", table[i].bytes, (size_t)(table[i].count * table[i].bits / 8));
        expect(w.data, wav_end(&w), 8000, table[i].right, table[i].count);
    }
    wav_writer w = wav_begin(8000, 1, 32, true); /* extensible, of floats */
    w.data[WAV_CODING_AT + 24] = FLOATS;
    wav_chunk(&w, "data", table[3].bytes, 12);
    expect(w.data, wav_end(&w), 8000, table[3].right, 3);
}

/* Two channels, and as many as nobody has. */
static void channels_are_mixed_by_their_mean(void **state) {
    (void)state;
    enum { MANY = 100 };
    static const int16_t two[] = {100, 300, -7, 8, 32767, 32767};
    static const double right[] = {200 * 0x1p-15, 0.5 * 0x1p-15, 32767 * 0x1p-15};
    int16_t many[MANY];
    wav_writer w = wav_begin(44100, 2, 16, false);
    wav_chunk(&w, "data", two, sizeof two);
    expect(w.data, wav_end(&w), 44100, right, 3);
    for (int i = 0; i < MANY; i++) many[i] = (int16_t)(2 * i + 1); /* their mean is MANY */
    w = wav_begin(8000, MANY, 16, true);
    wav_chunk(&w, "data", many, sizeof many);
    expect(w.data, wav_end(&w), 8000, (const double[]){MANY * 0x1p-15}, 1);
}

/* Sizes of who could not go back, a wrong size of RIFF, what is told after the sound, a half
 * moment at the end, and sound before its format. */
static void heads_that_do_not_fit_are_read(void **state) {
    (void)state;
    static const uint32_t unknown[] = {0xffffffff, 0, 0x7ffff000, 0x7fffffff, 0x80000000};
    static const int16_t sample[] = {1, -2, 3};
    static const double right[] = {0x1p-15, -2 * 0x1p-15, 3 * 0x1p-15};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        wav_writer w = wav_begin(8000, 1, 16, false);
        wav_chunk(&w, "data", sample, sizeof sample);
        size_t bytes = wav_end(&w);
        for (size_t b = 0; b < 4; b++) {
            w.data[4 + b] = (uint8_t)(unknown[i] >> 8 * b);
            w.data[bytes - 10 + b] = (uint8_t)(unknown[i] >> 8 * b);
        }
        expect(w.data, bytes, 8000, right, 3);
    }
    for (int off = -8; off <= 8; off += 16) {
        wav_writer w = wav_begin(8000, 1, 16, false);
        wav_chunk(&w, "data", sample, sizeof sample);
        size_t bytes = wav_end(&w);
        w.data[4] = (uint8_t)(w.data[4] + off);
        expect(w.data, bytes, 8000, right, 3);
    }
    wav_writer w = wav_begin(8000, 1, 16, false);
    wav_chunk(&w, "data", "\1\0\xfe\xff\5", 5);
    expect(w.data, wav_end(&w), 8000, right, 2);
    wav_writer turned = {.bytes = 12};
    w = wav_begin(8000, 1, 16, false);
    memcpy(turned.data, w.data, 12);
    wav_chunk(&turned, "data", sample, sizeof sample);
    memcpy(turned.data + turned.bytes, w.data + 12, w.bytes - 12);
    turned.bytes += w.bytes - 12;
    expect(turned.data, wav_end(&turned), 8000, right, 3);
}

static void what_is_missing_is_named(void **state) {
    (void)state;
    wav_writer w = wav_begin(8000, 1, 16, false);
    refuse(w.data, wav_end(&w), "found no chunk 'data'");
    w = (wav_writer){.bytes = 12};
    memcpy(w.data, "RIFF....WAVE", 12);
    wav_chunk(&w, "data", "abcd", 4);
    refuse(w.data, wav_end(&w), "found no chunk 'fmt '");
    w = wav_begin(8000, 1, 16, false);
    wav_chunk(&w, "data", "", 0);
    refuse(w.data, wav_end(&w), "found a sound of no length");
    refuse((const uint8_t *)"GIF89a", 6, "found 6 bytes that are no sound, expected WAV, FLAC");
    refuse((const uint8_t *)"", 0, "found 0 bytes that are no sound");
    w = wav_begin(8000, 1, 16, false);
    wav_chunk(&w, "data", "abcd", 4);
    size_t bytes = wav_end(&w);
    w.data[bytes - 8] = 200; /* longer than what is left */
    refuse(w.data, bytes, "found 4 bytes of a chunk, expected 200: the file is cut off");
    w = wav_begin(0, 1, 16, false);
    wav_chunk(&w, "data", "abcd", 4);
    refuse(w.data, wav_end(&w), "");
    w = wav_begin(8000, 0, 16, false);
    wav_chunk(&w, "data", "abcd", 4);
    refuse(w.data, wav_end(&w), "");
}

static void numbers_that_are_none_are_named(void **state) {
    (void)state;
    static const float odd[] = {NAN, INFINITY, 1e31f};
    static const char *const part[] = {"moment 1: found nan", "moment 1: found inf",
                                       "moment 1: found 1e+31, expected a finite number"};
    for (int i = 0; i < 3; i++) {
        const float sample[] = {0.5f, odd[i]};
        wav_writer w = begin_coding(FLOATS, 1, 32);
        wav_chunk(&w, "data", sample, sizeof sample);
        refuse(w.data, wav_end(&w), part[i]);
    }
}

/* What is sound of a kind that is not read is not called damaged, and how to convert it is said. */
static void other_kinds_are_not_supported(void **state) {
    (void)state;
    static const char part[] = "`ffmpeg -i a.wav sound.wav` makes a WAV of it";
    refuse_as(HU_ERR_UNSUPPORTED,
              (const uint8_t *)"\0\0\0\x1c"
                               "ftypM4A \0\0\0\0",
              16, part);
    refuse_as(HU_ERR_UNSUPPORTED, (const uint8_t *)"\x1a\x45\xdf\xa3webm", 8, part);
    wav_writer w = begin_coding(0x161, 2, 16); /* Windows Media in WAV */
    wav_chunk(&w, "data", "abcd", 4);
    refuse_as(HU_ERR_UNSUPPORTED, w.data, wav_end(&w), part);
}

/* Wherever a file ends, it is refused without reading after its end (the sanitizers look). */
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

/* ---- files that libsndfile writes ---- */

enum { MOMENTS = 30000 };

/* Whole numbers of 16 bits, made a file of a kind; owner frees its bytes. */
static uint8_t *written(const char *name, int format, int channels, const int16_t *sample,
                        size_t *bytes) {
    SF_INFO info = {.samplerate = 16000, .channels = channels, .format = format};
    uint8_t *data;
    SNDFILE *file = sf_open(at(name), SFM_WRITE, &info);
    if (!file) fail_msg("%s: %s", name, sf_strerror(NULL));
    assert_int_equal(sf_writef_short(file, sample, MOMENTS), MOMENTS);
    sf_close(file);
    assert_int_equal(hu_file_read_plain(at(name), 1 << 24, &data, bytes), HU_OK);
    return data;
}

static int16_t tone[2 * MOMENTS];

static void fill_tone(int channels) {
    for (int i = 0; i < MOMENTS; i++)
        for (int c = 0; c < channels; c++)
            tone[i * channels + c] =
                (int16_t)lrint(9000 * sin(2 * pi * 440 * i / 16000) + i * 7 % 11 + 100 * c);
}

static void lossless_kinds_give_their_numbers(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int format;
    } table[] = {{"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
                 {"b.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
                 {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24},
                 {"a.au", SF_FORMAT_AU | SF_FORMAT_PCM_24},
                 {"a.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_32},
                 {"a.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
                 {"a.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int channels = 1; channels <= 2; channels++) {
            size_t bytes;
            fill_tone(channels);
            uint8_t *data = written(table[i].name, table[i].format, channels, tone, &bytes);
            hu_sound sound = decoded(data, bytes);
            assert_true(sound.rate == 16000 && sound.count == MOMENTS);
            for (int k = 0; k < MOMENTS; k++) {
                double right = tone[k * channels] * 0x1p-15;
                if (channels == 2) right = (right + tone[2 * k + 1] * 0x1p-15) / 2;
                if (sound.sample[k] != right) fail_msg("%s: moment %d", table[i].name, k);
            }
            hu_free(sound.sample);
            hu_free(data);
        }
}

/* What is lost by Vorbis and Opus is far below the tone. */
static void ogg_sounds_as_what_it_was_made_of(void **state) {
    (void)state;
    static const int format[] = {SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_OGG | SF_FORMAT_OPUS};
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        fill_tone(1);
        uint8_t *data = written("a.ogg", format[i], 1, tone, &bytes);
        hu_sound sound = decoded(data, bytes);
        double error = 0.0, power = 0.0;
        assert_true(sound.rate == 16000 && sound.count == MOMENTS);
        for (int k = 0; k < MOMENTS; k++) {
            double right = tone[k] * 0x1p-15;
            error += (sound.sample[k] - right) * (sound.sample[k] - right);
            power += right * right;
        }
        if (!(error < 0.01 * power)) fail_msg("%g of %g", error, power);
        hu_free(sound.sample);
        hu_free(data);
    }
}

/* A tail that is missing or changed. */
static void broken_flac_is_refused(void **state) {
    (void)state;
    size_t bytes;
    fill_tone(1);
    uint8_t *data = written("a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1, tone, &bytes);
    refuse(data, bytes - 1000, "moment");
    refuse(data, bytes / 2, "moment");
    for (size_t i = bytes - 3000; i < bytes - 1000; i++) data[i] ^= 0x55;
    refuse(data, bytes, "moment");
    hu_free(data);
}

/* ---- rates ---- */

/* A tone stays one of the same height and length, and nothing happens at the same rate. */
static void rates_are_changed(void **state) {
    (void)state;
    enum { COUNT = 16000 };
    static const int64_t rates[] = {8000, 11025, 44100, 16000};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        hu_sound sound = {.rate = 16000, .count = COUNT};
        double error = 0.0;
        assert_int_equal(HU_NEW_ARRAY(&sound.sample, COUNT), HU_OK);
        for (int i = 0; i < COUNT; i++) sound.sample[i] = 0.5 * sin(2 * pi * 300 * i / 16000);
        assert_int_equal(hu_sound_resample("a.wav", rates[r], &sound), HU_OK);
        assert_true(sound.rate == rates[r] && sound.count == rates[r]);
        for (int64_t i = rates[r] / 10; i < rates[r] * 9 / 10; i++)
            error = fmax(error, fabs(sound.sample[i] -
                                     0.5 * sin(2 * pi * 300 * (double)i / (double)rates[r])));
        if (!(error < (rates[r] == 16000 ? 1e-300 : 1e-4)))
            fail_msg("%lld: %g", (long long)rates[r], error);
        hu_free(sound.sample);
    }
}

static void rates_that_are_too_far_are_named(void **state) {
    (void)state;
    hu_sound sound = {.rate = 1, .count = 1};
    assert_int_equal(HU_NEW_ARRAY(&sound.sample, 1), HU_OK);
    assert_int_equal(hu_sound_resample("a.wav", 8000, &sound), HU_ERR_UNSUPPORTED);
    assert_non_null(strstr(hu_last_error(), "a.wav: found 1 samples a second, expected 8000 or"));
    assert_true(sound.rate == 1 && sound.count == 1);
    hu_free(sound.sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_headers_give_the_samples),
        cmocka_unit_test(codings_give_their_numbers),
        cmocka_unit_test(channels_are_mixed_by_their_mean),
        cmocka_unit_test(heads_that_do_not_fit_are_read),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(numbers_that_are_none_are_named),
        cmocka_unit_test(other_kinds_are_not_supported),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test_setup_teardown(lossless_kinds_give_their_numbers, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(ogg_sounds_as_what_it_was_made_of, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(broken_flac_is_refused, make_folder, remove_folder),
        cmocka_unit_test(rates_are_changed),
        cmocka_unit_test(rates_that_are_too_far_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
