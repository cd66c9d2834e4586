/* rpn_loss beside a plain version in double with libm: who takes part by lot, and what of it. */
#include "op_drive.h"

#include "base/rng.h"
#include "media/anchors.h"
#include "media/boxes.h"
#include "op/attributes.h"

enum { PLACES = 5, SHAPES = 3, ANCHORS = PLACES * PLACES * SHAPES, SAMPLES = 8 };
enum { SCORES = 2, WIDTH = SCORES + HU_OFFSETS, MOST = 3, BATCH = 6, CHUNK = 4 };

static const hu_box_loss_attrs attrs = {.samples = SAMPLES,
                                        .anchors = {.maps = 1,
                                                    .map = {{.height = PLACES,
                                                             .width = PLACES,
                                                             .step_y = 0.2,
                                                             .step_x = 0.2,
                                                             .shapes = SHAPES,
                                                             .h = {0.3, 0.2, 0.6},
                                                             .w = {0.3, 0.6, 0.2}}}}};

/* Three boxes, of which one lies between many anchors; two; one; none; one again; one small one. */
static void open_loss(drive *d, const hu_box_loss_attrs *a) {
    static const float boxes[BATCH][MOST][HU_BOX_NUMBERS] = {
        {{.1f, .1f, .9f, .9f, 0}, {.5f, .5f, .8f, .75f, 2}, {0, .6f, .2f, 1, 1}},
        {{.1f, .2f, .7f, .4f, 1}, {0, 0, 0, 0, -1}, {.5f, .5f, .7f, 1, 2}},
        {{0, 0, 0, 0, -1}, {.3f, .3f, .6f, .6f, 0}, {0, 0, 0, 0, -1}},
        {{0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}},
        {{0, 0, 1, 1, 9}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}},
        {{.52f, .52f, .54f, .54f, 1}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}}};
    hu_shape in[2] = {DRIVE_SHAPE(ANCHORS, WIDTH), DRIVE_SHAPE(MOST, HU_BOX_NUMBERS)};
    drive_open(d, &hu_op_rpn_loss, a, 2, in, BATCH, CHUNK);
    memcpy(d->in[1], boxes, sizeof boxes);
    d->need_din[1] = false;
}

/* The word of anchor a of picture s. */
static uint32_t word_of(const drive *d, int s, int a) {
    uint64_t at = (uint64_t)s * ANCHORS + (uint64_t)a;
    if (!d->by_formula) return hu_random_word(&d->key, at);
    uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, "case");
    return hu_formula_word(hash, (uint32_t)(at + d->drawn * ANCHORS));
}

/* Whether b's lot comes before a's: by falling words where they have boxes. */
static bool is_before(const drive *d, int s, bool falling, int b, int a) {
    uint32_t left = word_of(d, s, b), right = word_of(d, s, a);
    if (left == right) return b < a;
    return falling ? left > right : left < right;
}

/* match: of all; kind [ANCHORS]: 1 with a box, 0 without one, -1 takes no part. Returns how many
 * take part. */
static int plain_choice(const drive *d, int s, int16_t *match, int *kind) {
    const int half = SAMPLES / 2;
    int matched =
        (int)hu_match_proposals(&attrs.anchors, d->in[1] + s * MOST * HU_BOX_NUMBERS, MOST, match);
    int things = matched < half ? matched : half, count = 0;
    for (int a = 0; a < ANCHORS; a++) {
        int before = 0;
        bool is_thing = match[a] >= 0;
        for (int b = 0; b < ANCHORS; b++) {
            bool is_alike = is_thing ? match[b] >= 0 : match[b] == HU_UNMATCHED;
            before += is_alike && is_before(d, s, is_thing, b, a);
        }
        kind[a] = -1;
        if (is_thing && before >= matched - things) kind[a] = 1;
        if (match[a] == HU_UNMATCHED && before < SAMPLES - things) kind[a] = 0;
        count += kind[a] >= 0;
    }
    return count;
}

static double plain_loss(const double *x, const float *rows, const int16_t *match, const int *kind,
                         int count) {
    double sum = 0, offsets[HU_OFFSETS];
    for (int a = 0; a < ANCHORS; a++, x += WIDTH) {
        if (kind[a] < 0) continue;
        sum += log(exp(x[0]) + exp(x[1])) - x[kind[a]];
        if (kind[a] == 0) continue;
        hu_centred at = hu_anchor_at(&attrs.anchors, a);
        hu_box box = hu_box_of_row(rows + match[a] * HU_BOX_NUMBERS);
        hu_centred wanted = hu_box_centred(&box);
        hu_offset_encode(&at, &wanted, HU_OFFSET_PLAIN, offsets);
        for (int i = 0; i < HU_OFFSETS; i++) {
            double away = fabs(x[SCORES + i] - offsets[i]);
            sum += away < 1.0 / 9 ? away * away * 9 / 2 : away - 1.0 / 18;
        }
    }
    return sum / count;
}

/* The loss, and its gradient against differences in double with the choice held. */
static void compare(drive *d, int *matched_counts) {
    double x[ANCHORS * WIDTH], total = 0;
    drive_forward(d);
    drive_backward(d);
    for (int s = 0; s < BATCH; s++) {
        const float *rows = d->in[1] + s * MOST * HU_BOX_NUMBERS;
        const float *dx = d->din[0] + s * ANCHORS * WIDTH;
        int16_t match[ANCHORS];
        int kind[ANCHORS], count = plain_choice(d, s, match, kind);
        assert_int_equal(count, SAMPLES);
        for (int a = 0; a < ANCHORS; a++) matched_counts[s] += match[a] >= 0;
        for (int i = 0; i < ANCHORS * WIDTH; i++) x[i] = (double)d->in[0][s * ANCHORS * WIDTH + i];
        double expected = plain_loss(x, rows, match, kind, count);
        assert_true(fabs((double)d->out[0][s] - expected) <= 6e-8 * expected);
        total += expected;
        for (int i = 0; i < ANCHORS * WIDTH; i++) {
            const double h = 1e-6, old = x[i];
            x[i] = old + h;
            double high = plain_loss(x, rows, match, kind, count);
            x[i] = old - h;
            double slope = (high - plain_loss(x, rows, match, kind, count)) / (2 * h);
            x[i] = old;
            slope *= (double)d->dout[0][s];
            if (fabs(slope - (double)dx[i]) > 1e-6 * (1 + fabs(slope)))
                fail_msg("picture %d, number %d: %.9g, expected %.9g", s, i, (double)dx[i], slope);
        }
    }
    assert_true(fabs(d->stats[HU_LOSS_SUM] - total) <= 1e-12 * total);
}

static void losses_and_gradients_are_the_definition(void **unused) {
    (void)unused;
    for (int by_formula = 0; by_formula < 2; by_formula++) {
        drive d;
        int matched[BATCH] = {0};
        open_loss(&d, &attrs);
        d.by_formula = by_formula;
        d.drawn = 12;
        compare(&d, matched);
        /* Some pictures have more anchors with a box than take part, others fewer. */
        assert_true(matched[0] > SAMPLES / 2 && matched[2] > 0 && matched[2] < SAMPLES / 2);
        assert_int_equal(matched[3], 0);
        drive_close(&d);
    }
}

/* Other steps draw other lots; the same ones, whatever the chunks, the same. */
static void lots_belong_to_step_and_picture(void **unused) {
    (void)unused;
    drive one, other, later;
    open_loss(&one, &attrs);
    open_loss(&other, &attrs);
    open_loss(&later, &attrs);
    other.reversed = true;
    later.key.step++;
    drive_forward(&one);
    drive_forward(&other);
    drive_forward(&later);
    assert_memory_equal(one.out[0], other.out[0], BATCH * sizeof(float));
    assert_memory_not_equal(one.out[0], later.out[0], BATCH * sizeof(float));
    drive_close(&one);
    drive_close(&other);
    drive_close(&later);
}

/* With as many samples as anchors, all but the ignored ones take part. */
static void all_may_take_part(void **unused) {
    (void)unused;
    hu_box_loss_attrs many = attrs;
    many.samples = 4 * ANCHORS;
    drive d;
    int16_t match[ANCHORS];
    open_loss(&d, &many);
    drive_forward(&d);
    drive_backward(&d);
    hu_match_proposals(&attrs.anchors, d.in[1], MOST, match);
    for (int a = 0; a < ANCHORS; a++)
        assert_true((d.din[0][a * WIDTH] != 0.0f) == (match[a] != HU_IGNORED));
    drive_close(&d);
}

static void what_cannot_be_learned_gives_nan(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        drive d;
        hu_round_counts counts;
        open_loss(&d, &attrs);
        if (k == 0) d.in[1][MOST * HU_BOX_NUMBERS + 2] = d.in[1][MOST * HU_BOX_NUMBERS];
        for (int a = 0; a < ANCHORS && k == 1; a++)
            d.in[0][(ANCHORS + a) * WIDTH + 5] = a == 7 ? NAN : 0.0f;
        hu_round_counts_clear(&counts);
        assert_int_equal(hu_op_rpn_loss.check_target(&d.info, BATCH, d.in[1], &counts), BATCH);
        assert_int_equal(counts.nan, k == 0);
        drive_forward(&d);
        drive_backward(&d);
        assert_true(isnan(d.out[0][1]) && isnan(d.stats[HU_LOSS_SUM]) && !isnan(d.out[0][0]));
        assert_true(isnan(d.din[0][ANCHORS * WIDTH]) && !isnan(d.din[0][0]));
        drive_close(&d);
    }
}

static void shapes_are_checked(void **unused) {
    (void)unused;
    hu_box_loss_attrs none = attrs;
    hu_shape out, in[2] = {DRIVE_SHAPE(ANCHORS, WIDTH), DRIVE_SHAPE(MOST, 5)};
    hu_shape wide[2] = {DRIVE_SHAPE(ANCHORS, WIDTH + 1), in[1]};
    int n;
    none.samples = 0;
    assert_int_equal(hu_op_rpn_loss.shape(&attrs, 2, in, &n, &out), HU_OK);
    assert_int_equal(hu_op_rpn_loss.shape(&attrs, 2, wide, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_rpn_loss.shape(&none, 2, in, &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_are_the_definition),
        cmocka_unit_test(lots_belong_to_step_and_picture),
        cmocka_unit_test(all_may_take_part),
        cmocka_unit_test(what_cannot_be_learned_gives_nan),
        cmocka_unit_test(shapes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
