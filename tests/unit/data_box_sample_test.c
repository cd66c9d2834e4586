/* Random windows of pictures with boxes: by a plain model, and boxes where the picture shows them.
 */
#include <math.h>
#include <png.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "data/box_sample.h"
#include "data_refused.h"
#include "media/boxes.h"

enum { HEIGHT = 120, WIDTH = 160, SIDE = 96, BOXES = 1, EPOCHS = 300 };

/* In pixels of the picture: x1 y1 x2 y2, two boxes. */
static const int boxes_at[2][4] = {{20, 30, 70, 90}, {100, 10, 150, 60}};

static double share(const hu_random_key *key, uint64_t block, uint64_t i) {
    return (double)hu_random_word(key, 4 * block + i) / 4294967296.0;
}

/* Intersection over union, counted pixel by pixel. */
static double count_overlap(const double patch[4], const double box[4]) {
    double both = 0.0, one = (patch[2] - patch[0]) * (patch[3] - patch[1]);
    double two = (box[2] - box[0]) * (box[3] - box[1]);
    for (double y = patch[1]; y < patch[3]; y++)
        for (double x = patch[0]; x < patch[2]; x++)
            both += x >= box[0] && x < box[2] && y >= box[1] && y < box[3];
    return both / (one + two - both);
}

/* The header's words, in pixels of the canvas, then of the picture. */
static hu_box_window model(uint64_t seed, int64_t epoch, int64_t index) {
    static const double least[] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.0};
    hu_random_key key = {seed, hu_stream_id("box sample", ""), (uint64_t)epoch};
    uint64_t base = 512 * (uint64_t)index;
    double w = WIDTH, h = HEIGHT, x = 0, y = 0, found[7][4];
    int n = 1;
    if (share(&key, base, 0) < 0.5) {
        double ratio = 1 + 3 * share(&key, base, 1);
        w = floor(WIDTH * ratio), h = floor(HEIGHT * ratio);
        x = floor((w - WIDTH + 1) * share(&key, base, 2));
        y = floor((h - HEIGHT + 1) * share(&key, base, 3));
    }
    memcpy(found[0], (double[]){0, 0, w, h}, sizeof found[0]);
    for (int k = 0; k < 6; k++)
        for (int t = 0, done = 0; t < 50 && !done; t++) {
            uint64_t block = base + 2 + 50 * (uint64_t)k + (uint64_t)t;
            double s = 0.3 + 0.7 * share(&key, block, 0), low = fmax(0.5, s * s);
            double root = sqrt(low + (fmin(2, 1 / (s * s)) - low) * share(&key, block, 1));
            double pw = fmin(w, fmax(1, floor(w * s * root)));
            double ph = fmin(h, fmax(1, floor(h * s / root)));
            double px = floor((w - pw + 1) * share(&key, block, 2));
            double py = floor((h - ph + 1) * share(&key, block, 3));
            double patch[4] = {px, py, px + pw, py + ph};
            done = k == 5;
            for (int b = 0; b < 2; b++) {
                double box[4] = {x + boxes_at[b][0], y + boxes_at[b][1], x + boxes_at[b][2],
                                 y + boxes_at[b][3]};
                done |= count_overlap(patch, box) >= least[k];
            }
            if (done) memcpy(found[n++], patch, sizeof patch);
        }
    const double *p = found[(int)floor(n * share(&key, base + 1, 0))];
    return (hu_box_window){(int64_t)(p[0] - x), (int64_t)(p[1] - y), (int64_t)(p[2] - p[0]),
                           (int64_t)(p[3] - p[1])};
}

static void fill_boxes(float (*boxes)[HU_BOX_NUMBERS]) {
    for (int b = 0; b < 2; b++) {
        boxes[b][HU_BOX_X1] = (float)boxes_at[b][0] / WIDTH;
        boxes[b][HU_BOX_Y1] = (float)boxes_at[b][1] / HEIGHT;
        boxes[b][HU_BOX_X2] = (float)boxes_at[b][2] / WIDTH;
        boxes[b][HU_BOX_Y2] = (float)boxes_at[b][3] / HEIGHT;
        boxes[b][HU_BOX_CLASS] = (float)b;
    }
}

static void windows_are_those_of_the_model(void **state) {
    (void)state;
    float boxes[2][HU_BOX_NUMBERS];
    int whole = 0, larger = 0;
    fill_boxes(boxes);
    for (int64_t index = 0; index < 400; index++) {
        hu_reading_change change = {.seed = 11, .epoch = index % 3, .samples = true};
        hu_box_window w = hu_box_window_draw(&change, index, WIDTH, HEIGHT, boxes[0], 2);
        hu_box_window expected = model(11, index % 3, index);
        if (memcmp(&w, &expected, sizeof w) != 0)
            fail_msg("%d: %lld %lld %lld %lld, expected %lld %lld %lld %lld", (int)index,
                     (long long)w.left, (long long)w.top, (long long)w.width, (long long)w.height,
                     (long long)expected.left, (long long)expected.top, (long long)expected.width,
                     (long long)expected.height);
        whole += w.width == WIDTH && w.height == HEIGHT;
        larger += w.width > WIDTH;
        change.samples = false;
        w = hu_box_window_draw(&change, index, WIDTH, HEIGHT, boxes[0], 2);
        assert_true(w.left == 0 && w.top == 0 && w.width == WIDTH && w.height == HEIGHT);
    }
    assert_true(whole > 10 && larger > 50);
}

/* Centres decide; what reaches beyond is cut. */
static void boxes_are_cut_and_dropped(void **state) {
    (void)state;
    const hu_box_window w = {40, 20, 80, 50}; /* 40..120, 20..70 */
    float boxes[2][HU_BOX_NUMBERS], moved[HU_BOX_NUMBERS];
    fill_boxes(boxes);
    /* 20..70 and 30..90: its centre (45, 60) is seen. */
    assert_true(hu_box_window_move(&w, WIDTH, HEIGHT, boxes[0], moved));
    static const float first[] = {0.0f, 0.2f, 0.375f, 1.0f, 0.0f};
    for (int i = 0; i < HU_BOX_NUMBERS; i++) assert_true(fabsf(moved[i] - first[i]) < 1e-6f);
    /* 100..150: its centre 125 is not. */
    assert_false(hu_box_window_move(&w, WIDTH, HEIGHT, boxes[1], moved));
}

/* ---- pictures whose boxes are coloured ---- */

static void put_example(const char *name) {
    static uint8_t pixels[HEIGHT][WIDTH][3];
    char text[1024], path[64];
    memset(pixels, 0, sizeof pixels);
    for (int b = 0; b < 2; b++)
        for (int y = boxes_at[b][1]; y < boxes_at[b][3]; y++)
            for (int x = boxes_at[b][0]; x < boxes_at[b][2]; x++) pixels[y][x][b] = 255;
    png_image png = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB, .width = WIDTH};
    png.height = HEIGHT;
    snprintf(path, sizeof path, "JPEGImages/%s.png", name);
    assert_true(png_image_write_to_file(&png, at(path), 0, pixels, 0, NULL));
    int length = snprintf(text, sizeof text, "<annotation>");
    for (int b = 0; b < 2; b++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "<object><name>%s</name><bndbox><xmin>%d</xmin><ymin>%d</ymin>"
                           "<xmax>%d</xmax><ymax>%d</ymax></bndbox></object>",
                           b ? "green" : "amber", boxes_at[b][0], boxes_at[b][1], boxes_at[b][2],
                           boxes_at[b][3]);
    length +=
        snprintf(text + length, sizeof text - (size_t)length,
                 "<size><width>%d</width><height>%d</height></size></annotation>", WIDTH, HEIGHT);
    snprintf(path, sizeof path, "Annotations/%s.xml", name);
    put(path, text, (size_t)length);
}

static int make_tree(void **state) {
    static const char *const folders[] = {"Annotations", "JPEGImages", "ImageSets",
                                          "ImageSets/Main"};
    if (make_folder(state) != 0) return 1;
    for (int i = 0; i < 4; i++) assert_int_equal(mkdir(at(folders[i]), 0777), 0);
    put("ImageSets/Main/train.txt", "a\nb\n", 4);
    put("ImageSets/Main/test.txt", "a\n", 2);
    put_example("a");
    put_example("b");
    return 0;
}

static hu_dataset *open_data(void) {
    char spec[128];
    hu_dataset *d;
    const hu_image_choice choice = {.size = SIDE, .box_samples = true};
    snprintf(spec, sizeof spec, "boxes:%s", folder);
    if (hu_dataset_open_images(spec, NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

/* Of a channel, where it is bright: x1 y1 x2 y2 in pixels; false: nowhere. */
static bool find_bright(const float *picture, int64_t height, int64_t width, int channel,
                        float *found) {
    found[0] = (float)width, found[1] = (float)height, found[2] = found[3] = -1.0f;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const float *pixel = picture + (y * width + x) * 3;
            /* The mean beyond the picture is grey, what is between is dark. */
            if (!(pixel[channel] > 0.6f && pixel[2] < 0.2f)) continue;
            found[0] = fminf(found[0], (float)x), found[1] = fminf(found[1], (float)y);
            found[2] = fmaxf(found[2], (float)(x + 1)), found[3] = fmaxf(found[3], (float)(y + 1));
        }
    return found[2] >= 0.0f;
}

/* Windows, mirrors and boxes go together: every box that is told is where its colour is. */
static void boxes_are_where_the_picture_shows_them(void **state) {
    (void)state;
    static float picture[SIDE * SIDE * 4 * 3], again[SIDE * SIDE * 4 * 3];
    hu_dataset *d = open_data();
    const int64_t *extent = d->field[HU_FIELD_IMAGE].extent;
    hu_loader_settings settings = {.seed = 4, .threads = 2, .window = 2, .augment = d->augment};
    hu_loader *loader, *other;
    int told = 0, lost = 0;
    assert_true(d->train.reader && d->augment.box_samples && d->augment.flip);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    settings.threads = 1;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &other), HU_OK);
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        float boxes[2][HU_BOX_NUMBERS], bright[4];
        assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
        assert_int_equal(hu_loader_want(loader, 0, 2), HU_OK);
        hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_UNIT, 1, 1, picture);
        hu_loader_fill(loader, BOXES, HU_READ_PLAIN, 1, 1, boxes[0]);
        if (epoch < 20) {
            assert_int_equal(hu_loader_begin_epoch(other, epoch), HU_OK);
            assert_int_equal(hu_loader_want(other, 1, 1), HU_OK);
            hu_loader_fill(other, HU_FIELD_IMAGE, HU_READ_UNIT, 1, 1, again);
            assert_memory_equal(picture, again,
                                (size_t)(extent[0] * extent[1] * 3) * sizeof *again);
        }
        for (int b = 0; b < 2; b++) {
            if (boxes[b][HU_BOX_CLASS] < 0.0f) {
                lost++;
                continue;
            }
            assert_true(boxes[b][HU_BOX_CLASS] == (float)b);
            if (!find_bright(picture, extent[0], extent[1], b, bright)) continue; /* very small */
            told++;
            for (int i = 0; i < 4; i++) {
                double expected = (double)boxes[b][i] * (double)extent[i % 2 ? 0 : 1];
                if (fabs((double)bright[i] - expected) > 2.0)
                    fail_msg("epoch %d, box %d, side %d: %g, expected %g", (int)epoch, b, i,
                             (double)bright[i], expected);
            }
        }
    }
    assert_true(told > EPOCHS && lost > 50);
    hu_loader_close(loader);
    hu_loader_close(other);
    hu_dataset_close(d);
}

static void without_a_size_it_is_refused(void **state) {
    (void)state;
    char spec[128];
    const hu_image_choice choice = {.box_samples = true};
    snprintf(spec, sizeof spec, "boxes:%s", folder);
    refuse_data(spec, &choice, HU_ERR_ARGUMENT, "found data.size=0");
    refuse_data("glyphs", &choice, HU_ERR_ARGUMENT, "data.box_samples=on");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_those_of_the_model),
        cmocka_unit_test(boxes_are_cut_and_dropped),
        cmocka_unit_test(boxes_are_where_the_picture_shows_them),
        cmocka_unit_test(without_a_size_it_is_refused),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
