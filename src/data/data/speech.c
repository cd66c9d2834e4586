#include "data/speech.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text_file.h"
#include "data/directory.h"
#include "data/fields.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "data/reader.h"
#include "data/vocabulary.h"
#include "media/audio.h"

/* ---- what is said in the sounds of a folder ---- */

/* ---- alphabet ---- */

/* The characters of a language as class numbers, for sequences without marks. */

enum { POINT_BYTES = 4, TAIL_BITS = 6, TAIL_MASK = 0x3f };

/* The first character of sound UTF-8 and how many bytes it takes. */
static uint32_t first_point(const char *text, size_t *bytes) {
    const uint8_t *b = (const uint8_t *)text;
    *bytes = b[0] < 0xc0 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : POINT_BYTES;
    uint32_t point = *bytes == 1 ? b[0] : b[0] & (0x7fu >> *bytes);
    for (size_t i = 1; i < *bytes; i++) point = point << TAIL_BITS | (b[i] & TAIL_MASK);
    return point;
}

/* As UTF-8, without a final zero; returns the bytes. */
static size_t put_point(uint32_t point, char *text) {
    size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : POINT_BYTES;
    for (size_t i = bytes; i-- > 1; point >>= TAIL_BITS)
        text[i] = (char)(0x80 | (point & TAIL_MASK));
    static const uint8_t head[] = {0, 0, 0xc0, 0xe0, 0xf0};
    text[0] = (char)(head[bytes] | point);
    return bytes;
}

static int compare_characters(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool is_letter(uint32_t point) {
    return point >= 'a' && point <= 'z';
}

/* Class of a character, 0 if the alphabet lacks it. */
static int32_t number_of(const hu_alphabet *a, uint32_t point) {
    if (is_letter(point)) return (int32_t)(point - 'a') + 1;
    const uint32_t *others = a->point + HU_ALPHABET_LETTERS;
    size_t count = a->count - HU_ALPHABET_LETTERS;
    if (count == 0) return 0;
    const uint32_t *found = bsearch(&point, others, count, sizeof *others, compare_characters);
    return found ? (int32_t)(found - a->point) + 1 : 0;
}

/* Others are kept sorted: a text has few kinds of them. */
static hu_status add(hu_alphabet *a, uint32_t point) {
    if (number_of(a, point) > 0) return HU_OK;
    hu_status st = hu_grow(&a->point, a->count, &a->capacity, sizeof *a->point);
    if (st != HU_OK) return st;
    size_t at = a->count++;
    for (; at > HU_ALPHABET_LETTERS && a->point[at - 1] > point; at--)
        a->point[at] = a->point[at - 1];
    a->point[at] = point;
    return HU_OK;
}

/* a to z. */
static hu_status begin(hu_alphabet *alphabet) {
    *alphabet = (hu_alphabet){.capacity = 2 * HU_ALPHABET_LETTERS};
    hu_status st = HU_NEW_ARRAY(&alphabet->point, alphabet->capacity);
    for (uint32_t letter = 'a'; st == HU_OK && letter <= 'z'; letter++)
        alphabet->point[alphabet->count++] = letter;
    return st;
}

static hu_status hu_alphabet_create(const char *const *texts, size_t count, hu_alphabet *alphabet) {
    hu_status st;
    size_t bytes;
    HU_TRY(begin(alphabet));
    for (size_t i = 0; i < count; i++)
        for (const char *text = texts[i]; *text; text += bytes)
            HU_TRY(add(alphabet, first_point(text, &bytes)));
done:
    return st;
}

/* The letters and all other characters of texts in UTF-8 [count]. HU_ERR_MEMORY. Owner frees with
 * hu_alphabet_free, also on failure. */
static void hu_alphabet_free(hu_alphabet *alphabet) {
    hu_free(alphabet->point);
    *alphabet = (hu_alphabet){0};
}

/* Characters of a text in UTF-8. */
static int64_t hu_alphabet_length(const char *text) {
    int64_t length = 0;
    size_t bytes;
    for (; *text; text += bytes, length++) first_point(text, &bytes);
    return length;
}

/* Their class numbers; number [hu_alphabet_length]. HU_ERR_CORRUPT for a character that the
 * alphabet lacks: the message names it alone. */
static hu_status hu_alphabet_spell(const hu_alphabet *alphabet, const char *text, int32_t *number) {
    size_t bytes;
    for (; *text; text += bytes, number++) {
        *number = number_of(alphabet, first_point(text, &bytes));
        if (*number == 0) return hu_fail(HU_ERR_CORRUPT, "'%.*s'", (int)bytes, text);
    }
    return HU_OK;
}

/* Names of the classes as hu_dataset_class_name reads them: the blank's is empty. Owner frees *text
 * with hu_free. */
static hu_status hu_alphabet_names(const hu_alphabet *alphabet, char **text) {
    hu_status st = HU_NEW_ARRAY(text, 1 + alphabet->count * (POINT_BYTES + 1));
    if (st != HU_OK) return st;
    char *to = *text + 1; /* after the blank's */
    for (size_t i = 0; i < alphabet->count; i++) {
        to += put_point(alphabet->point[i], to);
        *to++ = '\0';
    }
    return HU_OK;
}

/* The alphabet of such names [count classes]. HU_ERR_CORRUPT: the first is not the blank, a to z do
 * not follow, or one of the others is no character after those before it. HU_ERR_MEMORY. Owner
 * frees, also on failure. */
static hu_status hu_alphabet_of_names(const char *names, int64_t count, hu_alphabet *alphabet) {
    hu_status st;
    size_t bytes;
    const char *name = names + strlen(names) + 1;
    HU_TRY(begin(alphabet));
    bool is_sound = *names == '\0' && count > HU_ALPHABET_LETTERS;
    for (int64_t c = 1; is_sound && c < count; c++, name += strlen(name) + 1) {
        uint32_t point = first_point(name, &bytes);
        HU_TRY(add(alphabet, point));
        is_sound = name[0] && !name[bytes] && number_of(alphabet, point) == c;
    }
    if (!is_sound)
        st = hu_fail(HU_ERR_CORRUPT, "found other characters, expected a to z and then others in "
                                     "the order of their code points, one in each line");
done:
    return st;
}

hu_status hu_alphabet_write(const char *path, const char *names, int64_t count) {
    return hu_vocabulary_write(path, names + 1, count - 1);
}

hu_status hu_alphabet_read(const char *path, char **names, int64_t *count) {
    hu_vocabulary words = {.unknown = -1};
    hu_alphabet alphabet = {0};
    bool is_present;
    hu_status st = HU_OK;
    *names = NULL;
    *count = 0;
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) return HU_OK;
    HU_TRY(hu_vocabulary_read(path, HU_TEXT_CHARACTERS, &words));
    const hu_word *last = &words.word[words.count - 1];
    size_t bytes = (size_t)(last->at + last->length + 1 - words.text);
    HU_TRY(HU_NEW_ARRAY(names, bytes + 1));
    memcpy(*names + 1, words.text, bytes); /* after the blank's */
    *count = (int64_t)words.count + 1;
    st = hu_alphabet_of_names(*names, *count, &alphabet);
    if (st == HU_ERR_CORRUPT) st = hu_fail(st, "%s: %s", path, hu_last_error());
done:
    if (st != HU_OK) {
        hu_free(*names);
        *names = NULL;
        *count = 0;
    }
    hu_alphabet_free(&alphabet);
    hu_vocabulary_free(&words);
    return st;
}

/* ---- transcripts ---- */

#define FILE_MOST ((size_t)1 << 30)

static const char file_name[] = "transcripts.txt";

/* A sound by its name without the ending. */
typedef struct listed_sound {
    const char *name;
    size_t length, index;
} listed_sound;

static int compare(const void *a, const void *b) {
    const listed_sound *x = a, *y = b;
    int by_letters = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
    return by_letters ? by_letters : (x->length > y->length) - (x->length < y->length);
}

/* Sorted by name; owner frees. */
static hu_status list_sounds(const hu_file_names *names, listed_sound **list) {
    hu_status st = HU_NEW_ARRAY(list, names->count);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < names->count; i++)
        (*list)[i] = (listed_sound){names->name[i],
                                    (size_t)(strrchr(names->name[i], '.') - names->name[i]), i};
    if (names->count > 0) qsort(*list, names->count, sizeof **list, compare);
    return HU_OK;
}

static void make_small(char *text) {
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z') *text = (char)(*text - 'A' + 'a');
}

/* line: without its end. */
static hu_status take_line(const char *path, size_t number, char *line, const listed_sound *list,
                           size_t count, const char **text) {
    size_t sound_bytes = hu_text_utf8_bytes(line);
    char *tab = strchr(line, '\t');
    if (line[sound_bytes])
        return hu_fail(HU_ERR_CORRUPT, "%s: line %zu, byte %zu: found 0x%02x, expected UTF-8", path,
                       number, sound_bytes + 1, (unsigned char)line[sound_bytes]);
    if (!tab)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: line %zu: found no tab, expected the name of a sound, a tab and what "
                       "is said",
                       path, number);
    listed_sound wanted = {line, (size_t)(tab - line), 0};
    const listed_sound *found = bsearch(&wanted, list, count, sizeof *list, compare);
    if (!found || text[found->index])
        return hu_fail(HU_ERR_CORRUPT, "%s: line %zu: found '%.*s', %s", path, number,
                       (int)wanted.length, line,
                       found ? "which has its text already"
                             : "expected the name of a sound beside the file, without its ending");
    make_small(tab + 1);
    text[found->index] = tab + 1;
    return HU_OK;
}

/* block: the file with a zero after it; its lines become texts in place. */
static hu_status take_lines(const char *path, char *block, const hu_file_names *names,
                            const char **text) {
    listed_sound *list = NULL;
    hu_status st;
    size_t number = 0;
    HU_TRY(list_sounds(names, &list));
    for (size_t i = 1; i < names->count; i++)
        if (compare(&list[i - 1], &list[i]) == 0)
            HU_TRY(hu_fail(HU_ERR_CORRUPT,
                           "%s: found %s and %s beside it, expected names that differ before their "
                           "endings",
                           path, names->name[list[i - 1].index], names->name[list[i].index]));
    for (char *line = block; *line;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (end > line && end[-1] == '\r') end[-1] = '\0';
        HU_TRY(take_line(path, ++number, line, list, names->count, text));
        line = next;
    }
    for (size_t i = 0; i < names->count; i++)
        if (!text[i])
            HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no line for %s", path, names->name[i]));
done:
    hu_free(list);
    return st;
}

static hu_status read_file(const char *path, const hu_file_names *names, hu_transcripts *t) {
    size_t bytes;
    hu_status st = hu_text_read(path, FILE_MOST, &t->block, &bytes);
    return st == HU_OK ? take_lines(path, t->block, names, t->text) : st;
}

static bool is_digit(const char *name) {
    return name[0] >= '0' && name[0] <= '9' && name[1] == '_';
}

static bool are_digits(const hu_file_names *names) {
    for (size_t i = 0; i < names->count; i++)
        if (!is_digit(names->name[i])) return false;
    return true;
}

/* DIGIT_SPEAKER_TAKE.wav */
static hu_status read_digits(const char *folder, const hu_file_names *names, hu_transcripts *t) {
    static const char *const digit[] = {"zero", "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        if (!is_digit(name))
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: found %s and no %s, expected a line for each sound there, or names "
                           "like 7_jackson_3.wav",
                           folder, name, file_name);
        t->text[i] = digit[name[0] - '0'];
    }
    return HU_OK;
}

hu_status hu_transcripts_read(const char *folder, const hu_file_names *sounds, bool may_lack,
                              hu_transcripts *transcripts) {
    char *path = NULL;
    bool is_present;
    hu_status st;
    *transcripts = (hu_transcripts){0};
    HU_TRY(HU_NEW_ARRAY(&transcripts->text, sounds->count));
    HU_TRY(hu_path_join(folder, file_name, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (is_present)
        st = read_file(path, sounds, transcripts);
    else if (!may_lack || are_digits(sounds))
        st = read_digits(folder, sounds, transcripts);
done:
    hu_free(path);
    return st;
}

void hu_transcripts_free(hu_transcripts *transcripts) {
    hu_free(transcripts->text);
    hu_free(transcripts->block);
    *transcripts = (hu_transcripts){0};
}

/* ---- speech ---- */

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
