/* Batches of samples of about one length: each sample once, in batches of one bucket. */
#include "data/sampler.h"

#include "data_files.h"

enum { MOST = 200, BATCH = 8, BOUNDS = 3, SEED = 17 };

static const int64_t bounds[BOUNDS] = {4, 9, 20};
static int32_t length[MOST];

/* Lengths 1 to 25, so that some are longer than every bound. */
static void draw_lengths(void) {
    for (int i = 0; i < MOST; i++) length[i] = 1 + (i * i * 7 + i * 3) % 25;
}

static int bucket_of(int64_t place) {
    int k = 0;
    while (k < BOUNDS && length[place] > bounds[k]) k++;
    return k;
}

static hu_split split_of(int64_t count) {
    return (hu_split){.count = count, .rows_taken = length};
}

static hu_sampler order_of(const hu_split *split, bool shuffle) {
    const hu_sampler_settings settings = {.seed = SEED,
                                          .shuffle = shuffle,
                                          .buckets = bounds,
                                          .bucket_count = BOUNDS,
                                          .batch = BATCH};
    hu_sampler order;
    if (hu_sampler_create(split, &settings, &order) != HU_OK) fail_msg("%s", hu_last_error());
    return order;
}

static void read_epoch(const hu_sampler *order, int64_t *place) {
    for (int64_t i = 0; i < order->split->count; i++) place[i] = hu_sampler_index(order, i);
}

static void expect_each_once(const int64_t *place, int64_t count) {
    int seen[MOST] = {0};
    for (int64_t i = 0; i < count; i++) {
        assert_in_range(place[i], 0, count - 1);
        assert_int_equal(seen[place[i]]++, 0);
    }
}

static bool is_of_one_bucket(const int64_t *place, int64_t batch) {
    for (int64_t i = 1; i < BATCH; i++)
        if (bucket_of(place[batch * BATCH + i]) != bucket_of(place[batch * BATCH])) return false;
    return true;
}

/* Batches that a bucket fills alone; as many there must be at least. */
static int64_t whole_batches(int64_t count) {
    int64_t of[BOUNDS + 1] = {0}, whole = 0;
    for (int64_t i = 0; i < count; i++) of[bucket_of(i)]++;
    for (int k = 0; k <= BOUNDS; k++) whole += of[k] / BATCH;
    return whole;
}

static void every_sample_comes_once_among_its_like(void **state) {
    (void)state;
    static const int64_t counts[] = {1, BATCH - 1, BATCH, BATCH + 1, 57, 64, MOST};
    int64_t place[MOST];
    draw_lengths();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int64_t epoch = 0; epoch < 6; epoch++) {
            hu_split split = split_of(counts[c]);
            hu_sampler order = order_of(&split, epoch % 2);
            hu_sampler_begin(&order, epoch);
            read_epoch(&order, place);
            expect_each_once(place, counts[c]);
            int64_t alike = 0;
            for (int64_t b = 0; b < counts[c] / BATCH; b++) alike += is_of_one_bucket(place, b);
            assert_true(alike >= whole_batches(counts[c]));
            hu_sampler_free(&order);
        }
}

static void without_shuffling_they_come_bucket_by_bucket(void **state) {
    (void)state;
    draw_lengths();
    hu_split split = split_of(MOST);
    hu_sampler order = order_of(&split, false);
    int64_t place[MOST], whole = whole_batches(MOST) * BATCH;
    hu_sampler_begin(&order, 3);
    read_epoch(&order, place);
    for (int64_t i = 1; i < MOST; i++) {
        int before = bucket_of(place[i - 1]), now = bucket_of(place[i]);
        assert_true(i == whole || now > before || (now == before && place[i] > place[i - 1]));
    }
    hu_sampler_free(&order);
}

static void an_epoch_is_one_whatever_ran_before(void **state) {
    (void)state;
    int64_t once[MOST], again[MOST], other[MOST];
    draw_lengths();
    hu_split split = split_of(MOST);
    hu_sampler a = order_of(&split, true), b = order_of(&split, true);
    hu_sampler_begin(&a, 0);
    hu_sampler_begin(&a, 1);
    hu_sampler_begin(&a, 4);
    read_epoch(&a, once);
    hu_sampler_begin(&b, 4); /* as after a resume */
    read_epoch(&b, again);
    assert_memory_equal(once, again, sizeof once);
    hu_sampler_begin(&b, 5);
    read_epoch(&b, other);
    assert_memory_not_equal(once, other, sizeof once);
    hu_sampler_free(&a);
    hu_sampler_free(&b);
}

static void samples_of_a_part_are_measured_by_their_index(void **state) {
    (void)state;
    static const uint32_t index[] = {3, 8, 11, 40, 41, 77, 90, 91, 150, 199};
    enum { COUNT = sizeof index / sizeof *index };
    int64_t place[COUNT];
    draw_lengths();
    hu_split split = {.count = COUNT, .rows_taken = length, .index = index};
    hu_sampler order = order_of(&split, false);
    hu_sampler_begin(&order, 0);
    read_epoch(&order, place);
    int64_t seen = 0;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++) seen += place[i] == index[k];
    assert_int_equal(seen, COUNT);
    for (int i = 1; i < COUNT; i++) /* ten samples: at most one whole batch, then what is left */
        assert_true(bucket_of(place[i]) >= bucket_of(place[i - 1]) || i == BATCH);
    hu_sampler_free(&order);
}

static void wrong_bounds_and_samples_without_lengths_are_refused(void **state) {
    (void)state;
    static const int64_t wrong[][2] = {{0, 4}, {5, 5}, {9, 4}, {-3, 2}};
    hu_buckets made;
    hu_sampler order;
    hu_split split = split_of(MOST);
    hu_sampler_settings settings = {.buckets = bounds, .bucket_count = BOUNDS, .batch = BATCH};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(hu_buckets_create(length, MOST, wrong[i], 2, BATCH, true, &made),
                         HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), "data.buckets: found"));
        hu_buckets_free(&made);
    }
    split.rows_taken = NULL;
    assert_int_equal(hu_sampler_create(&split, &settings, &order), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "samples without lengths"));
    hu_sampler_free(&order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_comes_once_among_its_like),
        cmocka_unit_test(without_shuffling_they_come_bucket_by_bucket),
        cmocka_unit_test(an_epoch_is_one_whatever_ran_before),
        cmocka_unit_test(samples_of_a_part_are_measured_by_their_index),
        cmocka_unit_test(wrong_bounds_and_samples_without_lengths_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
