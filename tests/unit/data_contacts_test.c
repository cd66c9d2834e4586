/* Contact maps: what every chain has in common, how many pixels are set, and that samples follow
 * each other. */
#include <math.h>

#include <halfulp/data.h>
#include <xxhash.h>

#include "base/memory.h"
#include "data_refused.h"

enum { POINTS = 28, PIXELS = POINTS * POINTS, TRAIN = 20000, TEST = 4000 };

static hu_dataset *open_contacts(int64_t train, int64_t test) {
    hu_data_limits limits = {train, test};
    hu_dataset *d;
    assert_true(hu_dataset_available("contacts"));
    assert_int_equal(hu_dataset_open("contacts", &limits, &d), HU_OK);
    return d;
}

static const uint8_t *maps_of(const hu_split *split) {
    return split->rows[HU_FIELD_IMAGE];
}

static void a_quarter_of_the_pixels_is_set(void **state) {
    (void)state;
    hu_dataset *d = open_contacts(0, 0);
    assert_int_equal(d->train.count, TRAIN);
    assert_int_equal(d->test.count, TEST);
    assert_int_equal(d->field_count, 1);
    const hu_split *halves[] = {&d->train, &d->test};
    for (int h = 0; h < 2; h++) {
        int64_t set = 0, all = halves[h]->count * PIXELS;
        for (int64_t i = 0; i < all; i++) {
            assert_true(maps_of(halves[h])[i] == 0 || maps_of(halves[h])[i] == 255);
            set += maps_of(halves[h])[i] == 255;
        }
        double share = (double)set / (double)all;
        print_message("share of set pixels %.4f\n", share);
        assert_true(fabs(share - 0.24) < 0.005);
    }
    /* The mean of the images is that share. */
    assert_true(fabs((double)d->field[0].mean[0] - 0.24) < 0.005);
    hu_dataset_close(d);
}

/* Points touch themselves and, two bonds of 3.8 being less than 8, whatever is two steps away. */
static void a_map_is_that_of_a_chain(void **state) {
    (void)state;
    hu_dataset *d = open_contacts(200, 200);
    for (int64_t k = 0; k < 200; k++) {
        const uint8_t *map = maps_of(&d->train) + k * PIXELS;
        for (int i = 0; i < POINTS; i++)
            for (int j = 0; j < POINTS; j++) {
                assert_int_equal(map[POINTS * i + j], map[POINTS * j + i]);
                if (abs(i - j) <= 2) assert_int_equal(map[POINTS * i + j], 255);
            }
    }
    hu_dataset_close(d);
}

static int apart(const uint8_t *a, const uint8_t *b) {
    int pixels = 0;
    for (int i = 0; i < PIXELS; i++) pixels += a[i] != b[i];
    return pixels;
}

/* Neighbours in time look alike; after a hundred samples nothing of that is left. */
static void samples_are_a_trajectory(void **state) {
    (void)state;
    enum { LATER = 100, COUNT = 900 };
    hu_dataset *d = open_contacts(COUNT + LATER, 1);
    double next = 0, far = 0;
    for (int64_t k = 0; k < COUNT; k++) {
        const uint8_t *map = maps_of(&d->train) + k * PIXELS;
        next += apart(map, map + PIXELS);
        far += apart(map, map + LATER * PIXELS);
    }
    print_message("pixels that change: %.1f to the next, %.1f to the hundredth\n", next / COUNT,
                  far / COUNT);
    assert_true(next > 0 && next < 0.6 * far);
    hu_dataset_close(d);
}

static void a_limit_takes_the_beginning(void **state) {
    (void)state;
    hu_dataset *few = open_contacts(30, 20), *many = open_contacts(70, 90);
    assert_memory_equal(maps_of(&few->train), maps_of(&many->train), 30 * PIXELS);
    assert_memory_equal(maps_of(&few->test), maps_of(&many->test), 20 * PIXELS);
    assert_int_not_equal(apart(maps_of(&few->train), maps_of(&few->test)), 0);
    hu_dataset_close(few);
    hu_dataset_close(many);
}

/* Results published with the set hold only while its bytes stay what they are, on every machine. */
static void the_bytes_are_those_of_the_first_release(void **state) {
    (void)state;
    hu_dataset *d = open_contacts(500, 500);
    assert_true(XXH64(maps_of(&d->train), 500 * PIXELS, 0) == UINT64_C(0x0efc84b1423e7a64));
    assert_true(XXH64(maps_of(&d->test), 500 * PIXELS, 0) == UINT64_C(0x907457c8823f7363));
    hu_dataset_close(d);
}

static void memory_faults_are_reported_and_leak_nothing(void **state) {
    (void)state;
    const hu_data_limits limits = {2, 2};
    /* the set, its name, a block for each half; then it opens */
    assert_int_equal(fail_every_allocation("contacts", &limits, NULL), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_the_pixels_is_set),
        cmocka_unit_test(a_map_is_that_of_a_chain),
        cmocka_unit_test(samples_are_a_trajectory),
        cmocka_unit_test(a_limit_takes_the_beginning),
        cmocka_unit_test(the_bytes_are_those_of_the_first_release),
        cmocka_unit_test(memory_faults_are_reported_and_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
