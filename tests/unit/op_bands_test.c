/* Words in bands: layers of the rows of a band, tables of its words, the loss of a head and of the
 * bands after it, and the law that they make together. */
#include "op/attributes.h"
#include "op_drive.h"
#include "says.h"

enum { T = 5, BATCH = 6, CHUNK = 4, WORDS = 11, HEAD = 4, C = 3 };
enum { CLASSES = HEAD - 2, FIRST = 3, SECOND = WORDS - CLASSES - FIRST, ALL = BATCH * T };

static const hu_row_loss_attrs rows = {.ignores = true, .ignored = -1};
static const hu_shape shapes[4] = {{2, {T, HEAD}}, {1, {T}}, {2, {T, FIRST}}, {2, {T, SECOND}}};
static const int first_word[] = {0, CLASSES, CLASSES + FIRST, WORDS};

static int word_of(int r) {
    return r % 7 == 3 ? -1 : r * r % WORDS;
}

static int band_of(int word) {
    int band = 0;
    while (word >= first_word[band + 1]) band++;
    return band;
}

static void open_loss(drive *d) {
    drive_open(d, &hu_op_adaptive_cross_entropy, &rows, 4, shapes, BATCH, CHUNK);
    for (int r = 0; r < ALL; r++) d->in[1][r] = (float)word_of(r);
    for (int s = 0; s < BATCH; s++) d->dout[0][s] = 0.5f + (float)s;
}

/* Scores of a row, of the head and of both bands, in double. */
typedef struct scores {
    double x[3][HEAD + FIRST + SECOND];
} scores;

static const int count_of[3] = {HEAD, FIRST, SECOND};
static const int input_of[3] = {0, 2, 3};

static scores scores_of(const drive *d, int r) {
    scores s;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < count_of[k]; i++)
            s.x[k][i] = (double)d->in[input_of[k]][r * count_of[k] + i];
    return s;
}

static double log_share(int n, const double *x, int i) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += exp(x[k]);
    return x[i] - log(sum);
}

/* The plain law: log p(v) of one word. */
static double log_p(const scores *s, int word) {
    int band = band_of(word);
    if (band == 0) return log_share(HEAD, s->x[0], word);
    return log_share(HEAD, s->x[0], CLASSES + band - 1) +
           log_share(count_of[band], s->x[band], word - first_word[band]);
}

static void losses_are_those_of_the_law(void **state) {
    (void)state;
    drive d;
    double total = 0;
    open_loss(&d);
    drive_forward(&d);
    for (int s = 0; s < BATCH; s++) {
        double expected = 0;
        for (int t = 0; t < T; t++) {
            const scores row = scores_of(&d, s * T + t);
            int word = word_of(s * T + t);
            if (word >= 0) expected -= log_p(&row, word);
        }
        assert_true(fabs((double)d.out[0][s] - expected) <= 6e-8 * expected);
        total += expected;
    }
    assert_true(fabs(d.stats[HU_LOSS_SUM] - total) <= 1e-12 * total);
    drive_close(&d);
}

/* Differences of the plain law in double. Bands in which a row's word is not have +0. */
static void gradients_are_those_of_the_law(void **state) {
    (void)state;
    const double h = 1e-5;
    drive d;
    open_loss(&d);
    drive_forward(&d);
    drive_backward(&d);
    for (int r = 0; r < ALL; r++)
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < count_of[k]; i++) {
                scores low = scores_of(&d, r), high = low;
                double found = (double)d.din[input_of[k]][r * count_of[k] + i];
                int word = word_of(r);
                low.x[k][i] -= h;
                high.x[k][i] += h;
                double slope = word < 0 ? 0 : (log_p(&low, word) - log_p(&high, word)) / (2 * h);
                slope *= (double)d.dout[0][r / T];
                assert_true(fabs(found - slope) <= 1e-6 * (1 + fabs(slope)));
                if (word < 0 || (k > 0 && band_of(word) != k)) assert_true(found == 0);
            }
    drive_close(&d);
}

/* A word is told where its band is the likeliest of the head and it is the likeliest of the band.
 */
static void the_likeliest_word_of_the_likeliest_band_is_counted(void **state) {
    (void)state;
    drive d;
    int expected = 0;
    open_loss(&d);
    for (int r = 0; r < ALL; r += 2) { /* every second word is told */
        int word = word_of(r), band = word < 0 ? 0 : band_of(word);
        if (word < 0) continue;
        d.in[0][r * HEAD + (band ? CLASSES + band - 1 : word)] = 9;
        if (band) d.in[input_of[band]][r * count_of[band] + word - first_word[band]] = 9;
    }
    for (int r = 0; r < ALL; r++) {
        const scores row = scores_of(&d, r);
        int word = word_of(r), band = word < 0 ? 0 : band_of(word), best = word >= 0;
        int own = band ? CLASSES + band - 1 : word;
        for (int i = 0; best && i < HEAD; i++) best = row.x[0][i] <= row.x[0][own];
        for (int i = 0; band && best && i < count_of[band]; i++)
            best = row.x[band][i] <= row.x[band][word - first_word[band]];
        expected += best;
    }
    drive_forward(&d);
    assert_true(expected >= ALL / 3 && d.stats[HU_LOSS_METRIC] == expected);
    drive_close(&d);
}

static void targets_are_looked_at(void **state) {
    (void)state;
    drive d;
    hu_round_counts counts = {0};
    open_loss(&d);
    d.in[1][0] = WORDS;
    d.in[1][1] = WORDS - 1;
    d.in[1][2] = 0.5f;
    int64_t ignored = 0;
    for (int r = 3; r < T; r++) ignored += word_of(r) < 0;
    assert_int_equal(hu_op_adaptive_cross_entropy.check_target(&d.info, 1, d.in[1], &counts),
                     T - ignored);
    assert_int_equal(counts.nan, 2);
    drive_close(&d);
}

/* In evaluations alone: probabilities of all words add up to one, and are those of the losses. */
static void the_law_adds_up_to_one(void **state) {
    (void)state;
    const hu_shape in[3] = {shapes[0], shapes[2], shapes[3]};
    drive d, loss;
    open_loss(&loss);
    drive_open(&d, &hu_op_band_law, NULL, 3, in, BATCH, CHUNK);
    for (int k = 0; k < 3; k++)
        memcpy(d.in[k], loss.in[input_of[k]], (size_t)(ALL * count_of[k]) * sizeof(float));
    drive_forward(&d);
    assert_true(d.out[0][0] != d.out[0][0]); /* as it was */
    d.training = false;
    drive_forward(&d);
    assert_int_equal(d.out_shape[0].extent[1], WORDS);
    for (int r = 0; r < ALL; r++) {
        const scores row = scores_of(&loss, r);
        double sum = 0;
        for (int v = 0; v < WORDS; v++) {
            double found = (double)d.out[0][r * WORDS + v];
            assert_true(fabs(found - log_p(&row, v)) <= 6e-8 * (1 + fabs(found)));
            sum += exp(found);
        }
        assert_true(fabs(sum - 1) < 1e-6);
    }
    drive_close(&d);
    drive_close(&loss);
}

/* The rows of the band beside a linear layer of the same weights; in evaluations, where asked for,
 * all rows. */
static void layers_take_the_rows_of_their_band(void **state) {
    (void)state;
    const hu_band_linear_attrs attrs = {.linear = {.out_features = 4, .rows = true},
                                        .first = 2,
                                        .last = 6,
                                        .all_in_evaluation = true};
    const hu_shape in[2] = {DRIVE_SHAPE(T, C), DRIVE_SHAPE(T)};
    for (int training = 0; training < 2; training++) {
        drive d, plain;
        drive_open(&d, &hu_op_band_linear, &attrs, 2, in, BATCH, CHUNK);
        drive_open(&plain, &hu_op_linear, &attrs.linear, 1, in, BATCH, CHUNK);
        d.need_din[1] = false;
        d.training = training;
        for (int r = 0; r < ALL; r++) {
            bool is_present = word_of(r) >= 2 && word_of(r) < 6;
            d.in[1][r] = (float)word_of(r);
            for (int i = 0; training && !is_present && i < 4; i++) plain.dout[0][r * 4 + i] = 0;
        }
        memcpy(plain.param[0], d.param[0], 4 * C * sizeof(float));
        drive_forward(&d);
        drive_forward(&plain);
        drive_backward(&d);
        drive_backward(&plain);
        int64_t absent = 0;
        for (int r = 0; r < ALL; r++) {
            bool is_present = !training || (word_of(r) >= 2 && word_of(r) < 6);
            static const float zeros[4];
            absent += is_present ? 0 : 4;
            assert_memory_equal(d.out[0] + r * 4, is_present ? plain.out[0] + r * 4 : zeros, 16);
            for (int c = 0; c < C; c++) assert_true(d.din[0][r * C + c] == plain.din[0][r * C + c]);
        }
        const float *given[2] = {NULL, d.in[1]};
        assert_int_equal(hu_op_band_linear.absent(&d.info, training, BATCH, given), absent);
        for (int i = 0; i < 4 * C; i++)
            assert_true(fabsf(d.dparam[0][i] - plain.dparam[0][i]) < 1e-5f);
        drive_close(&d);
        drive_close(&plain);
    }
}

/* A table of the words from the third on: others are +0, absent and without a gradient. */
static void tables_hold_the_words_of_their_band(void **state) {
    (void)state;
    const hu_embedding_attrs attrs = {
        .words = 4, .width = C, .factor = 2.0f, .is_band = true, .first = 2};
    const hu_shape in = DRIVE_SHAPE(T);
    drive d;
    float sum[4][C] = {{0}};
    int64_t absent = 0;
    drive_open(&d, &hu_op_embedding, &attrs, 1, &in, BATCH, CHUNK);
    for (int r = 0; r < ALL; r++) d.in[0][r] = (float)(r * r % WORDS);
    drive_forward(&d);
    drive_backward(&d);
    for (int r = 0; r < ALL; r++) {
        int row = r * r % WORDS - 2;
        bool is_present = row >= 0 && row < 4;
        absent += is_present ? 0 : C;
        for (int c = 0; c < C; c++) {
            float made = is_present ? 2.0f * d.param[0][row * C + c] : 0.0f;
            assert_memory_equal(&d.out[0][r * C + c], &made, sizeof made);
            if (is_present) sum[row][c] += 2.0f * d.dout[0][r * C + c];
        }
    }
    const float *given[1] = {d.in[0]};
    assert_int_equal(hu_op_embedding.absent(&d.info, true, BATCH, given), absent);
    assert_memory_equal(d.dparam[0], sum, sizeof sum);
    drive_close(&d);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    int n;
    hu_shape out[HU_MAX_OUTPUTS], short_head[3] = {{2, {T, 1}}, {1, {T}}, {2, {T, FIRST}}};
    hu_shape other[3] = {shapes[0], shapes[1], {2, {T + 1, FIRST}}};
    const hu_row_loss_attrs smooth = {.smoothing = 0.1f};
    const hu_op *op = &hu_op_adaptive_cross_entropy;
    says(op->shape(&rows, 3, short_head, &n, out), HU_ERR_SHAPE, "no words in front");
    says(op->shape(&rows, 3, other, &n, out), HU_ERR_SHAPE, "band 1 of 1");
    says(op->shape(&smooth, 3, shapes, &n, out), HU_ERR_ARGUMENT, "found a smoothing of 0.1");
    const hu_band_linear_attrs none = {
        .linear = {.out_features = 4, .rows = true}, .first = 6, .last = 6};
    const hu_band_linear_attrs some = {.linear = {.out_features = 4, .rows = true}, .last = 6};
    const hu_shape ids[2] = {DRIVE_SHAPE(T, C), DRIVE_SHAPE(T + 1)};
    says(hu_op_band_linear.shape(&none, 2, ids, &n, out), HU_ERR_ARGUMENT, "expected a band");
    says(hu_op_band_linear.shape(&some, 2, ids, &n, out), HU_ERR_SHAPE, "found 6 ids");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_the_law),
        cmocka_unit_test(gradients_are_those_of_the_law),
        cmocka_unit_test(the_likeliest_word_of_the_likeliest_band_is_counted),
        cmocka_unit_test(targets_are_looked_at),
        cmocka_unit_test(the_law_adds_up_to_one),
        cmocka_unit_test(layers_take_the_rows_of_their_band),
        cmocka_unit_test(tables_hold_the_words_of_their_band),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
