#include "data/speech.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/directory.h"
#include "data/fields.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "data/reader.h"
#include "data/transcripts.h"
#include "media/audio.h"

/* ---- sound read ---- */

/* A sound of a file, at the rate of all sounds of a data set, and its rows. */

/* One file, at the rate that it has. HU_ERR_MISSING, HU_ERR_IO and as hu_sound_decode. Owner frees
 * sound->sample, NULL on failure. */
static hu_status hu_sound_read(const char *path, hu_sound *sound) {
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st;
    *sound = (hu_sound){0};
    HU_TRY(hu_file_read_plain(path, HU_SOUND_FILE_MAX, &data, &bytes));
    st = hu_sound_decode(path, data, bytes, sound);
done:
    hu_free(data);
    return st;
}

/* A usual rate of so many frequencies: windows of 20 ms have rate / 100 + 1 of them. */
static int64_t rate_of_bins(int64_t bins) {
    enum { RATE_OF_BIN = 100 };
    static const int64_t usual[] = {11025, 22050};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (hu_spectrum_bins(usual[i]) == bins) return usual[i];
    return RATE_OF_BIN * (bins - 1);
}

hu_status hu_sound_spectrum(const char *first, const hu_image_choice *choice, bool is_known,
                            hu_spectrum *spectrum) {
    hu_sound sound;
    int64_t bins = is_known ? choice->known.width : 0, rate = choice->rate;
    hu_status st = HU_OK;
    *spectrum = (hu_spectrum){0};
    if (rate > 0 && bins > 0 && hu_spectrum_bins(rate) != bins)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.rate: found %lld, expected %lld or another rate of %lld frequencies, "
                       "as the run has",
                       (long long)rate, (long long)rate_of_bins(bins), (long long)bins);
    if (rate > 0) return hu_spectrum_create(rate, spectrum);
    HU_TRY(hu_sound_read(first, &sound));
    hu_free(sound.sample);
    rate = bins > 0 && hu_spectrum_bins(sound.rate) != bins ? rate_of_bins(bins) : sound.rate;
    st = hu_spectrum_create(rate, spectrum);
    if (st == HU_ERR_ARGUMENT)
        st =
            hu_fail(HU_ERR_CORRUPT, "%s: %s; data.rate=16000 resamples it", first, hu_last_error());
done:
    return st;
}

/* A ten-thousandth of full scale, 80 dB below it, is a recorder's own noise. */
static bool is_silent(const hu_sound *sound) {
    const double audible = 1e-4;
    for (int64_t i = 0; i < sound->count; i++)
        if (fabs(sound->sample[i]) >= audible) return false;
    return true;
}

hu_status hu_sound_rows(const char *path, const hu_spectrum *spectrum, int64_t most, float *row,
                        int32_t *frames, hu_sound_counts *counts) {
    hu_sound sound;
    hu_status st;
    HU_TRY(hu_sound_read(path, &sound));
    counts->resampled += sound.rate != spectrum->rate;
    counts->silent += is_silent(&sound);
    HU_TRY(hu_sound_resample(path, spectrum->rate, &sound));
    int64_t count = hu_spectrum_frames(spectrum, sound.count);
    counts->cut += count > most;
    *frames = (int32_t)(count < most ? count : most);
    st = hu_spectrum_rows(spectrum, sound.sample, sound.count, most, row);
done:
    hu_free(sound.sample);
    return st;
}

/* ---- speech ---- */

/* speech:DIR - sounds DIR/train/NAME.wav and DIR/test/NAME.wav (or val; of any kind) with what is
 * said in them: rows of a spectrogram, their number, and the characters of the text. */

enum { FEATURES, LENGTH, LABEL, FIELDS };
enum { USUAL_FRAMES = 160 };

/* Memory of a half after each other in hu_dataset.owned. */
enum { ROWS, FRAMES, NUMBERS, CHARACTERS, OWNED_OF_HALF, FIELDS_OF_TEST = 2 * OWNED_OF_HALF };

/* One half while it is read. */
typedef struct speech_half {
    char *folder; /* NULL: names are paths */
    hu_file_names names;
    hu_transcripts said;
    const char *first; /* by name, into names.text */
    int64_t used;      /* sounds of the limit, which stand in front */
} speech_half;

static void close_half(speech_half *half) {
    hu_free(half->folder);
    hu_file_names_free(&half->names);
    hu_transcripts_free(&half->said);
}

/* A limit draws its sounds: names tell speakers and words apart, and the first ones by name would
 * be of one kind. They come to the front, and both they and the others stay in the order of their
 * names. */
static hu_status draw_used(uint64_t seed, const char *name, speech_half *half) {
    const hu_random_key key = {seed, hu_stream_id("speech limit", name), 0};
    size_t count = half->names.count, front = 0, back = (size_t)half->used;
    char **sorted = NULL;
    const char **said = NULL;
    uint32_t *order = NULL;
    bool *marks = NULL;
    hu_status st = HU_OK;
    if (back == count) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&order, count));
    HU_TRY(HU_NEW_ARRAY(&marks, count));
    HU_TRY(HU_NEW_ARRAY(&sorted, count));
    HU_TRY(HU_NEW_ARRAY(&said, count));
    hu_random_permutation(&key, (uint32_t)count, order);
    for (size_t i = 0; i < (size_t)half->used; i++) marks[order[i]] = true;
    for (size_t i = 0; i < count; i++) {
        size_t to = marks[i] ? front++ : back++;
        sorted[to] = half->names.name[i];
        said[to] = half->said.text[i];
    }
    memcpy(half->names.name, sorted, count * sizeof *sorted);
    memcpy(half->said.text, said, count * sizeof *said);
done:
    hu_free(order);
    hu_free(marks);
    hu_free(sorted);
    hu_free(said);
    return st;
}

/* Owner closes the half, also on failure. */
static hu_status open_half(const char *directory, const char *name, int64_t limit, uint64_t seed,
                           bool may_lack, speech_half *half) {
    hu_status st;
    HU_TRY(hu_path_join(directory, name, &half->folder));
    HU_TRY(hu_file_names_of_sounds(half->folder, &half->names));
    if (half->names.count == 0)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no sound (%s) in it, and %zu other files",
                       half->folder, HU_SOUND_ENDINGS, half->names.others));
    HU_TRY(hu_transcripts_read(half->folder, &half->names, may_lack, &half->said));
    half->first = half->names.name[0];
    half->used = hu_limited((int64_t)half->names.count, limit);
    st = draw_used(seed, name, half);
done:
    return st;
}

/* Files of which nobody says anything. */
static hu_status open_sounds(const hu_data_known *known, speech_half *half) {
    size_t bytes = 0, at = 0, count = known->file_count;
    hu_status st;
    for (size_t i = 0; i < count; i++) bytes += strlen(known->files[i]) + 1;
    HU_TRY(HU_NEW_ARRAY(&half->names.name, count));
    HU_TRY(HU_NEW_ARRAY(&half->names.text, bytes));
    for (size_t i = 0; i < count; at += strlen(known->files[i++]) + 1)
        half->names.name[i] = strcpy(half->names.text + at, known->files[i]);
    HU_TRY(HU_NEW_ARRAY(&half->said.text, count));
    half->names.count = count;
    half->first = half->names.name[0];
    half->used = (int64_t)count;
done:
    return st;
}

/* DIR/test, or DIR/val; or files. */
static hu_status open_test(const char *directory, int64_t limit, const hu_image_choice *choice,
                           speech_half *half) {
    const hu_data_known *known = &choice->known;
    const char *name;
    if (known->files) return open_sounds(known, half);
    hu_status st = hu_test_split(directory, &name);
    return st == HU_OK
               ? open_half(directory, name, limit, choice->seed, known->needs_no_truth, half)
               : st;
}

/* Owner frees *path. */
static hu_status path_of(const char *folder, const char *name, char **path) {
    return folder ? hu_path_join(folder, name, path) : hu_strdup(name, path);
}

/* ---- where samples come from ---- */

typedef struct sound_files {
    hu_reader reader; /* which reads nothing: the samples are in memory */
    char *folder;
    hu_file_names names;
} sound_files;

static hu_status tell_file(const hu_reader *reader, int64_t index, hu_sample_file *file) {
    const sound_files *files = (const sound_files *)reader;
    return path_of(files->folder, files->names.name[index], &file->path);
}

static hu_status list_file(const hu_reader *reader, int64_t i, char **path) {
    const sound_files *files = (const sound_files *)reader;
    *path = NULL;
    if (i >= (int64_t)files->names.count) return HU_OK;
    return path_of(files->folder, files->names.name[i], path);
}

static void close_files(hu_reader *reader) {
    sound_files *files = (sound_files *)reader;
    hu_free(files->folder);
    hu_file_names_free(&files->names);
    hu_free(files);
}

/* The half gives its names away. */
static hu_status give_files(speech_half *half, hu_split *split) {
    sound_files *files;
    hu_status st = HU_NEW(&files);
    if (st != HU_OK) return st;
    *files = (sound_files){
        {.tell = tell_file, .list = list_file, .close = close_files}, half->folder, half->names};
    half->folder = NULL;
    half->names = (hu_file_names){0};
    split->files = &files->reader;
    return HU_OK;
}

bool hu_speech_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    return hu_has_folder(directory, "train");
}

/* ---- sounds ---- */

/* Where the rows of a half go. */
typedef struct filling {
    const speech_half *half;
    const hu_spectrum *spectrum;
    int64_t most;    /* frames */
    float *rows;     /* [used, most, bins] */
    int32_t *frames; /* [used] */
    hu_sound_counts *counts;
} filling;

static hu_status fill_rows(void *context, int64_t i) {
    const filling *f = context;
    char *path;
    hu_status st = path_of(f->half->folder, f->half->names.name[i], &path);
    if (st == HU_OK)
        st = hu_sound_rows(path, f->spectrum, f->most, f->rows + i * f->most * f->spectrum->bins,
                           f->frames + i, f->counts);
    hu_free(path);
    return st;
}

/* ---- texts ---- */

static int64_t longest(const speech_half *half) {
    int64_t most = 1; /* where nothing is said at all, a field still has a number */
    for (int64_t i = 0; i < half->used; i++) {
        int64_t length = half->said.text[i] ? hu_alphabet_length(half->said.text[i]) : 0;
        if (length > most) most = length;
    }
    return most;
}

/* number [used, most], unlabelled after each text; length [used]. */
static hu_status spell_half(const speech_half *half, const hu_alphabet *alphabet, const char *whose,
                            int64_t most, int32_t *number, int32_t *length) {
    for (int64_t i = 0; i < half->used; i++) {
        const char *text = half->said.text[i] ? half->said.text[i] : "";
        length[i] = (int32_t)hu_alphabet_length(text);
        for (int64_t k = length[i]; k < most; k++) number[i * most + k] = HU_UNLABELLED;
        if (hu_alphabet_spell(alphabet, text, number + i * most) != HU_OK)
            return hu_fail(HU_ERR_CORRUPT, "%s/%s: found the character %s, which %s", half->folder,
                           half->names.name[i], hu_last_error(), whose);
    }
    return HU_OK;
}

/* ---- opening ---- */

/* A model that writes letters knows the blank first; others know no alphabet. */
static bool knows_alphabet(const hu_data_known *known) {
    return known->classes > 0 && known->class_names && !known->class_names[0];
}

/* Of the training sounds, or of those that a model is to hear. */
static hu_status make_spectrum(const speech_half *half, const hu_image_choice *choice,
                               hu_spectrum *spectrum) {
    const hu_data_known *known = &choice->known;
    char *first;
    hu_status st = path_of(half->folder, half->first, &first);
    if (st == HU_OK)
        st = hu_sound_spectrum(first, choice, known->only_test && knows_alphabet(known), spectrum);
    hu_free(first);
    return st;
}

/* The alphabet of the training texts, or that of a model. */
static hu_status set_classes(const speech_half *train, const hu_data_known *known,
                             hu_alphabet *alphabet, hu_dataset *dataset) {
    hu_status st;
    if (knows_alphabet(known))
        HU_TRY(hu_alphabet_of_names(known->class_names, known->classes, alphabet));
    else
        HU_TRY(hu_alphabet_create(train->said.text, train->names.count, alphabet));
    HU_TRY(hu_alphabet_names(alphabet, &dataset->class_names));
    dataset->class_name_count = (int64_t)alphabet->count + 1;
done:
    return st;
}

/* The longest text that a network is made for; test texts beyond that have fields of their own. */
static hu_status set_longest(const speech_half *train, const speech_half *test,
                             const hu_data_known *known, hu_dataset *dataset) {
    int64_t most = longest(train), of_test = longest(test);
    hu_field *field;
    if (known->letters > most) most = known->letters;
    if (known->letters == 0 && of_test > most) most = of_test;
    dataset->field[LABEL].extent[0] = most;
    if (of_test <= most) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&field, FIELDS);
    if (st != HU_OK) return st;
    dataset->owned[FIELDS_OF_TEST] = field;
    memcpy(field, dataset->field, FIELDS * sizeof *field);
    field[LABEL].extent[0] = of_test;
    dataset->test.field = field;
    return HU_OK;
}

/* What both halves are filled with. */
typedef struct speech_facts {
    const hu_spectrum *spectrum;
    const hu_alphabet *alphabet;
    const char *whose; /* what a character is missing from */
} speech_facts;

/* A half in memory. */
static hu_status fill_half(const speech_half *half, const speech_facts *facts,
                           const hu_field *field, void **owned, hu_sound_counts *counts,
                           hu_split *split) {
    int64_t most = field[FEATURES].extent[0], letters = field[LABEL].extent[0];
    int64_t bins = facts->spectrum->bins;
    size_t used = (size_t)half->used;
    hu_status st;
    HU_TRY(hu_alloc_array(used, (size_t)(most * bins) * sizeof(float), &owned[ROWS]));
    HU_TRY(hu_alloc_array(used, sizeof(int32_t), &owned[FRAMES]));
    HU_TRY(hu_alloc_array(used, (size_t)letters * sizeof(int32_t), &owned[NUMBERS]));
    HU_TRY(hu_alloc_array(used, sizeof(int32_t), &owned[CHARACTERS]));
    filling f = {half, facts->spectrum, most, owned[ROWS], owned[FRAMES], counts};
    HU_TRY(hu_data_each(half->used, fill_rows, &f));
    HU_TRY(spell_half(half, facts->alphabet, facts->whose, letters, owned[NUMBERS],
                      owned[CHARACTERS]));
    *split = (hu_split){.field = split->field,
                        .count = half->used,
                        .rows = {owned[ROWS], owned[FRAMES], owned[NUMBERS]},
                        .length = {owned[FRAMES], NULL, owned[CHARACTERS]}};
done:
    return st;
}

/* What is told of a half: 0 training, 1 testing. */
static void tell(const speech_half *half, const hu_sound_counts *counts, int number,
                 hu_dataset *dataset) {
    dataset->sounds[number] =
        (hu_sounds_told){.cut = counts->cut,
                         .resampled = counts->resampled,
                         .silent = counts->silent,
                         .left_out = (int64_t)half->names.others - (half->said.block != NULL)};
}

/* Both halves, or the test half for both. */
static hu_status fill_halves(speech_half *train, speech_half *test, bool only_test,
                             const speech_facts *facts, hu_dataset *dataset) {
    hu_status st = HU_OK;
    hu_sound_counts of_train = {0}, of_test = {0};
    if (!only_test) {
        HU_TRY(fill_half(train, facts, dataset->field, dataset->owned, &of_train, &dataset->train));
        tell(train, &of_train, 0, dataset);
        HU_TRY(give_files(train, &dataset->train));
    }
    HU_TRY(fill_half(test, facts, hu_dataset_fields(dataset, HU_SPLIT_TEST),
                     dataset->owned + OWNED_OF_HALF, &of_test, &dataset->test));
    tell(test, &of_test, 1, dataset);
    dataset->lacks_truth = !test->said.text[0];
    if (only_test) dataset->train = dataset->test;
    st = give_files(test, &dataset->test);
done:
    return st;
}

hu_status hu_speech_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, const hu_image_choice *choice,
                         hu_dataset *dataset) {
    (void)kind;
    const hu_data_known *known = &choice->known;
    speech_half train = {0}, test = {0};
    hu_spectrum spectrum = {0};
    hu_alphabet alphabet = {0};
    hu_status st;
    if (!known->only_test)
        HU_TRY(open_half(directory, "train", limits->train, choice->seed, false, &train));
    HU_TRY(open_test(directory, limits->test, choice, &test));
    HU_TRY(make_spectrum(known->only_test ? &test : &train, choice, &spectrum));
    HU_TRY(set_classes(&train, known, &alphabet, dataset));
    /* The longest text follows. */
    hu_sound_fields(choice->frames > 0 ? choice->frames : USUAL_FRAMES, spectrum.bins, 0,
                    dataset->class_name_count, dataset);
    HU_TRY(set_longest(&train, &test, known, dataset));
    const speech_facts facts = {&spectrum, &alphabet,
                                knows_alphabet(known) ? "the alphabet of the run lacks"
                                                      : "no text of the training sounds has"};
    HU_TRY(fill_halves(&train, &test, known->only_test, &facts, dataset));
done:
    hu_alphabet_free(&alphabet);
    hu_spectrum_free(&spectrum);
    close_half(&train);
    close_half(&test);
    return st;
}
