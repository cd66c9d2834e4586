#include <math.h>

#include <halfulp/data.h>

#include "base/memory.h"
#include "base/rng.h"
#include "data_files.h"
#include "split.h"

enum { COUNT = 101, HEIGHT = 7, WIDTH = 9, MOST = HEIGHT * WIDTH * 3 };

static uint8_t pixels[COUNT * MOST];
static int32_t labels[COUNT];
static float images[COUNT * MOST], again[COUNT * MOST], classes_of[COUNT], classes_again[COUNT];

/* A data set that no file knows: channel c of a pixel tells where it stands. */
static hu_dataset sample(int64_t channels) {
    hu_random_key key = {9, hu_stream_id("test", "loader"), 0};
    for (uint64_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)hu_random_word(&key, i);
    for (int i = 0; i < COUNT; i++) labels[i] = i % 10;
    hu_dataset made = {.train = {.count = COUNT, .rows = {pixels, labels}},
                       .test = {.count = 50, .rows = {pixels, labels}}};
    hu_dataset_set_images(&made, HEIGHT, WIDTH, channels, 10);
    hu_field *image = &made.field[HU_FIELD_IMAGE];
    memcpy(image->mean, (float[]){0.4f, 0.5f, 0.6f}, sizeof image->mean);
    memcpy(image->std, (float[]){0.2f, 0.3f, 0.25f}, sizeof image->std);
    return made;
}

static hu_loader *make(const hu_dataset *d, hu_loader_settings settings) {
    hu_loader *loader;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    return loader;
}

/* Whether images go on as their mirror images, as numpy's pad(..., "reflect") makes it. */
static bool reflects;

/* A ball between two walls that stand on the first and the last pixel. */
static int64_t bounce(int64_t at, int64_t count) {
    while (at < 0 || at >= count) at = at < 0 ? -at : 2 * (count - 1) - at;
    return at;
}

static float value_of(const hu_dataset *d, int64_t index, int64_t y, int64_t x, int64_t c) {
    if (reflects) y = bounce(y, HEIGHT), x = bounce(x, WIDTH);
    bool inside = y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH;
    uint8_t byte = 0;
    if (inside)
        byte = pixels[((index * HEIGHT + y) * WIDTH + x) * d->field[HU_FIELD_IMAGE].extent[2] + c];
    return ((float)byte / 255.0f - d->field[HU_FIELD_IMAGE].mean[c]) /
           d->field[HU_FIELD_IMAGE].std[c];
}

/* The straightforward definition: shift, mirror, cut. */
static bool is_change(const hu_dataset *d, int64_t index, const float *image, int64_t dx,
                      int64_t dy, bool flip, int64_t cut_x, int64_t cut_y, int64_t cut) {
    for (int64_t y = 0; y < HEIGHT; y++)
        for (int64_t x = 0; x < WIDTH; x++)
            for (int64_t c = 0; c < d->field[HU_FIELD_IMAGE].extent[2]; c++) {
                float v = value_of(d, index, y + dy, (flip ? WIDTH - 1 - x : x) + dx, c);
                bool in_x = x >= cut_x && x < cut_x + cut, in_y = y >= cut_y && y < cut_y + cut;
                if (in_x && in_y) v = 0.0f;
                if (image[(y * WIDTH + x) * d->field[HU_FIELD_IMAGE].extent[2] + c] != v)
                    return false;
            }
    return true;
}

static void without_changes_pixels_are_normalised_in_file_order(void **state) {
    (void)state;
    for (int64_t channels = 1; channels <= 3; channels++) {
        hu_dataset d = sample(channels);
        hu_loader *loader = make(&d, (hu_loader_settings){.seed = 1});
        assert_int_equal(hu_loader_count(loader), COUNT);
        fill_both(loader, 0, COUNT, images, classes_of);
        int64_t size = HEIGHT * WIDTH * channels;
        for (int64_t i = 0; i < COUNT; i++) {
            assert_int_equal(hu_loader_index(loader, i), i);
            assert_true(classes_of[i] == (float)labels[i]);
            assert_true(is_change(&d, i, images + i * size, 0, 0, false, 0, 0, 0));
        }
        hu_loader_close(loader);
    }
}

static const hu_loader_settings every_change = {
    .seed = 11, .shuffle = true, .augment = {.pad = 2, .flip = true, .cutout = 3}};

static void batches_calls_and_threads_give_the_same_samples(void **state) {
    (void)state;
    hu_dataset d = sample(3);
    hu_loader *loader = make(&d, every_change);
    assert_int_equal(hu_loader_begin_epoch(loader, 5), HU_OK);
    fill_both(loader, 0, COUNT, images, classes_of);
    for (int64_t batch = 1; batch <= COUNT; batch += batch < 8 ? 1 : 31) {
        memset(again, 0, sizeof again);
        int64_t batches = (COUNT + batch - 1) / batch;
#pragma omp parallel for num_threads(4) schedule(dynamic)
        for (int64_t b = batches - 1; b >= 0; b--) {
            int64_t first = b * batch, count = first + batch > COUNT ? COUNT - first : batch;
            fill_both(loader, first, count, again + first * MOST, classes_again + first);
        }
        assert_memory_equal(images, again, sizeof images);
        assert_memory_equal(classes_of, classes_again, sizeof classes_of);
    }
    hu_loader_close(loader);
}

static void an_epoch_does_not_depend_on_the_ones_before(void **state) {
    (void)state;
    hu_dataset d = sample(3);
    hu_loader *a = make(&d, every_change), *b = make(&d, every_change);
    fill_both(a, 0, COUNT, images, classes_of);
    assert_int_equal(hu_loader_begin_epoch(a, 1), HU_OK);
    assert_int_equal(hu_loader_begin_epoch(b, 7), HU_OK);
    assert_int_equal(hu_loader_begin_epoch(b, 0), HU_OK); /* as after a resume */
    fill_both(b, 0, COUNT, again, classes_again);
    assert_memory_equal(images, again, sizeof images);
    fill_both(a, 0, COUNT, again, classes_again);
    assert_memory_not_equal(images, again, sizeof images);
    assert_int_equal(hu_loader_begin_epoch(a, -1), HU_ERR_ARGUMENT);
    hu_loader_close(a);
    hu_loader_close(b);
}

static void the_order_is_the_permutation_of_seed_and_epoch(void **state) {
    (void)state;
    hu_dataset d = sample(1);
    hu_loader *loader = make(&d, (hu_loader_settings){.seed = 21, .shuffle = true});
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        hu_random_key key = {21, hu_stream_id("shuffle", ""), epoch};
        uint32_t order[COUNT];
        hu_random_permutation(&key, COUNT, order);
        assert_int_equal(hu_loader_begin_epoch(loader, (int64_t)epoch), HU_OK);
        fill_both(loader, 0, COUNT, images, classes_of);
        for (int64_t i = 0; i < COUNT; i++) {
            assert_int_equal(hu_loader_index(loader, i), order[i]);
            assert_true(classes_of[i] == (float)labels[order[i]]);
            assert_true(is_change(&d, order[i], images + i * HEIGHT * WIDTH, 0, 0, false, 0, 0, 0));
        }
    }
    hu_loader_close(loader);
}

/* Shuffling moves samples about, it does not change them. */
static void a_change_belongs_to_the_image_not_to_its_place(void **state) {
    (void)state;
    hu_dataset d = sample(3);
    hu_loader_settings plain = every_change;
    plain.shuffle = false;
    hu_loader *shuffled = make(&d, every_change), *in_order = make(&d, plain);
    fill_both(shuffled, 0, COUNT, images, classes_of);
    fill_both(in_order, 0, COUNT, again, classes_again);
    for (int64_t i = 0; i < COUNT; i++)
        assert_memory_equal(images + i * MOST, again + hu_loader_index(shuffled, i) * MOST,
                            MOST * sizeof(float));
    hu_loader_close(shuffled);
    hu_loader_close(in_order);
}

/* Over many epochs every image is one of the possible changes, and every one of them occurs. */
static void crops_and_mirrors_are_exactly_the_possible_ones(void **state) {
    (void)state;
    enum { PAD = 2, SIDE = 2 * PAD + 1, EPOCHS = 20 };
    for (int run = 0; run < 4; run++) {
        int64_t channels = run % 2 ? 3 : 1;
        reflects = run / 2;
        hu_dataset d = sample(channels);
        hu_loader *loader =
            make(&d, (hu_loader_settings){
                         .seed = 2, .augment = {.pad = PAD, .flip = true, .reflect = reflects}});
        int seen[SIDE][SIDE][2] = {0};
        for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
            assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
            fill_both(loader, 0, COUNT, images, classes_of);
            for (int64_t i = 0; i < COUNT; i++) {
                int matches = 0;
                for (int k = 0; k < SIDE * SIDE * 2; k++) {
                    int dx = k / 2 % SIDE, dy = k / 2 / SIDE;
                    const float *image = images + i * HEIGHT * WIDTH * channels;
                    if (!is_change(&d, i, image, dx - PAD, dy - PAD, k % 2, 0, 0, 0)) continue;
                    seen[dy][dx][k % 2]++;
                    matches++;
                }
                assert_int_equal(matches, 1);
            }
        }
        double chi = 0, mean = (double)EPOCHS * COUNT / (SIDE * SIDE * 2);
        for (int k = 0; k < SIDE * SIDE * 2; k++) {
            double n = seen[k / 2 / SIDE][k / 2 % SIDE][k % 2];
            chi += (n - mean) * (n - mean) / mean;
        }
        assert_true(chi < 85.4); /* 99.9 % with 49 degrees of freedom */
        hu_loader_close(loader);
    }
    reflects = false;
}

/* However far a crop reaches, there is another image after the mirror. */
static void a_mirror_never_ends(void **state) {
    (void)state;
    enum { PAD = 30, SIDE = 2 * PAD + 1 };
    hu_dataset d = sample(1);
    hu_loader *loader =
        make(&d, (hu_loader_settings){.seed = 6,
                                      .augment = {.pad = PAD, .flip = true, .reflect = true}});
    fill_both(loader, 0, COUNT, images, classes_of);
    reflects = true;
    for (int64_t i = 0; i < COUNT; i++) {
        bool found = false;
        for (int k = 0; !found && k < SIDE * SIDE * 2; k++)
            found = is_change(&d, i, images + i * HEIGHT * WIDTH, k / 2 % SIDE - PAD,
                              k / 2 / SIDE - PAD, k % 2, 0, 0, 0);
        assert_true(found);
    }
    reflects = false;
    hu_loader_close(loader);
    assert_int_equal(bounce(-1, 5), 1); /* 2 1 0 1 2 3 4 3 2 */
    assert_int_equal(bounce(5, 5), 3);
    assert_int_equal(bounce(6, 5), 2);
}

static void a_crop_may_leave_the_image_entirely(void **state) {
    (void)state;
    hu_dataset d = sample(3);
    hu_loader *loader =
        make(&d, (hu_loader_settings){.seed = 3, .augment = {.pad = 40, .flip = true}});
    fill_both(loader, 0, COUNT, images, classes_of);
    int black = 0;
    for (int64_t i = 0; i < COUNT; i++)
        black += is_change(&d, i, images + i * MOST, 1000, 0, false, 0, 0, 0);
    assert_in_range(black, COUNT / 2, COUNT - 1);
    hu_loader_close(loader);
}

/* Whether the image is a window of stored image `index` no more than pad from the middle (margin
 * 2); marks which. */
static bool find_window(const hu_dataset *d, int64_t index, const float *image, int64_t pad,
                        bool seen[2][7][7]) {
    for (int flip = 0; flip < (pad ? 2 : 1); flip++)
        for (int64_t dy = -pad; dy <= pad; dy++)
            for (int64_t dx = -pad; dx <= pad; dx++) {
                bool same = true;
                for (int64_t y = 0; same && y < d->field[HU_FIELD_IMAGE].extent[0]; y++)
                    for (int64_t x = 0; same && x < d->field[HU_FIELD_IMAGE].extent[1]; x++)
                        for (int64_t c = 0; same && c < 3; c++) {
                            int64_t from = (flip ? d->field[HU_FIELD_IMAGE].extent[1] - 1 - x : x) +
                                           dx + d->field[HU_FIELD_IMAGE].margin;
                            float v = value_of(d, index, y + dy + d->field[HU_FIELD_IMAGE].margin,
                                               from, c);
                            same = image[(y * d->field[HU_FIELD_IMAGE].extent[1] + x) * 3 + c] == v;
                        }
                if (!same) continue;
                seen[flip][dy + 3][dx + 3] = true;
                return true;
            }
    return false;
}

/* Windows of what is stored around the image; its middle without a crop. */
static void crops_reach_into_the_margin(void **state) {
    (void)state;
    enum { MARGIN = 2, H = HEIGHT - 2 * MARGIN, W = WIDTH - 2 * MARGIN };
    hu_dataset d = sample(3);
    d.field[HU_FIELD_IMAGE].margin = MARGIN;
    d.field[HU_FIELD_IMAGE].extent[0] = H;
    d.field[HU_FIELD_IMAGE].extent[1] = W;
    bool seen[2][2 * MARGIN + 3][2 * MARGIN + 3] = {{{false}}};
    for (int64_t run = 0; run < 2 * (MARGIN + 2); run++) {
        int64_t pad = run / 2;
        reflects = run % 2;
        hu_loader *loader =
            make(&d, (hu_loader_settings){
                         .seed = 5, .augment = {.pad = pad, .flip = pad > 0, .reflect = reflects}});
        for (int64_t epoch = 0; epoch < 20; epoch++) {
            assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
            fill_both(loader, 0, COUNT, images, classes_of);
            for (int64_t i = 0; i < COUNT; i++)
                assert_true(find_window(&d, i, images + i * H * W * 3, pad, seen));
        }
        hu_loader_close(loader);
    }
    reflects = false;
    for (int flip = 0; flip < 2; flip++)
        for (int y = 0; y < 2 * MARGIN + 3; y++)
            for (int x = 0; x < 2 * MARGIN + 3; x++) assert_true(seen[flip][y][x]);
}

static void the_cutout_is_a_whole_square_of_zeros_anywhere(void **state) {
    (void)state;
    enum { CUT = 5, XS = WIDTH - CUT + 1, YS = HEIGHT - CUT + 1 };
    hu_dataset d = sample(3);
    hu_loader *loader = make(&d, (hu_loader_settings){.seed = 4, .augment = {.cutout = CUT}});
    int seen[YS][XS] = {0};
    for (int64_t epoch = 0; epoch < 5; epoch++) {
        assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
        fill_both(loader, 0, COUNT, images, classes_of);
        for (int64_t i = 0; i < COUNT; i++) {
            int matches = 0;
            for (int k = 0; k < XS * YS; k++) {
                if (!is_change(&d, i, images + i * MOST, 0, 0, false, k % XS, k / XS, CUT))
                    continue;
                seen[k / XS][k % XS]++;
                matches++;
            }
            assert_int_equal(matches, 1);
        }
    }
    for (int k = 0; k < XS * YS; k++) assert_true(seen[k / XS][k % XS] > 10); /* 34 expected */
    hu_loader_close(loader);
    loader = make(&d, (hu_loader_settings){.seed = 4, .augment = {.cutout = HEIGHT}});
    fill_both(loader, 0, COUNT, images, classes_of);
    hu_loader_close(loader);
}

static void settings_that_do_not_fit_are_refused(void **state) {
    (void)state;
    hu_dataset d = sample(3);
    hu_loader *loader;
    static const hu_augment bad[] = {
        {.pad = -1}, {.pad = 4097}, {.cutout = -1}, {.cutout = HEIGHT + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hu_loader_settings settings = {.augment = bad[i]};
        assert_int_equal(hu_loader_create(&d, HU_SPLIT_TRAIN, &settings, &loader), HU_ERR_ARGUMENT);
        assert_null(loader);
    }
}

static void only_creation_allocates(void **state) {
    (void)state;
    hu_dataset d = sample(3);
    uint64_t blocks = hu_memory_count().live_blocks;
    hu_loader *loader;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        hu_memory_fail_at(nth);
        assert_int_equal(hu_loader_create(&d, HU_SPLIT_TEST, &every_change, &loader),
                         HU_ERR_MEMORY);
        assert_null(loader);
        assert_int_equal(hu_memory_count().live_blocks, blocks);
    }
    assert_int_equal(hu_loader_create(&d, HU_SPLIT_TEST, &every_change, &loader), HU_OK);
    assert_int_equal(hu_loader_count(loader), 50);
    uint64_t calls = hu_memory_count().allocations;
    assert_int_equal(hu_loader_begin_epoch(loader, 3), HU_OK);
    fill_both(loader, 0, 50, images, classes_of);
    assert_int_equal(hu_memory_count().allocations, calls);
    hu_loader_close(loader);
    hu_loader_close(NULL);
}

/* Where the pixel (y, x) of the changed square comes from, in all eight ways. */
static int64_t turned(int way, int64_t side, int64_t y, int64_t x) {
    int64_t row = way & 1 ? x : y, column = way & 1 ? y : x;
    if (way & 2) row = side - 1 - row;
    if (way & 4) column = side - 1 - column;
    return row * side + column;
}

/* Fields of two sizes: the same way for both, and every way comes. */
static void squares_lie_in_eight_ways_all_fields_alike(void **state) {
    (void)state;
    enum { SQUARES = 200, SMALL_SIDE = 3, LARGE_SIDE = 6 };
    static uint8_t small[SQUARES * SMALL_SIDE * SMALL_SIDE];
    static uint8_t large[SQUARES * LARGE_SIDE * LARGE_SIDE];
    const int64_t side[] = {SMALL_SIDE, LARGE_SIDE};
    uint8_t *const bytes[] = {small, large};
    hu_dataset d = {.name = (char[]){"squares"}, .field_count = 2, .train.count = SQUARES};
    hu_loader *loader;
    int ways = 0;
    for (int f = 0; f < 2; f++) {
        d.field[f] = (hu_field){.rank = 2, .extent = {side[f], side[f]}, .is_spatial = true};
        d.train.rows[f] = bytes[f];
        for (int64_t i = 0; i < SQUARES * side[f] * side[f]; i++)
            bytes[f][i] = (uint8_t)(i % (side[f] * side[f]));
    }
    loader = make(&d, (hu_loader_settings){.seed = 3, .augment = {.turn = true}});
    for (int64_t s = 0; s < SQUARES; s++) {
        int found[2] = {-1, -1};
        for (int f = 0; f < 2; f++) {
            float square[LARGE_SIDE * LARGE_SIDE];
            hu_loader_fill(loader, f, HU_READ_PLAIN, s, 1, square);
            for (int way = 0; way < 8; way++) {
                bool is_it = true;
                for (int64_t i = 0; i < side[f] * side[f]; i++)
                    is_it =
                        is_it && square[i] == (float)turned(way, side[f], i / side[f], i % side[f]);
                if (is_it) found[f] = way;
            }
        }
        assert_true(found[0] >= 0 && found[0] == found[1]);
        ways |= 1 << found[0];
    }
    assert_int_equal(ways, 255);
    hu_loader_close(loader);
    hu_loader_settings both = {.augment = {.turn = true, .pad = 1}};
    d.field_count = 1;
    assert_int_equal(hu_loader_create(&d, HU_SPLIT_TRAIN, &both, &loader), HU_ERR_ARGUMENT);
    d.field[0].extent[1] = 2;
    both.augment.pad = 0;
    assert_int_equal(hu_loader_create(&d, HU_SPLIT_TRAIN, &both, &loader), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "random turns"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_changes_pixels_are_normalised_in_file_order),
        cmocka_unit_test(batches_calls_and_threads_give_the_same_samples),
        cmocka_unit_test(an_epoch_does_not_depend_on_the_ones_before),
        cmocka_unit_test(the_order_is_the_permutation_of_seed_and_epoch),
        cmocka_unit_test(a_change_belongs_to_the_image_not_to_its_place),
        cmocka_unit_test(crops_and_mirrors_are_exactly_the_possible_ones),
        cmocka_unit_test(a_crop_may_leave_the_image_entirely),
        cmocka_unit_test(a_mirror_never_ends),
        cmocka_unit_test(crops_reach_into_the_margin),
        cmocka_unit_test(the_cutout_is_a_whole_square_of_zeros_anywhere),
        cmocka_unit_test(settings_that_do_not_fit_are_refused),
        cmocka_unit_test(squares_lie_in_eight_ways_all_fields_alike),
        cmocka_unit_test(only_creation_allocates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
