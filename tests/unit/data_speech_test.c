/* Sounds with what is said in them: read, cut, spelled and refused. */
#include <math.h>
#include <sys/stat.h>

#include "data/reader.h"
#include "data/speech.h"
#include "data_refused.h"
#include "media/audio.h"
#include "wav_bytes.h"

enum { FEATURES, LENGTH, LABEL, BINS = 81 };

/* A tone of so many samples. */
static void put_tone(const char *name, uint32_t rate, int count, double turn) {
    static int16_t sample[1 << 16];
    static wav_writer w;
    for (int i = 0; i < count; i++) sample[i] = (int16_t)(8000 * sin(turn * (double)i));
    w = wav_begin(rate, 1, 16, false);
    wav_chunk(&w, "data", sample, (size_t)count * sizeof *sample);
    put(name, w.data, wav_end(&w));
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

static int make_tree(void **state) {
    if (make_folder(state) != 0) return 1;
    assert_int_equal(mkdir(at("train"), 0777), 0);
    assert_int_equal(mkdir(at("val"), 0777), 0);
    put_tone("train/0_ann_1.wav", 8000, 400, 0.2);
    put_tone("train/3_bob_0.WAV", 8000, 100, 0.4);
    put_tone("train/9_ann_0.wav", 8000, 1200, 0.6);
    put_tone("val/1_eve_0.wav", 8000, 480, 0.5);
    return 0;
}

static const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "speech:%s", folder);
    return text;
}

static hu_dataset *open_with(const hu_image_choice *choice, const hu_data_limits *limits) {
    hu_dataset *d;
    if (hu_dataset_open_images(spec(), limits, choice, &d) != HU_OK)
        fail_msg("%s", hu_last_error());
    return d;
}

static void refuse(hu_status expected, const char *part) {
    refuse_data(spec(), NULL, expected, part);
}

/* Class numbers as text; unlabelled ones are points. */
static const char *spelled(const hu_dataset *d, const hu_split *split, int64_t i) {
    static char text[4][256];
    static int turn;
    char *to = text[turn++ % 4];
    int64_t most = d->field[LABEL].extent[0];
    const int32_t *number = (const int32_t *)split->rows[LABEL] + i * most;
    to[0] = '\0';
    for (int64_t k = 0; k < most; k++) {
        assert_true((number[k] == HU_UNLABELLED) == (k >= split->length[LABEL][i]));
        strcat(to, number[k] == HU_UNLABELLED ? "." : hu_dataset_class_name(d, number[k]));
    }
    return to;
}

static void fields_are_those_of_the_files(void **state) {
    (void)state;
    static const hu_image_choice eight = {.frames = 8};
    static const int32_t frames[] = {4, 1, 8}; /* of 4, 1 and 14 */
    hu_dataset *d = open_with(&eight, NULL);
    assert_int_equal(d->field_count, 3);
    assert_string_equal(d->field[FEATURES].name, "features");
    assert_true(d->field[FEATURES].rank == 3 && d->field[FEATURES].extent[0] == 8 &&
                d->field[FEATURES].extent[1] == BINS && d->field[FEATURES].extent[2] == 1);
    assert_true(d->field[LENGTH].rank == 0 && d->field[LENGTH].classes == 0);
    assert_true(d->field[LABEL].extent[0] == 5 && d->field[LABEL].classes == 27);
    assert_true(d->train.count == 3 && d->test.count == 1);
    assert_memory_equal(d->train.rows[LENGTH], frames, sizeof frames);
    assert_string_equal(hu_dataset_class_name(d, 0), "");
    assert_string_equal(hu_dataset_class_name(d, 26), "z");
    assert_null(hu_dataset_class_name(d, 27));
    assert_string_equal(spelled(d, &d->train, 0), "zero.");
    assert_string_equal(spelled(d, &d->train, 1), "three");
    assert_string_equal(spelled(d, &d->train, 2), "nine.");
    assert_string_equal(spelled(d, &d->test, 0), "one..");
    hu_dataset_close(d);
}

/* What a loader gives: rows of the spectrogram, zeros after them. */
static void rows_are_filled_up_with_zeros(void **state) {
    (void)state;
    enum { FRAMES = 20 };
    static const hu_image_choice twenty = {.frames = FRAMES};
    static float rows[3 * FRAMES * BINS], expected[14 * BINS];
    float length[3], label[15];
    static double sample[1200];
    hu_dataset *d = open_with(&twenty, NULL);
    hu_loader *loader;
    hu_loader_settings settings = {.seed = 1};
    hu_spectrum s;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    hu_loader_fill(loader, FEATURES, HU_READ_PLAIN, 0, 3, rows);
    hu_loader_fill(loader, LENGTH, HU_READ_PLAIN, 0, 3, length);
    hu_loader_fill(loader, LABEL, HU_READ_PLAIN, 0, 3, label);
    for (int i = 0; i < 1200; i++) sample[i] = (int16_t)(8000 * sin(0.6 * (double)i)) / 32768.0;
    assert_int_equal(hu_spectrum_create(8000, &s), HU_OK);
    assert_int_equal(hu_spectrum_rows(&s, sample, 1200, FRAMES, expected), HU_OK);
    assert_memory_equal(rows + 2 * FRAMES * BINS, expected, sizeof expected);
    for (int i = 0; i < 3; i++)
        for (int k = (int)length[i] * BINS; k < FRAMES * BINS; k++)
            assert_true(rows[i * FRAMES * BINS + k] == 0.0f);
    assert_true(length[0] == 4 && length[1] == 1 && length[2] == 14);
    assert_true(label[0] == 26 && label[1] == 5 && label[5] == 20 && label[10] == 14);
    hu_spectrum_free(&s);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* Other characters stand after z in the order of their code points; capital letters become small;
 * a text may be empty. A limit leaves the alphabet. */
static void transcripts_are_spelled(void **state) {
    (void)state;
    static const hu_data_limits one = {1, 1};
    put_text("train/transcripts.txt",
             "9_ann_0\tIt's \xc3\xa9t\xc3\xa9\r\n0_ann_1\t\n3_bob_0\t\xe6\x84\x9b");
    put_text("val/transcripts.txt", "1_eve_0\t'\xc3\xa9\n");
    hu_dataset *d = open_with(NULL, NULL);
    assert_int_equal(d->field[FEATURES].extent[0], 160);
    assert_int_equal(d->field[LABEL].classes, 1 + 26 + 4);
    assert_string_equal(hu_dataset_class_name(d, 27), " ");
    assert_string_equal(hu_dataset_class_name(d, 28), "'");
    assert_string_equal(hu_dataset_class_name(d, 29), "\xc3\xa9");
    assert_string_equal(hu_dataset_class_name(d, 30), "\xe6\x84\x9b");
    assert_string_equal(spelled(d, &d->train, 0), "........");
    assert_string_equal(spelled(d, &d->train, 1), "\xe6\x84\x9b.......");
    assert_string_equal(spelled(d, &d->train, 2), "it's \xc3\xa9t\xc3\xa9");
    assert_string_equal(spelled(d, &d->test, 0), "'\xc3\xa9......");
    hu_dataset_close(d);
    d = open_with(NULL, &one);
    assert_true(d->field[LABEL].classes == 31 && d->train.count == 1);
    assert_int_equal(d->field[LABEL].extent[0], 2);
    hu_dataset_close(d);
    put_text("val/transcripts.txt", "1_eve_0\ta-b\n");
    refuse(HU_ERR_CORRUPT, "val/1_eve_0.wav: found the character '-', which no text");
}

static void wrong_transcripts_are_named(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"0_ann_1\ta\n3_bob_0\tb\n", "transcripts.txt: found no line for 9_ann_0.wav"},
        {"0_ann_1\ta\n0_ann_1\tb\n", "line 2: found '0_ann_1', which has its text already"},
        {"0_ann_1\ta\n\n", "line 2: found no tab"},
        {"0_ann\ta\n", "line 1: found '0_ann', expected the name of a sound beside"},
        {"0_ann_1\t\xff\n", "line 1, byte 9: found 0xff, expected UTF-8"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        put_text("train/transcripts.txt", table[i][0]);
        refuse(HU_ERR_CORRUPT, table[i][1]);
    }
    put("train/transcripts.txt", "0_ann_1\t\0", 9);
    refuse(HU_ERR_CORRUPT, "offset 8: found a zero byte, expected text");
}

/* One rate for all: that of the first sound, or another one. What is left out, resampled or silent
 * is counted. */
static void sounds_of_other_rates_are_resampled(void **state) {
    (void)state;
    static const hu_image_choice sixteen = {.rate = 16000};
    static const int32_t frames[] = {4, 4, 14};
    put_tone("train/3_bob_0.WAV", 16000, 900, 0.1);
    put_tone("train/9_ann_0.wav", 8000, 1200, 0.0); /* sin 0 */
    put_text("train/8_ann_0.m4a", "ftyp");
    hu_dataset *d = open_with(NULL, NULL);
    assert_int_equal(d->field[FEATURES].extent[1], BINS);
    assert_memory_equal(d->train.rows[LENGTH], frames, sizeof frames);
    assert_true(d->sounds[0].resampled == 1 && d->sounds[0].silent == 1);
    assert_true(d->sounds[0].left_out == 1 && d->sounds[1].left_out == 0);
    assert_true(d->sounds[1].resampled == 0 && d->sounds[1].silent == 0);
    hu_dataset_close(d);
    d = open_with(&sixteen, NULL);
    assert_int_equal(d->field[FEATURES].extent[1], 161);
    assert_memory_equal(d->train.rows[LENGTH], frames, sizeof frames);
    assert_true(d->sounds[0].resampled == 2 && d->sounds[1].resampled == 1);
    hu_dataset_close(d);
}

/* A limit draws sounds by the seed, and takes them in the order of their names; the rate stays that
 * of the first one of all. */
static void a_limit_draws_sounds(void **state) {
    (void)state;
    static const hu_data_limits two = {2, 0};
    bool seen[3] = {false};
    put_tone("train/0_ann_1.wav", 8000, 400, 0.2);
    put_tone("train/3_bob_0.WAV", 16000, 900, 0.1);
    put_tone("train/9_ann_0.wav", 16000, 900, 0.1);
    for (uint64_t seed = 0; seed < 20; seed++) {
        const hu_image_choice choice = {.seed = seed};
        int64_t number[2];
        hu_dataset *d = open_with(&choice, &two);
        assert_true(d->train.count == 2 && d->field[FEATURES].extent[1] == BINS);
        for (int i = 0; i < 2; i++) {
            hu_sample_file file;
            assert_int_equal(hu_split_file(&d->train, i, &file), HU_OK);
            number[i] = strstr(file.path, "0_ann_1") ? 0 : strstr(file.path, "3_bob") ? 1 : 2;
            static const char *const said[] = {"zero", "three", "nine"};
            assert_memory_equal(spelled(d, &d->train, i), said[number[i]], strlen(said[number[i]]));
            hu_free(file.path);
        }
        assert_true(number[0] < number[1]);
        seen[3 - number[0] - number[1]] = true;
        hu_dataset_close(d);
    }
    assert_true(seen[0] && seen[1] && seen[2]);
}

static void names_that_differ_in_their_endings_alone_are_refused(void **state) {
    (void)state;
    put_tone("train/0_ann_1.flac", 8000, 400, 0.2);
    put_text("train/transcripts.txt", "0_ann_1\ta\n3_bob_0\tb\n9_ann_0\tc\n");
    refuse(HU_ERR_CORRUPT, "and 0_ann_1.");
}

static void wrong_files_are_named(void **state) {
    (void)state;
    put_text("train/3_bob_0.WAV", "RIFF");
    refuse(HU_ERR_CORRUPT, "train/3_bob_0.WAV: found 4 bytes that are no sound");
    unlink(at("train/3_bob_0.WAV"));
    put_tone("train/x_bob_0.wav", 8000, 900, 0.1);
    refuse(HU_ERR_CORRUPT, "found x_bob_0.wav and no transcripts.txt");
    unlink(at("train/x_bob_0.wav"));
    unlink(at("val/1_eve_0.wav"));
    refuse(HU_ERR_CORRUPT, "val: found no sound (.wav, .flac, .ogg");
    rmdir(at("val"));
    refuse(HU_ERR_MISSING, "the folder must hold train and test (or val) with .wav files (.flac");
    static const hu_image_choice cropped = {.crop = 3};
    refuse_data(spec(), &cropped, HU_ERR_ARGUMENT, "found data.crop=3, expected none");
    static const hu_image_choice framed = {.frames = 3};
    refuse_data(
        "glyphs", &framed, HU_ERR_ARGUMENT,
        "found data.frames=3, expected none: it can be chosen of speech:DIR and sounds:DIR only");
    static const hu_image_choice fast = {.rate = 8000};
    refuse_data(
        "glyphs", &fast, HU_ERR_ARGUMENT,
        "found data.rate=8000, expected none: it can be chosen of speech:DIR and sounds:DIR only");
}

/* ---- what a model knows ---- */

static hu_image_choice known(const char *names, int64_t classes) {
    return (hu_image_choice){.known = {.only_test = true,
                                       .class_names = names,
                                       .classes = classes,
                                       .height = 160,
                                       .width = BINS,
                                       .letters = 6,
                                       .needs_no_truth = true}};
}

/* The folder of a run has the letters; the training half is not read, and texts may be missing. */
static void a_model_has_its_own_alphabet(void **state) {
    (void)state;
    char *names, *again;
    int64_t classes;
    put_text("train/transcripts.txt", "9_ann_0\tit's\n0_ann_1\t\\\n3_bob_0\tx\n");
    put_text("val/transcripts.txt", "1_eve_0\t'\\s\n");
    hu_dataset *d = open_with(NULL, NULL);
    assert_int_equal(hu_alphabet_write(at("alphabet.txt"), d->class_names, d->class_name_count),
                     HU_OK);
    hu_dataset_close(d);
    assert_int_equal(hu_alphabet_read(at("alphabet.txt"), &names, &classes), HU_OK);
    assert_int_equal(classes, 1 + 26 + 2);
    const hu_image_choice choice = known(names, classes);
    put_text("train/transcripts.txt", "");
    d = open_with(&choice, NULL);
    assert_string_equal(spelled(d, &d->test, 0), "'\\s...");
    assert_true(d->train.count == 1 && !d->lacks_truth && d->field[LABEL].extent[0] == 6);
    hu_dataset_close(d);
    put_text("val/transcripts.txt", "1_eve_0\ta-b\n");
    refuse_data(spec(), &choice, HU_ERR_CORRUPT,
                "val/1_eve_0.wav: found the character '-', which the alphabet of the run lacks");
    unlink(at("val/transcripts.txt"));
    put_tone("val/x.wav", 8000, 900, 0.1);
    unlink(at("val/1_eve_0.wav"));
    d = open_with(&choice, NULL);
    assert_string_equal(spelled(d, &d->test, 0), "......");
    assert_true(d->lacks_truth);
    hu_dataset_close(d);
    put_tone("val/x.wav", 16000, 900, 0.1);
    d = open_with(&choice, NULL); /* resampled to the rate of the run */
    assert_true(d->sounds[1].resampled == 1 && d->test.length[FEATURES][0] == 4);
    hu_dataset_close(d);
    hu_image_choice faster = choice;
    faster.rate = 16000;
    refuse_data(spec(), &faster, HU_ERR_ARGUMENT,
                "data.rate: found 16000, expected 8000 or another rate of 81 frequencies");
    hu_free(names);
    assert_int_equal(hu_alphabet_read(at("none.txt"), &again, &classes), HU_OK);
    assert_null(again);
}

/* Files in place of the test half. */
static void files_are_heard(void **state) {
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    char paths[2][128], names[2 * sizeof letters] = {0};
    for (size_t i = 0; letters[i]; i++) names[1 + 2 * i] = letters[i];
    strcpy(paths[0], at("val/1_eve_0.wav"));
    strcpy(paths[1], at("train/0_ann_1.wav"));
    const char *const list[] = {paths[0], paths[1]};
    hu_image_choice choice = known(names, 27);
    hu_sample_file file;
    choice.known.files = list;
    choice.known.file_count = 2;
    hu_dataset *d = open_with(&choice, NULL);
    assert_true(d->test.count == 2 && d->lacks_truth);
    assert_true(d->test.length[FEATURES][0] == 5 && d->test.length[FEATURES][1] == 4);
    assert_int_equal(hu_split_file(&d->test, 1, &file), HU_OK);
    assert_string_equal(file.path, paths[1]);
    hu_free(file.path);
    hu_dataset_close(d);
    choice.known.class_names = "\0a\0c"; /* no alphabet */
    choice.known.classes = 3;
    refuse_data(spec(), &choice, HU_ERR_CORRUPT, "expected a to z and then others");
    choice.known.class_names = NULL; /* what a model of pictures knows */
    d = open_with(&choice, NULL);
    assert_int_equal(d->field[LABEL].classes, 27);
    hu_dataset_close(d);
}

static void damaged_alphabets_are_named(void **state) {
    (void)state;
    char *names;
    int64_t classes;
    put_text("alphabet.txt", "a\nc\n");
    assert_int_equal(hu_alphabet_read(at("alphabet.txt"), &names, &classes), HU_ERR_CORRUPT);
    assert_true(!names && classes == 0);
    assert_non_null(strstr(hu_last_error(), "alphabet.txt: found other characters, expected a to"));
    put_text("alphabet.txt", "a\na\n");
    assert_int_equal(hu_alphabet_read(at("alphabet.txt"), &names, &classes), HU_ERR_CORRUPT);
    assert_non_null(
        strstr(hu_last_error(), "alphabet.txt: line 2: found a word that stands above"));
}

/* Frames of the sample at each position of an epoch. */
static void expect_frames(hu_loader *loader, int64_t epoch, const int64_t *frames) {
    assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
    for (int64_t i = 0; i < hu_loader_count(loader); i++)
        assert_true(hu_loader_length(loader, FEATURES, i) == frames[i]);
}

static void the_first_epochs_come_by_length(void **state) {
    (void)state;
    static const hu_loader_settings sorted = {.sorted_epochs = 2};
    static const int64_t ascending[] = {1, 4, 14}, of_files[] = {4, 1, 14};
    hu_dataset *d = open_with(NULL, NULL);
    hu_loader *loader;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &sorted, &loader), HU_OK);
    expect_frames(loader, 1, ascending);
    expect_frames(loader, 2, of_files);
    expect_frames(loader, 0, ascending);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

static void samples_of_one_length_are_not_sorted(void **state) {
    (void)state;
    static const hu_loader_settings sorted = {.sorted_epochs = 1};
    hu_dataset *d;
    hu_loader *loader;
    assert_int_equal(hu_dataset_open("glyphs", &(hu_data_limits){4, 4}, &d), HU_OK);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &sorted, &loader), HU_ERR_ARGUMENT);
    assert_null(loader);
    assert_non_null(strstr(hu_last_error(), "data.sorted: found 1 epochs of samples without"));
    hu_dataset_close(d);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    put_text("train/transcripts.txt", "0_ann_1\ta\n3_bob_0\tb!\n9_ann_0\t\n");
    assert_true(fail_every_allocation(spec(), NULL, NULL) > 20);
}

/* Free Spoken Digits, where the machine has them: figures of the notes of the reference run. */
static void spoken_digits_are_as_published(void **state) {
    (void)state;
    const char *directory = getenv("HALFULP_FSDD");
    char text[512];
    hu_dataset *d;
    if (!directory) skip();
    snprintf(text, sizeof text, "speech:%s", directory);
    if (hu_dataset_open(text, NULL, &d) != HU_OK) fail_msg("%s", hu_last_error());
    const float *x = d->train.rows[FEATURES];
    const int32_t *frames = d->train.rows[LENGTH];
    int32_t least = frames[0], most = frames[0];
    for (int64_t i = 1; i < d->train.count; i++) {
        least = frames[i] < least ? frames[i] : least;
        most = frames[i] > most ? frames[i] : most;
    }
    assert_true(d->train.count == 800 && d->test.count == 200);
    assert_int_equal(frames[0], 67);
    assert_true(least == 13 && most == 160);
    assert_true(fabs((double)x[0] + 0.985211) < 1e-6);
    assert_true(fabs((double)x[10 * BINS + 20] + 1.093618) < 1e-6);
    assert_string_equal(spelled(d, &d->train, 0), "zero.");
    assert_int_equal(d->field[LABEL].classes, 27);
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_are_those_of_the_files, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(rows_are_filled_up_with_zeros, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(transcripts_are_spelled, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_transcripts_are_named, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(sounds_of_other_rates_are_resampled, make_tree,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(names_that_differ_in_their_endings_alone_are_refused,
                                        make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(a_limit_draws_sounds, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_files_are_named, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(a_model_has_its_own_alphabet, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(files_are_heard, make_tree, remove_folder),
        cmocka_unit_test_setup_teardown(damaged_alphabets_are_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_first_epochs_come_by_length, make_tree, remove_folder),
        cmocka_unit_test(samples_of_one_length_are_not_sorted),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, make_tree, remove_folder),
        cmocka_unit_test(spoken_digits_are_as_published)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
