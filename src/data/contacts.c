/* Maps of which points of a folded chain are near each other, as proteins have them: a random walk
 * of 28 points whose steps turn slowly from point to point, and from sample to sample, so that a
 * half of the set is one trajectory. Sample k is a function of (half, k) and of the samples before
 * it; normal numbers, +, *, / and square root are all that is used, so that its bytes are the same
 * on every machine. Made in place of the private data of the range study of Popescu et al. */
#include <math.h>

#include "base/memory.h"
#include "base/rng.h"
#include "data/kind.h"

enum {
    POINTS = 28,
    STEPS = POINTS - 1,
    AXES = 3,
    PIXELS = POINTS * POINTS,
    TRAIN_COUNT = 20000,
    TEST_COUNT = 4000,
    CONTACT = 255
};

/* Of neighbours in the chain, and below which points touch: Angstrom, between alpha carbons. */
static const double bond = 3.8, reach = 8.0;
/* How much of its direction a step keeps from the step before it in the chain, and from itself in
 * the sample before. */
static const double along = 0.6, across = 0.8, kept = 0.95, moved = 0.31;

typedef struct vector {
    double at[AXES];
} vector;

/* Of length 1. */
static vector direction(vector v) {
    double squares = 0.0;
    for (int a = 0; a < AXES; a++) squares += v.at[a] * v.at[a];
    double length = sqrt(squares);
    for (int a = 0; a < AXES; a++) v.at[a] /= length;
    return v;
}

static vector mixed(double p, const vector *x, double q, const vector *y) {
    vector made;
    for (int a = 0; a < AXES; a++) made.at[a] = p * x->at[a] + q * y->at[a];
    return direction(made);
}

/* Direction number i of sample k: any is as likely as any other. */
static vector drawn(const hu_random_key *key, int64_t k, int i) {
    vector v;
    for (int a = 0; a < AXES; a++)
        v.at[a] = (double)hu_random_normal(key, (uint64_t)((k * POINTS + i) * AXES + a));
    return direction(v);
}

/* turn [27]: what each step of the chain has of its own, from sample to sample. */
static void move_turns(const hu_random_key *key, int64_t k, vector *turn) {
    for (int i = 0; i < STEPS; i++) {
        vector noise = drawn(key, k, i);
        turn[i] = k == 0 ? noise : mixed(kept, &turn[i], moved, &noise);
    }
}

/* point [28] */
static void fold(const vector *turn, vector *point) {
    vector step = turn[0];
    point[0] = (vector){{0.0}};
    for (int i = 0; i < STEPS; i++) {
        if (i > 0) step = mixed(along, &step, across, &turn[i]);
        for (int a = 0; a < AXES; a++) point[i + 1].at[a] = point[i].at[a] + bond * step.at[a];
    }
}

static bool is_contact(const vector *a, const vector *b) {
    double squares = 0.0;
    for (int k = 0; k < AXES; k++) squares += (a->at[k] - b->at[k]) * (a->at[k] - b->at[k]);
    return squares < reach * reach;
}

/* map [28, 28]; a point touches itself. */
static void draw_map(const vector *point, uint8_t *map) {
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < POINTS; j++)
            map[POINTS * i + j] = is_contact(&point[i], &point[j]) ? CONTACT : 0;
}

static hu_status draw_half(const char *half, int64_t count, void **owned, hu_split *split) {
    const hu_random_key key = {0, hu_stream_id("contact", half), 0};
    vector turn[STEPS], point[POINTS];
    hu_status st = hu_alloc_array((size_t)count, PIXELS, owned);
    if (st != HU_OK) return st;
    uint8_t *maps = *owned;
    for (int64_t k = 0; k < count; k++) {
        move_turns(&key, k, turn);
        fold(turn, point);
        draw_map(point, maps + k * PIXELS);
    }
    *split = (hu_split){.count = count, .rows = {maps}};
    return HU_OK;
}

hu_status hu_contacts_open(const hu_data_kind *kind, const char *directory,
                           const hu_data_limits *limits, hu_dataset *dataset) {
    (void)kind;
    (void)directory;
    dataset->field[HU_FIELD_IMAGE] = (hu_field){.name = "image",
                                                .type = HU_FIELD_U8,
                                                .rank = 3,
                                                .extent = {POINTS, POINTS, 1},
                                                .is_spatial = true};
    dataset->field_count = 1;
    hu_status st =
        draw_half("train", hu_limited(TRAIN_COUNT, limits->train), dataset->owned, &dataset->train);
    if (st != HU_OK) return st;
    return draw_half("test", hu_limited(TEST_COUNT, limits->test), dataset->owned + 1,
                     &dataset->test);
}
