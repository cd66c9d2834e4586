/* proposals beside a plain version that sorts by exchanging and looks at every pair. */
#include "op_drive.h"

#include "base/rng.h"
#include "media/anchors.h"
#include "media/boxes.h"
#include "op/attributes.h"
#include "plain_boxes.h"

enum { PLACES = 6, SHAPES = 2, ANCHORS = PLACES * PLACES * SHAPES, ROW = 2 + HU_OFFSETS };
enum { REGIONS = 12, BEFORE = 40, AFTER = 9, MOST = 3, CANDIDATES = AFTER + MOST, BATCH = 5 };
enum { CHUNK = 2, HEIGHT = 48, LENGTH = 64 };

static const hu_proposal_attrs attrs = {.anchors = {.maps = 1,
                                                    .map = {{.height = PLACES,
                                                             .width = PLACES,
                                                             .step_y = 1.0 / PLACES,
                                                             .step_x = 1.0 / PLACES,
                                                             .shapes = SHAPES,
                                                             .h = {0.3, 0.2},
                                                             .w = {0.25, 0.4}}}},
                                        .picture = {HEIGHT, LENGTH},
                                        .before = BEFORE,
                                        .after = AFTER,
                                        .regions = REGIONS,
                                        .least = 5};

/* Equal scores occur; some boxes are too small, and a NaN says nothing. Picture 3 has no box. */
static void open_node(drive *d, const hu_proposal_attrs *a) {
    static const float boxes[BATCH][MOST][HU_BOX_NUMBERS] = {
        {{.1f, .1f, .4f, .4f, 0}, {.5f, .5f, .8f, .75f, 2}, {0, .6f, .2f, 1, 1}},
        {{.1f, .2f, .7f, .4f, 1}, {0, 0, 0, 0, -1}, {.5f, .5f, .7f, 1, 2}},
        {{0, 0, 0, 0, -1}, {.3f, .3f, .6f, .6f, 0}, {.4f, .4f, .4f, .9f, 0}},
        {{0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}},
        {{.7f, .7f, 1, 1, 2}, {.1f, .3f, .3f, .5f, 0}, {0, 0, .25f, .25f, 1}}};
    hu_shape in[2] = {DRIVE_SHAPE(ANCHORS, ROW), DRIVE_SHAPE(MOST, HU_BOX_NUMBERS)};
    drive_open(d, &hu_op_proposals, a, 2, in, BATCH, CHUNK);
    memcpy(d->in[1], boxes, sizeof boxes);
    for (int64_t i = 0; i < drive_in_elements(d, 0); i++) {
        float *x = &d->in[0][i];
        *x = i % ROW < 2 ? roundf(2.0f * *x) : 0.4f * *x;
        if (i % ROW >= 4 && i / ROW % 7 == 0) *x -= 2.0f;
    }
    d->in[0][ROW * 5] = d->in[0][ROW * (ANCHORS + 9) + 3] = NAN;
}

/* ---- the plain version ---- */

static bool is_large_enough(const hu_box *box) {
    return (box->x2 - box->x1) * LENGTH >= 5 && (box->y2 - box->y1) * HEIGHT >= 5;
}

/* rows [AFTER, 4]; returns how many, of the number whose boxes go for their size. */
static int plain_proposals(const float *x, float *rows, int *small) {
    plain_box list[ANCHORS];
    int count = 0, sized = 0;
    for (int a = 0; a < ANCHORS; a++) {
        const float *row = x + a * ROW;
        if (isnan(row[0]) || isnan(row[1])) continue;
        hu_centred at = hu_anchor_at(&attrs.anchors, a);
        hu_centred made = hu_offset_decode(&at, row + 2, HU_OFFSET_PLAIN);
        hu_box box = hu_box_of(&made);
        list[count++] =
            (plain_box){.score = (double)row[1] - (double)row[0], .box = hu_box_clip(&box)};
    }
    plain_sort(list, count);
    for (int i = 0; i < count && i < BEFORE; i++) {
        if (is_large_enough(&list[i].box))
            list[sized++] = list[i];
        else
            ++*small;
    }
    int kept = plain_suppress(list, sized, 0.7);
    for (int i = 0; i < kept && i < AFTER; i++)
        hu_roi_write(&list[i].box, attrs.picture, rows + 4 * i);
    return kept < AFTER ? kept : AFTER;
}

static uint32_t word_of(const drive *d, int s, int i) {
    uint64_t at = (uint64_t)s * CANDIDATES + (uint64_t)i;
    if (!d->by_formula) return hu_random_word(&d->key, at);
    uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, "case");
    return hu_formula_word(hash, (uint32_t)(at + d->drawn * CANDIDATES));
}

/* Of the candidates of one kind those that come first by lot, in that order; kind: 1 shows a thing,
 * 0 does not, -1 is none. */
static int first_lots(const drive *d, int s, const int *kind, int wanted_kind, int wanted,
                      const float *rows, float *out) {
    int taken = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        int before = 0;
        if (kind[i] != wanted_kind) continue;
        for (int k = 0; k < CANDIDATES; k++) {
            uint32_t left = word_of(d, s, k), right = word_of(d, s, i);
            before += kind[k] == wanted_kind && (left < right || (left == right && k < i));
        }
        if (before >= wanted) continue;
        memcpy(out + 4 * before, rows + 4 * i, 4 * sizeof *out);
        taken++;
    }
    return taken;
}

typedef struct seen {
    int small, kept, things, others;
} seen;

/* out [REGIONS, 4] */
static seen plain_regions(const drive *d, int s, bool training, float *out) {
    float rows[CANDIDATES * 4] = {0};
    int kind[CANDIDATES];
    const float *boxes = d->in[1] + s * MOST * HU_BOX_NUMBERS;
    seen found = {0};
    hu_truths truths;
    hu_truths_read(boxes, MOST, &truths);
    memset(out, 0, REGIONS * 4 * sizeof *out);
    found.kept = plain_proposals(d->in[0] + s * ANCHORS * ROW, rows, &found.small);
    for (int i = 0; i < found.kept && !training; i++) memcpy(out + 4 * i, rows + 4 * i, 16);
    if (!training) return found;
    for (int i = 0; i < CANDIDATES; i++) {
        const float *box = boxes + (i - AFTER) * HU_BOX_NUMBERS;
        bool is_box = i >= AFTER && box[4] >= 0 && box[2] > box[0];
        hu_box at = i < AFTER ? (hu_box){0} : hu_box_of_row(box);
        if (i >= AFTER) hu_roi_write(&at, attrs.picture, rows + 4 * i);
        kind[i] = -1;
        if (i < found.kept || is_box)
            kind[i] = hu_roi_match(rows + 4 * i, attrs.picture, &truths) >= 0;
    }
    found.things = first_lots(d, s, kind, 1, REGIONS / 4, rows, out);
    found.others = first_lots(d, s, kind, 0, REGIONS - found.things, rows, out + 4 * found.things);
    return found;
}

static seen compare(drive *d) {
    seen all = {0};
    drive_forward(d);
    for (int s = 0; s < BATCH; s++) {
        float expected[REGIONS * 4];
        seen one = plain_regions(d, s, d->training, expected);
        assert_memory_equal(d->out[0] + s * REGIONS * 4, expected, sizeof expected);
        all.small += one.small;
        all.kept += one.kept;
        all.things += one.things;
        all.others += one.others;
    }
    return all;
}

/* ---- tests ---- */

static void regions_are_the_plain_ones(void **unused) {
    (void)unused;
    for (int by_formula = 0; by_formula < 2; by_formula++) {
        drive d;
        open_node(&d, &attrs);
        d.by_formula = by_formula;
        d.drawn = 35;
        seen all = compare(&d);
        assert_true(all.small > 3 && all.kept > 3 * BATCH);
        assert_true(all.things > 5 && all.others > 2 * BATCH);
        d.training = false;
        compare(&d);
        drive_close(&d);
    }
}

static void lots_belong_to_step_and_picture(void **unused) {
    (void)unused;
    drive one, other, later;
    open_node(&one, &attrs);
    open_node(&other, &attrs);
    open_node(&later, &attrs);
    other.reversed = true;
    later.key.step++;
    drive_forward(&one);
    drive_forward(&other);
    drive_forward(&later);
    size_t bytes = (size_t)drive_out_elements(&one, 0) * sizeof(float);
    assert_memory_equal(one.out[0], other.out[0], bytes);
    assert_memory_not_equal(one.out[0], later.out[0], bytes);
    drive_close(&one);
    drive_close(&other);
    drive_close(&later);
}

/* A network that says nothing, and one without numbers: in training the boxes are left. */
static void without_proposals_the_boxes_are_left(void **unused) {
    (void)unused;
    drive d;
    open_node(&d, &attrs);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) d.in[0][i] = NAN;
    drive_forward(&d);
    int valid = 0;
    for (int r = 0; r < REGIONS; r++) valid += hu_roi_is_valid(d.out[0] + 4 * r);
    assert_int_equal(valid, MOST);
    d.training = false;
    drive_forward(&d);
    for (int64_t i = 0; i < drive_out_elements(&d, 0); i++) assert_true(d.out[0][i] == 0.0f);
    drive_close(&d);
}

static void shapes_are_checked(void **unused) {
    (void)unused;
    hu_shape out, in[2] = {DRIVE_SHAPE(ANCHORS, ROW), DRIVE_SHAPE(MOST, 5)};
    hu_proposal_attrs few = attrs, nowhere = attrs;
    int n;
    few.regions = 3;
    nowhere.anchors.maps = 0;
    assert_int_equal(hu_op_proposals.shape(&attrs, 2, in, &n, &out), HU_OK);
    assert_int_equal(hu_op_proposals.shape(&few, 2, in, &n, &out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_proposals.shape(&nowhere, 2, in, &n, &out), HU_ERR_SHAPE);
    in[0].extent[1]++;
    assert_int_equal(hu_op_proposals.shape(&attrs, 2, in, &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_are_the_plain_ones),
        cmocka_unit_test(lots_belong_to_step_and_picture),
        cmocka_unit_test(without_proposals_the_boxes_are_left),
        cmocka_unit_test(shapes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
