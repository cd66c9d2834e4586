/* speech:DIR - sounds DIR/train/NAME.wav and DIR/test/NAME.wav (or val) with what is said in them:
 * rows of a spectrogram, their number, and the characters of the text. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/alphabet.h"
#include "data/each.h"
#include "data/file_names.h"
#include "data/kind.h"
#include "data/spectrogram.h"
#include "data/transcripts.h"
#include "data/wav.h"

enum { FEATURES, LENGTH, LABEL, FIELDS };
enum { USUAL_FRAMES = 160 };

/* Memory of a half behind each other in hu_dataset.owned. */
enum { ROWS, FRAMES, NUMBERS, CHARACTERS, OWNED_OF_HALF };

/* One half while it is read. */
typedef struct speech_half {
    char *folder;
    hu_file_names names;
    hu_transcripts said;
    int64_t used; /* sounds of the limit */
} speech_half;

static void close_half(speech_half *half) {
    hu_free(half->folder);
    hu_file_names_free(&half->names);
    hu_transcripts_free(&half->said);
}

/* Owner closes the half, also on failure. */
static hu_status open_half(const char *directory, const char *name, int64_t limit,
                           speech_half *half) {
    hu_status st;
    HU_TRY(hu_path_join(directory, name, &half->folder));
    HU_TRY(hu_file_names_of_sounds(half->folder, &half->names));
    if (half->names.count == 0)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no sound (.wav)", half->folder));
    HU_TRY(hu_transcripts_read(half->folder, &half->names, &half->said));
    half->used = hu_limited((int64_t)half->names.count, limit);
done:
    return st;
}

/* DIR/test, or DIR/val. */
static hu_status open_test(const char *directory, int64_t limit, speech_half *half) {
    const char *name;
    hu_status st = hu_test_half(directory, &name);
    return st == HU_OK ? open_half(directory, name, limit, half) : st;
}

bool hu_speech_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    return hu_has_folder(directory, "train");
}

/* ---- sounds ---- */

/* Owner frees wav->sample, also on failure. */
static hu_status read_sound(const speech_half *half, int64_t index, hu_wav *wav) {
    char *path = NULL;
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st;
    *wav = (hu_wav){0};
    HU_TRY(hu_path_join(half->folder, half->names.name[index], &path));
    HU_TRY(hu_file_read_plain(path, HU_WAV_FILE_MAX, &data, &bytes));
    HU_TRY(hu_wav_decode(path, data, bytes, wav));
done:
    hu_free(data);
    hu_free(path);
    return st;
}

/* Where the rows of a half go. */
typedef struct filling {
    const speech_half *half, *first; /* first: whose first sound has the rate of all */
    const hu_spectrum *spectrum;
    int64_t most;    /* frames */
    float *rows;     /* [used, most, bins] */
    int32_t *frames; /* [used] */
} filling;

static hu_status fill_rows(void *context, int64_t i) {
    const filling *f = context;
    const hu_spectrum *spectrum = f->spectrum;
    hu_wav wav;
    hu_status st;
    HU_TRY(read_sound(f->half, i, &wav));
    if (wav.rate != spectrum->rate)
        HU_TRY(hu_fail(HU_ERR_CORRUPT,
                       "%s/%s: found %lld samples a second, expected %lld as %s/%s has",
                       f->half->folder, f->half->names.name[i], (long long)wav.rate,
                       (long long)spectrum->rate, f->first->folder, f->first->names.name[0]));
    int64_t frames = hu_spectrum_frames(spectrum, wav.count);
    f->frames[i] = (int32_t)(frames < f->most ? frames : f->most);
    st = hu_spectrum_rows(spectrum, wav.sample, wav.count, f->most,
                          f->rows + i * f->most * spectrum->bins);
done:
    hu_free(wav.sample);
    return st;
}

/* ---- texts ---- */

static int64_t longest(const speech_half *half) {
    int64_t most = 1; /* where nothing is said at all, a field still has a number */
    for (int64_t i = 0; i < half->used; i++) {
        int64_t length = hu_alphabet_length(half->said.text[i]);
        if (length > most) most = length;
    }
    return most;
}

/* number [used, most], unlabelled behind each text; length [used]. */
static hu_status spell_half(const speech_half *half, const hu_alphabet *alphabet, int64_t most,
                            int32_t *number, int32_t *length) {
    for (int64_t i = 0; i < half->used; i++) {
        const char *text = half->said.text[i];
        length[i] = (int32_t)hu_alphabet_length(text);
        for (int64_t k = length[i]; k < most; k++) number[i * most + k] = HU_UNLABELLED;
        if (hu_alphabet_spell(alphabet, text, number + i * most) != HU_OK)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s/%s: found the character %s, which no text of the training sounds "
                           "has",
                           half->folder, half->names.name[i], hu_last_error());
    }
    return HU_OK;
}

/* ---- opening ---- */

/* The rate of the first training sound is that of all. */
static hu_status make_spectrum(const speech_half *train, hu_spectrum *spectrum) {
    hu_wav wav;
    hu_status st = read_sound(train, 0, &wav);
    hu_free(wav.sample);
    if (st != HU_OK) return st;
    st = hu_spectrum_create(wav.rate, spectrum);
    if (st == HU_ERR_ARGUMENT)
        return hu_fail(HU_ERR_CORRUPT, "%s/%s: %s", train->folder, train->names.name[0],
                       hu_last_error());
    return st;
}

static hu_status set_classes(const speech_half *train, hu_alphabet *alphabet, hu_dataset *dataset) {
    hu_status st;
    HU_TRY(hu_alphabet_create(train->said.text, train->names.count, alphabet));
    HU_TRY(hu_alphabet_names(alphabet, &dataset->class_names));
    dataset->class_name_count = (int64_t)alphabet->count + 1;
done:
    return st;
}

static void set_fields(int64_t frames, int64_t bins, int64_t most, hu_dataset *dataset) {
    dataset->field[FEATURES] = (hu_field){.name = "features",
                                          .type = HU_FIELD_F32,
                                          .rank = 3,
                                          .extent = {frames, bins, 1},
                                          .is_ragged = true};
    dataset->field[LENGTH] = (hu_field){.name = "length", .type = HU_FIELD_I32};
    dataset->field[LABEL] = (hu_field){.name = "label",
                                       .type = HU_FIELD_I32,
                                       .rank = 1,
                                       .extent = {most},
                                       .is_ragged = true,
                                       .classes = dataset->class_name_count};
    dataset->field_count = FIELDS;
}

/* A half in memory; first: of training. */
static hu_status fill_half(const speech_half *half, const speech_half *first,
                           const hu_spectrum *spectrum, const hu_alphabet *alphabet,
                           const hu_field *field, void **owned, hu_split *split) {
    int64_t most = field[FEATURES].extent[0], letters = field[LABEL].extent[0];
    size_t used = (size_t)half->used;
    hu_status st;
    HU_TRY(hu_alloc_array(used, (size_t)(most * spectrum->bins) * sizeof(float), &owned[ROWS]));
    HU_TRY(hu_alloc_array(used, sizeof(int32_t), &owned[FRAMES]));
    HU_TRY(hu_alloc_array(used, (size_t)letters * sizeof(int32_t), &owned[NUMBERS]));
    HU_TRY(hu_alloc_array(used, sizeof(int32_t), &owned[CHARACTERS]));
    filling f = {half, first, spectrum, most, owned[ROWS], owned[FRAMES]};
    HU_TRY(hu_data_each(half->used, fill_rows, &f));
    HU_TRY(spell_half(half, alphabet, letters, owned[NUMBERS], owned[CHARACTERS]));
    *split = (hu_split){.count = half->used,
                        .rows = {owned[ROWS], owned[FRAMES], owned[NUMBERS]},
                        .length = {owned[FRAMES], NULL, owned[CHARACTERS]}};
done:
    return st;
}

hu_status hu_speech_open(const char *directory, const hu_data_limits *limits,
                         const hu_image_choice *choice, hu_dataset *dataset) {
    speech_half train = {0}, test = {0};
    hu_spectrum spectrum = {0};
    hu_alphabet alphabet = {0};
    hu_status st;
    HU_TRY(open_half(directory, "train", limits->train, &train));
    HU_TRY(open_test(directory, limits->test, &test));
    HU_TRY(make_spectrum(&train, &spectrum));
    HU_TRY(set_classes(&train, &alphabet, dataset));
    int64_t of_train = longest(&train), of_test = longest(&test);
    set_fields(choice->frames > 0 ? choice->frames : USUAL_FRAMES, spectrum.bins,
               of_train > of_test ? of_train : of_test, dataset);
    HU_TRY(fill_half(&train, &train, &spectrum, &alphabet, dataset->field, dataset->owned,
                     &dataset->train));
    HU_TRY(fill_half(&test, &train, &spectrum, &alphabet, dataset->field,
                     dataset->owned + OWNED_OF_HALF, &dataset->test));
done:
    hu_alphabet_free(&alphabet);
    hu_spectrum_free(&spectrum);
    close_half(&train);
    close_half(&test);
    return st;
}
