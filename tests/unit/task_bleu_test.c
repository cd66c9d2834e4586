/* Runs of words that translations share with the true ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"
#include "data/tokenizer.h"
#include "task/internal.h"

enum { THE = 4, CAT, IS, ON, MAT };

/* Seven times "the" against "the cat is on the mat": two of seven (Papineni and others, example 2).
 */
static void matches_are_clipped(void **state) {
    (void)state;
    static const int32_t made[] = {THE, THE, THE, THE, THE, THE, THE};
    static const int32_t wanted[] = {THE, CAT, IS, ON, THE, MAT};
    hu_bleu bleu = {0};
    hu_bleu_add(made, 7, wanted, 6, &bleu);
    assert_true(bleu.match[0] == 2.0 && bleu.count[0] == 7.0);
    assert_true(bleu.match[1] == 0.0 && bleu.count[1] == 6.0);
    assert_true(bleu.words == 7.0 && bleu.true_words == 6.0);
    assert_true(hu_bleu_value(&bleu) == 0.0);
}

static void near_to(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-14 * expected))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* "the cat is on the" of six: no run is wrong, and exp(1 - 6/5) is left. "the cat is on mat the"
 * has 6/6, 3/5, 2/4 and 1/3 of its runs. Longer ones are not punished but for their runs. */
static void short_translations_and_wrong_runs_cost(void **state) {
    (void)state;
    static const int32_t wanted[] = {THE, CAT, IS, ON, THE, MAT};
    static const int32_t other[] = {THE, CAT, IS, ON, MAT, THE};
    static const int32_t longer[] = {THE, CAT, IS, ON, THE, MAT, MAT};
    hu_bleu whole = {0}, brief = {0}, wrong = {0}, more = {0}, none = {0}, silent = {0};
    hu_bleu_add(wanted, 6, wanted, 6, &whole);
    near_to(hu_bleu_value(&whole), 1.0);
    hu_bleu_add(wanted, 5, wanted, 6, &brief);
    near_to(hu_bleu_value(&brief), exp(1.0 - 6.0 / 5.0));
    hu_bleu_add(other, 6, wanted, 6, &wrong);
    near_to(hu_bleu_value(&wrong), pow(1.0 * 3.0 / 5.0 * 2.0 / 4.0 * 1.0 / 3.0, 0.25));
    hu_bleu_add(longer, 7, wanted, 6, &more);
    near_to(hu_bleu_value(&more), pow(6.0 / 7.0 * 5.0 / 6.0 * 4.0 / 5.0 * 3.0 / 4.0, 0.25));
    assert_true(isnan(hu_bleu_value(&none)));
    hu_bleu_add(wanted, 0, wanted, 6, &silent);
    assert_true(hu_bleu_value(&silent) == 0.0);
}

/* Matches of one order by the definition: of every different run the smaller of its two numbers. */
static int64_t plain_matches(const int32_t *made, int64_t m, const int32_t *wanted, int64_t n,
                             int64_t order) {
    bool taken[64] = {false};
    int64_t matches = 0;
    for (int64_t i = 0; i + order <= m; i++)
        for (int64_t j = 0; j + order <= n; j++)
            if (!taken[j] && memcmp(made + i, wanted + j, (size_t)order * sizeof *made) == 0) {
                taken[j] = true; /* every run of the true text serves once */
                matches++;
                break;
            }
    return matches;
}

static void counts_follow_the_definition(void **state) {
    (void)state;
    hu_random_key key = {.seed = 5};
    for (uint64_t i = 0; i < 200; i++) {
        int32_t made[12], wanted[12];
        hu_bleu bleu = {0};
        for (uint64_t k = 0; k < 12; k++) {
            made[k] = (int32_t)(hu_random_word(&key, 32 * i + k) % 3);
            wanted[k] = (int32_t)(hu_random_word(&key, 32 * i + 12 + k) % 3);
        }
        int64_t m = (int64_t)(hu_random_word(&key, 32 * i + 24) % 13);
        int64_t n = (int64_t)(hu_random_word(&key, 32 * i + 25) % 13);
        hu_bleu_add(made, m, wanted, n, &bleu);
        for (int64_t order = 1; order <= HU_BLEU_ORDERS; order++) {
            int64_t matches = plain_matches(made, m, wanted, n, order);
            assert_true(bleu.match[order - 1] == (double)matches);
            assert_true(bleu.count[order - 1] == (double)(m >= order ? m - order + 1 : 0));
        }
    }
}

/* What is said ends with the mark that ends the targets, or at an unlabelled place; parts of a set
 * add up to it. */
static void samples_end_where_their_targets_end(void **state) {
    (void)state;
    enum { SAMPLES = 3, PLACES = 8, END = 2 };
    static const float target[SAMPLES][PLACES] = {{THE, CAT, IS, ON, THE, MAT, END, -1},
                                                  {THE, CAT, IS, ON, MAT, END, -1, -1},
                                                  {-1, -1, -1, -1, -1, -1, -1, -1}};
    static const float said[SAMPLES][PLACES] = {{THE, CAT, IS, ON, THE, END, MAT, END},
                                                {CAT, CAT, IS, ON, MAT, THE, THE, THE},
                                                {-1, THE, -1, -1, -1, -1, -1, -1}};
    const hu_collection *collection = hu_metric_bleu.collection;
    int32_t scratch[2 * PLACES];
    double sums[10] = {0}, parts[10] = {0};
    hu_metric_call call = {.samples = SAMPLES,
                           .targets = PLACES,
                           .target = target[0],
                           .said = said[0],
                           .scratch = scratch};
    assert_int_equal(collection->sum_count(&call), 10);
    assert_true(hu_bleu_scratch_bytes(&call) <= sizeof scratch);
    collection->add(&call, sums);
    /* 5 + 5 of 5 + 8 words, 4 + 3 of 4 + 7, 3 + 2 of 3 + 6, 2 + 1 of 2 + 5; 13 words for 11. */
    near_to(hu_metric_value(&hu_metric_bleu, &call, sums),
            pow(10.0 / 13.0 * 7.0 / 11.0 * 5.0 / 9.0 * 3.0 / 7.0, 0.25));
    call.samples = 1;
    for (int s = 0; s < SAMPLES; s++, call.target += PLACES, call.said += PLACES)
        collection->add(&call, parts);
    assert_memory_equal(sums, parts, sizeof sums);
    call.said = NULL;
    call.target = target[0];
    memset(sums, 0, sizeof sums);
    collection->add(&call, sums);
    assert_true(isnan(hu_metric_value(&hu_metric_bleu, &call, sums)));
    assert_true(hu_metric_bleu.higher_is_better);
}

/* HALFULP_MULTI30K names the folder of test_2016_flickr.fr.gz: its sentences without their last
 * words, against themselves. */
static void the_french_test_without_last_words_is_known(void **state) {
    (void)state;
    static const double runs[HU_BLEU_ORDERS] = {13727, 12727, 11727, 10727};
    const char *root = getenv("HALFULP_MULTI30K"), *word;
    hu_sentences french;
    hu_vocabulary vocabulary;
    hu_bleu bleu = {0};
    int32_t number[64];
    size_t length, words = 0;
    if (!root) skip();
    assert_int_equal(hu_sentences_read(root, "test_2016_flickr", "fr", &french), HU_OK);
    assert_int_equal(french.count, 1000);
    assert_int_equal(hu_sentences_vocabulary(&french, 1, &vocabulary), HU_OK);
    hu_tokens tokens = hu_sentences_tokens(&french);
    while (hu_tokens_next(&tokens, &word, &length)) {
        number[words] = (int32_t)hu_vocabulary_find(&vocabulary, word, length);
        if (number[words++] != HU_SENTENCE_END) continue;
        hu_bleu_add(number, (int64_t)words - 2, number, (int64_t)words - 1, &bleu);
        words = 0;
    }
    for (int n = 0; n < HU_BLEU_ORDERS; n++)
        assert_true(bleu.match[n] == runs[n] && bleu.count[n] == runs[n]);
    assert_true(fabs(100.0 * hu_bleu_value(&bleu) - 92.9741) < 5e-5);
    hu_vocabulary_free(&vocabulary);
    hu_sentences_free(&french);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_are_clipped),
        cmocka_unit_test(short_translations_and_wrong_runs_cost),
        cmocka_unit_test(counts_follow_the_definition),
        cmocka_unit_test(samples_end_where_their_targets_end),
        cmocka_unit_test(the_french_test_without_last_words_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
