/* tones - melodies in noise as spectrograms, of which the chords are to be told in order: sounds
 * with transcripts that need no files. Sample i is a function of (half, i) alone; normal numbers
 * of the project's own, +, - and * are all that is used, so that its bytes are the same on every
 * machine. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/class_names.h"
#include "data/draws.h"
#include "data/fields.h"
#include "data/kinds.h"

/* A chord is two tones: each pair of neighbours shares one, so that none is told by one alone. */
enum {
    FRAMES = 64,
    BINS = 24,
    CHORDS = 8,
    PARTIALS = 2,
    CHORDS_LEAST = 3,
    CHORDS_MOST = 7,
    TONE_LEAST = 4,
    TONE_MOST = 6,
    REST_LEAST = 1,
    REST_MOST = 3,
    TRAIN_COUNT = 4000,
    TEST_COUNT = 500,
    NOISE_WORD = 4096 /* numbers before it shape a melody, the others are noise */
};

static const int partials[CHORDS][PARTIALS] = {{2, 8},  {5, 8},   {5, 14},  {2, 14},
                                               {8, 17}, {11, 17}, {11, 20}, {14, 20}};
static const char *const names[CHORDS + 1] = {"", "a", "b", "c", "d", "e", "f", "g", "h"};

static const float noise = 0.5f;

/* Noise everywhere: row [FRAMES, BINS]. */
static void fill_noise(const hu_draws *d, float *row) {
    for (int i = 0; i < FRAMES * BINS; i++)
        row[i] = noise * hu_random_normal(&d->key, NOISE_WORD + (uint64_t)i);
}

/* A chord sounds for some frames; its partials are heard in their neighbours too. */
static void sound(float *row, int from, int frames, int chord, float loudness) {
    for (int t = from; t < from + frames; t++)
        for (int p = 0; p < PARTIALS; p++)
            for (int k = -1; k <= 1; k++)
                row[t * BINS + partials[chord][p] + k] += k == 0 ? loudness : 0.4f * loudness;
}

/* row [FRAMES, BINS], label [CHORDS_MOST]; *frames and *chords are how many there are. The longest
 * melody of seven chords with rests has 7 * 6 + 8 * 3 = 66 frames: one that does not fit ends. */
static void draw_melody(hu_draws *d, float *row, int32_t *frames, int32_t *label, int32_t *chords) {
    int count = hu_draw_whole(d, CHORDS_LEAST, CHORDS_MOST),
        at = hu_draw_whole(d, REST_LEAST, REST_MOST), said = 0;
    fill_noise(d, row);
    for (; said < count; said++) {
        int chord = hu_draw_whole(d, 0, CHORDS - 1),
            length = hu_draw_whole(d, TONE_LEAST, TONE_MOST);
        int rest = hu_draw_whole(d, REST_LEAST, REST_MOST);
        float loudness = 1.0f + 0.1f * (float)hu_draw_whole(d, 0, 10);
        if (at + length + rest > FRAMES) break;
        sound(row, at, length, chord, loudness);
        label[said] = chord + 1;
        at += length + rest;
    }
    for (int k = said; k < CHORDS_MOST; k++) label[k] = HU_UNLABELLED;
    memset(row + at * BINS, 0, (size_t)((FRAMES - at) * BINS) * sizeof *row);
    *frames = at;
    *chords = said;
}

/* owned [4]: rows, frames, labels and their lengths. */
static hu_status draw_half(const char *half, int64_t count, void **owned, hu_split *split) {
    hu_status st;
    uint64_t stream = hu_stream_id("tones", half);
    size_t samples = (size_t)count;
    HU_TRY(hu_alloc_array(samples, FRAMES * BINS * sizeof(float), &owned[0]));
    HU_TRY(hu_alloc_array(samples, sizeof(int32_t), &owned[1]));
    HU_TRY(hu_alloc_array(samples, CHORDS_MOST * sizeof(int32_t), &owned[2]));
    HU_TRY(hu_alloc_array(samples, sizeof(int32_t), &owned[3]));
    float *rows = owned[0];
    int32_t *frames = owned[1], *labels = owned[2], *chords = owned[3];
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        hu_draws d = {{0, stream, (uint64_t)i}, 0};
        draw_melody(&d, rows + i * FRAMES * BINS, frames + i, labels + i * CHORDS_MOST, chords + i);
    }
    *split = (hu_split){
        .count = count, .rows = {rows, frames, labels}, .length = {frames, NULL, chords}};
done:
    return st;
}

hu_status hu_tones_open(const hu_data_kind *kind, const char *directory,
                        const hu_data_limits *limits, const hu_image_choice *choice,
                        hu_dataset *dataset) {
    enum { OWNED_OF_HALF = 4 };
    hu_status st;
    (void)kind;
    (void)directory;
    (void)choice;
    hu_sound_fields(FRAMES, BINS, CHORDS_MOST, CHORDS + 1, dataset);
    HU_TRY(hu_class_names_join(names, CHORDS + 1, &dataset->class_names));
    dataset->class_name_count = CHORDS + 1;
    HU_TRY(draw_half("train", hu_limited(TRAIN_COUNT, limits->train), dataset->owned,
                     &dataset->train));
    st = draw_half("test", hu_limited(TEST_COUNT, limits->test), dataset->owned + OWNED_OF_HALF,
                   &dataset->test);
done:
    return st;
}
