/* Data that the program writes, draws and plays itself: a grammar's text, scenes, tones. What they
 * promise of themselves holds of every sample, and they are the same bytes on every machine. */
#include <math.h>

#include <halfulp/data.h>
#include <omp.h>
#include <xxhash.h>

#include "base/memory.h"
#include "data/grammar.h"
#include "data_refused.h"
#include "media/boxes.h"

static hu_dataset *open_limited(const char *name, int64_t train, int64_t test) {
    hu_data_limits limits = {train, test};
    hu_dataset *d;
    assert_true(hu_dataset_available(name));
    assert_int_equal(hu_dataset_open(name, &limits, &d), HU_OK);
    return d;
}

/* ---- grammar ---- */

static int64_t count_of(const char *text, char c) {
    int64_t count = 0;
    for (; *text; text++) count += *text == c;
    return count;
}

/* The mean over many sentences is what the equations say, within five standard errors. The spread
 * of one sentence is measured here too. */
static void a_text_is_as_surprising_as_its_grammar_says(void **state) {
    (void)state;
    enum { PARTS = 50, SENTENCES = 2000 };
    hu_grammar_facts facts = hu_grammar_tell();
    double words[PARTS], nats[PARTS], mean[2] = {0}, error[2] = {0};
    for (int p = 0; p < PARTS; p++) {
        char half[16], *text;
        double surprise;
        snprintf(half, sizeof half, "part %d", p);
        assert_int_equal(hu_grammar_write(half, SENTENCES, &text, &surprise), HU_OK);
        int64_t lines = count_of(text, '\n');
        assert_int_equal(lines, SENTENCES);
        words[p] = (double)(count_of(text, ' ') + 2 * lines) / SENTENCES;
        nats[p] = surprise / SENTENCES;
        mean[0] += words[p] / PARTS;
        mean[1] += nats[p] / PARTS;
        hu_free(text);
    }
    for (int p = 0; p < PARTS; p++) {
        error[0] += (words[p] - mean[0]) * (words[p] - mean[0]) / (PARTS - 1) / PARTS;
        error[1] += (nats[p] - mean[1]) * (nats[p] - mean[1]) / (PARTS - 1) / PARTS;
    }
    print_message("words %.4f of %.4f, nats %.4f of %.4f; a token %.5f nats\n", mean[0],
                  facts.words, mean[1], facts.entropy, facts.entropy / facts.words);
    assert_true(fabs(mean[0] - facts.words) < 5.0 * sqrt(error[0]));
    assert_true(fabs(mean[1] - facts.entropy) < 5.0 * sqrt(error[1]));
    assert_true(sqrt(error[0]) < 0.02 && sqrt(error[1]) < 0.04);
}

static void a_text_becomes_windows_and_streams_of_words(void **state) {
    (void)state;
    enum { LENGTH = 16, STREAMS = 8 };
    hu_image_choice choice = {.text = {.length = LENGTH, .streams = STREAMS}};
    hu_data_limits limits = {80, 40};
    hu_dataset *streams, *windows = open_limited("grammar", 0, 0);
    assert_int_equal(hu_dataset_open_images("grammar", &limits, &choice, &streams), HU_OK);
    assert_int_equal(streams->train.count, 80);
    assert_int_equal(streams->test.count, 40);
    assert_int_equal(streams->field[0].extent[0], LENGTH);
    assert_int_equal(windows->field[0].extent[0], 32);
    assert_true(windows->train.count > 8000 && windows->test.count > 400);
    const int32_t *tokens = windows->train.rows[0], *targets = windows->train.rows[1];
    for (int64_t i = 0; i + 1 < windows->train.count * 32; i++)
        assert_int_equal(targets[i], tokens[i + 1]);
    for (int64_t i = 0; i < windows->train.count * 32; i++)
        assert_true(tokens[i] >= 0 && tokens[i] < windows->field[0].classes);
    assert_string_equal(hu_dataset_class_name(windows, tokens[0]), "this");
    hu_dataset_close(windows);
    hu_dataset_close(streams);
}

static void a_grammar_takes_no_other_text(void **state) {
    (void)state;
    hu_dataset *d;
    hu_image_choice valid = {.text = {.valid = "x.txt"}};
    hu_image_choice letters = {.text = {.unit = HU_TEXT_CHARACTERS}};
    assert_int_equal(hu_dataset_open_images("grammar", NULL, &valid, &d), HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_open_images("grammar", NULL, &letters, &d), HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_open("grammar:x", NULL, &d), HU_ERR_ARGUMENT);
}

/* ---- scenes ---- */

static bool overlap_much(const float *a, const float *b) {
    hu_box one = hu_box_of_row(a), other = hu_box_of_row(b);
    return hu_box_iou(&one, &other) > 0.3;
}

static void boxes_lie_in_their_scenes_apart_from_each_other(void **state) {
    (void)state;
    enum { MOST = 3, COUNT = 1000 };
    hu_dataset *d = open_limited("scenes", COUNT, 1);
    const float *rows = d->train.rows[1];
    const int32_t *length = d->train.length[1];
    int64_t of_form[3] = {0}, of_count[MOST + 1] = {0};
    for (int64_t s = 0; s < COUNT; s++) {
        assert_true(length[s] >= 1 && length[s] <= MOST);
        of_count[length[s]]++;
        for (int64_t b = 0; b < length[s]; b++) {
            const float *row = rows + (s * MOST + b) * HU_BOX_NUMBERS;
            assert_true(row[0] >= 0.0f && row[1] >= 0.0f && row[2] <= 1.0f && row[3] <= 1.0f);
            assert_true(row[2] - row[0] >= 12.0f / 64 && row[3] - row[1] >= 9.0f / 64);
            of_form[(int)row[HU_BOX_CLASS]]++;
            for (int64_t o = 0; o < b; o++)
                assert_false(overlap_much(row, rows + (s * MOST + o) * HU_BOX_NUMBERS));
        }
    }
    for (int k = 0; k < 3; k++) assert_true(of_form[k] > COUNT / 3);
    for (int k = 1; k <= MOST; k++) assert_true(of_count[k] > COUNT / 10);
    assert_string_equal(hu_dataset_class_name(d, 2), "cross");
    hu_dataset_close(d);
}

/* ---- tones ---- */

static void melodies_say_their_chords(void **state) {
    (void)state;
    enum { FRAMES = 64, BINS = 24, MOST = 7, COUNT = 1000 };
    hu_dataset *d = open_limited("tones", COUNT, 1);
    const float *rows = d->train.rows[0];
    const int32_t *frames = d->train.rows[1], *label = d->train.rows[2];
    const int32_t *said = d->train.length[2];
    int64_t of_chord[9] = {0};
    for (int64_t s = 0; s < COUNT; s++) {
        assert_true(frames[s] >= 3 * 5 && frames[s] <= FRAMES);
        assert_true(said[s] >= 3 && said[s] <= MOST);
        for (int k = 0; k < MOST; k++) {
            int32_t chord = label[s * MOST + k];
            assert_true(k < said[s] ? chord >= 1 && chord <= 8 : chord == HU_UNLABELLED);
            if (k < said[s]) of_chord[chord]++;
        }
        for (int64_t t = frames[s]; t < FRAMES; t++)
            for (int b = 0; b < BINS; b++) assert_true(rows[(s * FRAMES + t) * BINS + b] == 0.0f);
    }
    for (int k = 1; k <= 8; k++) assert_true(of_chord[k] > COUNT / 3);
    assert_int_equal(d->class_name_count, 9);
    assert_string_equal(hu_dataset_class_name(d, 0), "");
    assert_string_equal(hu_dataset_class_name(d, 8), "h");
    hu_dataset_close(d);
}

/* ---- all ---- */

/* A change of these is a new version of the suite of `score`. */
static void the_bytes_are_those_of_every_machine(void **state) {
    (void)state;
    hu_dataset *scenes = open_limited("scenes", 40, 1), *tones = open_limited("tones", 40, 1);
    hu_dataset *grammar = open_limited("grammar", 40, 1);
    uint64_t pixels = XXH64(scenes->train.rows[0], 40 * 64 * 64 * 3, 0);
    uint64_t boxes = XXH64(scenes->train.rows[1], 40 * 3 * 5 * sizeof(float), 0);
    uint64_t sound = XXH64(tones->train.rows[0], 40 * 64 * 24 * sizeof(float), 0);
    uint64_t chords = XXH64(tones->train.rows[2], 40 * 7 * sizeof(int32_t), 0);
    uint64_t words = XXH64(grammar->train.rows[0], 40 * 32 * sizeof(int32_t), 0);
    assert_true(pixels == UINT64_C(0xd54d09ec852696bc));
    assert_true(boxes == UINT64_C(0x92fcbfdb00145d0c));
    assert_true(sound == UINT64_C(0xcec9f517621bb417));
    assert_true(chords == UINT64_C(0x793ab495db3c3842));
    assert_true(words == UINT64_C(0xbcd35aa810ae49e2));
    hu_dataset_close(scenes);
    hu_dataset_close(tones);
    hu_dataset_close(grammar);
}

static void limits_and_threads_change_no_sample(void **state) {
    (void)state;
    static const char *const names[] = {"scenes", "tones"};
    static const size_t bytes[] = {64 * 64 * 3, 64 * 24 * sizeof(float)};
    int threads = omp_get_max_threads();
    for (int k = 0; k < 2; k++) {
        omp_set_num_threads(1);
        hu_dataset *one = open_limited(names[k], 30, 20);
        omp_set_num_threads(5);
        hu_dataset *five = open_limited(names[k], 60, 20);
        omp_set_num_threads(threads);
        assert_memory_equal(one->train.rows[0], five->train.rows[0], 30 * bytes[k]);
        assert_memory_equal(one->test.rows[0], five->test.rows[0], 20 * bytes[k]);
        hu_dataset_close(one);
        hu_dataset_close(five);
    }
}

static void every_failed_allocation_is_told(void **state) {
    (void)state;
    const hu_data_limits limits = {2, 2};
    /* the set, its name and the names of its classes; then the blocks of each half */
    assert_int_equal(fail_every_allocation("scenes", &limits, NULL), 3 + 2 * 3 + 1);
    assert_int_equal(fail_every_allocation("tones", &limits, NULL), 3 + 2 * 4 + 1);
    assert_true(fail_every_allocation("grammar", &limits, NULL) > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_as_surprising_as_its_grammar_says),
        cmocka_unit_test(a_text_becomes_windows_and_streams_of_words),
        cmocka_unit_test(a_grammar_takes_no_other_text),
        cmocka_unit_test(boxes_lie_in_their_scenes_apart_from_each_other),
        cmocka_unit_test(melodies_say_their_chords),
        cmocka_unit_test(the_bytes_are_those_of_every_machine),
        cmocka_unit_test(limits_and_threads_change_no_sample),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
