/* What a model writes by itself: the words of plain greedy decoding, sample by sample and word by
 * word, whatever is guessed and whichever samples meet in a pass. */
#include "train/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/tokenizer.h"
#include "task/task.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { SAMPLES = 23, FIELDS = 5, PLACES = 9, SOURCE_PLACES = 6, WORDS = 9, PART = 4 };

typedef struct sentences {
    hu_dataset data;
    int32_t row[3][SAMPLES * PLACES], length[2][SAMPLES];
    hu_train_options options;
    hu_trainer *trainer;
} sentences;

/* Sentences of 1 to SOURCE_PLACES words; a translation has as many, or all that there is room for.
 */
static void draw_sentences(sentences *s) {
    const hu_random_key key = {.seed = 5};
    uint64_t n = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        int32_t words = (int32_t)(1 + i % SOURCE_PLACES), most = i % 5 ? words : PLACES - 1;
        s->length[0][i] = words;
        s->length[1][i] = most + 1;
        for (int64_t t = 0; t < words; t++)
            s->row[0][i * SOURCE_PLACES + t] = 4 + (int32_t)(hu_random_word(&key, n++) % 5);
        for (int64_t t = 0; t < PLACES; t++) {
            int32_t word = s->row[0][i * SOURCE_PLACES + t % words];
            if (t + 1 < PLACES) s->row[1][i * PLACES + t + 1] = t < most ? word : 0;
            s->row[2][i * PLACES + t] = t < most ? word : t == most ? HU_SENTENCE_END : -1;
        }
        s->row[1][i * PLACES] = HU_SENTENCE_BEGIN;
    }
}

static void begin_sentences(sentences *s, const char *precision) {
    static const char *const names[] = {"source", "tokens", "targets", "source_length",
                                        "target_length"};
    static char name[] = "drawn";
    *s = (sentences){.data = {.name = name, .field_count = FIELDS}};
    draw_sentences(s);
    s->data.train = (hu_split){
        .count = SAMPLES, .rows = {s->row[0], s->row[1], s->row[2], s->length[0], s->length[1]}};
    s->data.test = s->data.train;
    for (int f = 0; f < FIELDS; f++) {
        hu_field *field = &s->data.field[f];
        *field = (hu_field){.type = HU_FIELD_I32,
                            .rank = f < 3,
                            .extent = {f ? PLACES : SOURCE_PLACES},
                            .classes = WORDS};
        snprintf(field->name, sizeof field->name, "%s", names[f]);
    }
    s->options = (hu_train_options){.model = "seq2seq-s",
                                    .width = 0.125,
                                    .keep_masters = true,
                                    .eval_masters = true,
                                    .eval_writes = true,
                                    .optimizer = hu_optimizer_defaults(HU_OPTIMIZER_ADAM),
                                    .schedule = hu_schedule_constant(0.02),
                                    .accumulate = 1,
                                    .scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_NONE),
                                    .batch = PART,
                                    .steps = 1000,
                                    .run = {.seed = 3, .threads = 2, .chunk = 2, .fuse = true}};
    assert_int_equal(hu_precision_parse(precision, &s->options.precision), HU_OK);
    if (hu_trainer_create(&s->options, &s->data, &s->trainer) != HU_OK)
        fail_msg("%s", hu_last_error());
}

static void end_sentences(sentences *s) {
    hu_trainer_free(s->trainer);
    hu_precision_free(&s->options.precision);
}

/* One sample, and the words in front of the next. */
typedef struct plain {
    const sentences *of;
    int64_t sample, words;
    int32_t word[PLACES];
} plain;

static void fill_plain(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const plain *p = context;
    assert_int_equal(first, 0);
    assert_int_equal(count, 1);
    if (field == HU_TRANSLATION_SOURCE)
        for (int64_t t = 0; t < SOURCE_PLACES; t++)
            rows[t] = (float)p->of->row[0][p->sample * SOURCE_PLACES + t];
    for (int64_t t = 0; field == HU_TRANSLATION_TOKENS && t < PLACES; t++)
        rows[t] = (float)(t == 0          ? HU_SENTENCE_BEGIN
                          : t <= p->words ? p->word[t - 1]
                                          : HU_SENTENCE_PADDING);
    for (int64_t t = 0; field == HU_TRANSLATION_TARGETS && t < PLACES; t++) rows[t] = -1.0f;
    if (field == HU_TRANSLATION_SOURCE_LENGTH) rows[0] = (float)p->of->length[0][p->sample];
    if (field == HU_TRANSLATION_LENGTH) rows[0] = (float)(p->words + 1);
}

/* Pass after pass for each word, one sample alone. */
static void write_plainly(sentences *s, plain *p) {
    hu_pass_options pass = {.use_masters = true, .samples = 1};
    const hu_source source = {p, fill_plain};
    hu_run *run = s->trainer->run;
    hu_pass_result result;
    int64_t most = 2 * s->length[0][p->sample] + 5;
    if (most > PLACES) most = PLACES;
    while (p->words < most) {
        assert_int_equal(hu_run_forward(run, &pass, &source, &result), HU_OK);
        const float *rows = hu_run_value(run, hu_task_prediction(hu_run_graph(run)), 1,
                                         s->trainer->room.prediction);
        int64_t word = hu_metric_class(WORDS, rows + p->words * WORDS);
        if (word == HU_SENTENCE_END) return;
        p->word[p->words++] = (int32_t)word;
    }
}

static bool decode(sentences *s, int64_t wanted) {
    const hu_pass_options pass = {.use_masters = true};
    bool done;
    assert_int_equal(hu_loader_begin_epoch(s->trainer->test_loader, 0), HU_OK);
    assert_int_equal(
        hu_decode(s->trainer, s->trainer->run, s->trainer->test_loader, &pass, wanted, &done),
        HU_OK);
    return done;
}

/* Of an untrained model, whose sentences seldom end, and of one that has learned some. */
static void words_are_those_of_plain_decoding(void **state) {
    (void)state;
    sentences s;
    int64_t ended = 0;
    begin_sentences(&s, "fp32");
    for (int round = 0; round < 3; round++) {
        float said[SAMPLES * PLACES];
        hu_step_report report;
        assert_true(decode(&s, SAMPLES));
        memcpy(said, s.trainer->room.said, sizeof said);
        for (int64_t i = 0; i < SAMPLES; i++) {
            plain p = {.of = &s, .sample = i};
            write_plainly(&s, &p);
            ended += p.words < PLACES;
            for (int64_t t = 0; t < PLACES; t++)
                assert_true(said[i * PLACES + t] == (t < p.words ? (float)p.word[t] : -1.0f));
        }
        for (int k = 0; k < 60; k++) assert_int_equal(hu_trainer_step(s.trainer, &report), HU_OK);
    }
    assert_true(ended > SAMPLES / 2 && ended < 3 * SAMPLES);
    end_sentences(&s);
}

/* Those that predict asks for are what evaluation finds, though it reads on. */
static void the_first_samples_are_the_same(void **state) {
    (void)state;
    sentences s;
    float said[SAMPLES * PLACES];
    begin_sentences(&s, "e4m3");
    assert_true(decode(&s, SAMPLES));
    memcpy(said, s.trainer->room.said, sizeof said);
    for (int64_t wanted = 0; wanted <= SAMPLES; wanted += 5) {
        assert_true(decode(&s, wanted));
        assert_memory_equal(said, s.trainer->room.said, (size_t)(wanted * PLACES) * sizeof *said);
    }
    end_sentences(&s);
}

/* BLEU is present where the model is asked to write, and NaN where it is not. */
static void evaluation_may_leave_it_out(void **state) {
    (void)state;
    enum { PERPLEXITY, BITS, BLEU };
    sentences s;
    double metrics[2][HU_METRICS_MAX], loss[2];
    begin_sentences(&s, "fp32");
    for (int writes = 0; writes < 2; writes++) {
        s.trainer->options.eval_writes = writes;
        assert_int_equal(hu_trainer_evaluate(s.trainer, metrics[writes], &loss[writes]), HU_OK);
    }
    assert_true(isnan(metrics[0][BLEU]) && metrics[1][BLEU] >= 0.0);
    assert_true(metrics[0][PERPLEXITY] == metrics[1][PERPLEXITY] && loss[0] == loss[1]);
    end_sentences(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_those_of_plain_decoding),
                                       cmocka_unit_test(the_first_samples_are_the_same),
                                       cmocka_unit_test(evaluation_may_leave_it_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
