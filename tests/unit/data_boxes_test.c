/* Pictures with boxes as PASCAL VOC writes them: read, moved with the picture, and refused. */
#include <png.h>
#include <sys/stat.h>

#include "data/augment.h"
#include "data/voc_xml.h"
#include "data_refused.h"

enum { HEIGHT = 20, WIDTH = 40, BOXES = 1, MOST = 3 };

static const char *const first_box = "<object><name> dog\n</name><part><name>tail</name><bndbox>"
                                     "<xmin>0</xmin><ymin>0</ymin><xmax>99</xmax><ymax>99</ymax>"
                                     "</bndbox></part><bndbox><ymin>5</ymin><xmin>10</xmin>"
                                     "<xmax>20.0</xmax><ymax>10</ymax></bndbox></object>";

static void put_xml(const char *name, const char *body) {
    char text[2048], path[64];
    int length = snprintf(text, sizeof text,
                          "<?xml version='1.0'?><annotation>%s<size><width>%d</width><height>%d"
                          "</height><depth>3</depth></size></annotation>",
                          body, WIDTH, HEIGHT);
    snprintf(path, sizeof path, "Annotations/%s.xml", name);
    put(path, text, (size_t)length);
}

static char *object(char *text, const char *class_name, int x1, int y1, int x2, int y2) {
    sprintf(text,
            "<object><name>%s</name><bndbox><xmin>%d</xmin><ymin>%d</ymin><xmax>%d</xmax>"
            "<ymax>%d</ymax></bndbox></object>",
            class_name, x1, y1, x2, y2);
    return text + strlen(text);
}

/* Two training pictures and a test picture. */
static void put_annotations(void) {
    char text[1024];
    put_xml("a", first_box);
    object(object(object(text, "eel", 0, 0, WIDTH, HEIGHT), "cat", 30, 5, 30, 9), "cat", 36, 0, 40,
           4);
    put_xml("b", text); /* the second box has no area */
    object(text, "cat", 1, 2, 3, 4);
    put_xml("c", text);
}

static void put_picture(const char *name, int height) {
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    png_image png = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB, .width = WIDTH};
    png.height = (png_uint_32)height;
    unlink(at(name));
    assert_true(png_image_write_to_file(&png, at(name), 0, pixels, 0, NULL));
}

static int make_tree(void **state) {
    static const char *const folders[] = {"Annotations", "JPEGImages", "ImageSets",
                                          "ImageSets/Main"};
    if (make_folder(state) != 0) return 1;
    for (int i = 0; i < 4; i++) assert_int_equal(mkdir(at(folders[i]), 0777), 0);
    put("ImageSets/Main/train.txt", "a  1\r\n\nb -1", 11);
    put("ImageSets/Main/val.txt", "c\n", 2);
    put_annotations();
    put_picture("JPEGImages/a.png", HEIGHT);
    put_picture("JPEGImages/b.jpg", HEIGHT); /* what a file is, its first bytes say */
    put_picture("JPEGImages/c.PNG", HEIGHT);
    return 0;
}

static const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "boxes:%s", folder);
    return text;
}

static hu_dataset *open_with(hu_image_choice choice) {
    hu_dataset *d;
    if (hu_dataset_open_images(spec(), NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

static void boxes_are_those_of_the_files(void **state) {
    (void)state;
    /* Classes in order of their names: cat 0, dog 1, eel 2. */
    static const float expected[2][2][5] = {
        {{0.25f, 0.25f, 0.5f, 0.5f, 1}, {0, 0, 0, 0, HU_UNLABELLED}},
        {{0, 0, 1, 1, 2}, {0.9f, 0, 1, 0.2f, 0}}};
    static const char *const names[] = {"cat", "dog", "eel"};
    float found[2][2][5];
    for (int64_t memory = 0; memory <= 5000; memory += 5000) {
        hu_dataset *d = open_with((hu_image_choice){.memory = (uint64_t)memory});
        hu_loader *loader;
        hu_loader_settings settings = {.seed = 1};
        const hu_field *field = &d->field[BOXES];
        assert_true((d->train.reader != NULL) == (memory != 0));
        assert_string_equal(field->name, "boxes");
        assert_true(field->is_boxes && field->is_ragged && field->classes == 3);
        assert_true(field->extent[0] == 2 && field->extent[1] == 5 && d->augment.flip);
        for (int c = 0; c < 3; c++) assert_string_equal(hu_dataset_class_name(d, c), names[c]);
        assert_null(hu_dataset_class_name(d, -1));
        assert_null(hu_dataset_class_name(d, 3));
        assert_true(d->train.count == 2 && d->test.count == 1);
        assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
        hu_loader_fill(loader, BOXES, HU_READ_PLAIN, 0, 2, &found[0][0][0]);
        assert_memory_equal(found, expected, sizeof found);
        assert_int_equal(hu_loader_length(loader, BOXES, 0), 1);
        assert_int_equal(hu_loader_length(loader, BOXES, 1), 2);
        hu_loader_close(loader);
        hu_dataset_close(d);
    }
}

/* Classes are those of all pictures: with few of them, they keep their numbers. */
static void a_limit_leaves_the_classes(void **state) {
    (void)state;
    hu_dataset *d;
    const hu_data_limits limits = {1, 1};
    if (hu_dataset_open_images(spec(), &limits, NULL, &d) != HU_OK) fail_msg("%s", hu_last_error());
    const float *boxes = d->train.rows[BOXES], *test = d->test.rows[BOXES];
    assert_true(d->train.count == 1 && d->test.count == 1);
    assert_true(d->field[BOXES].classes == 3 && d->field[BOXES].extent[0] == 1);
    assert_true(boxes[HU_BOX_CLASS] == 1 && test[HU_BOX_CLASS] == 0);
    hu_dataset_close(d);
}

/* Mirrored about the middle; shifted by source = target + shift; lost where the centre leaves. */
static void boxes_move_with_their_pictures(void **state) {
    (void)state;
    static const float boxes[MOST][5] = {{0.25f, 0.25f, 0.5f, 0.5f, 4}, {0, 0, 1, 1, 2}};
    static const struct {
        hu_change change;
        float expected[MOST][5];
    } table[] = {
        {{.flip = true},
         {{0.5f, 0.25f, 0.75f, 0.5f, 4}, {0, 0, 1, 1, 2}, {0, 0, 0, 0, HU_UNLABELLED}}},
        {{.shift_x = 2, .shift_y = -2},
         {{0, 0.5f, 0.25f, 0.75f, 4}, {0, 0.25f, 0.75f, 1, 2}, {0, 0, 0, 0, HU_UNLABELLED}}},
        {{.shift_x = 2, .shift_y = -2, .flip = true},
         {{0.75f, 0.5f, 1, 0.75f, 4}, {0.25f, 0.25f, 1, 1, 2}, {0, 0, 0, 0, HU_UNLABELLED}}},
        {{.shift_x = 3}, /* from -.125 to .125: the centre is on the border, still inside */
         {{0, 0.25f, 0.125f, 0.5f, 4}, {0, 0, 0.625f, 1, 2}, {0, 0, 0, 0, HU_UNLABELLED}}},
        {{.shift_x = 4},
         {{0, 0, 0, 0, HU_UNLABELLED}, {0, 0, 0.5f, 1, 2}, {0, 0, 0, 0, HU_UNLABELLED}}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        float found[MOST][5];
        hu_boxes_fill(&boxes[0][0], 2, MOST, 8, 8, &table[i].change, &found[0][0]);
        for (int b = 0; b < MOST; b++)
            for (int n = 0; n < 5; n++) assert_true(found[b][n] == table[i].expected[b][n]);
    }
}

/* Shares of a side whose numbers differ in the file and not in float32, and those that a shift
 * makes equal. */
static void boxes_without_an_area_are_lost(void **state) {
    (void)state;
    static const float boxes[MOST][5] = {{0.25f, 0.25f, 0.25f, 0.5f, 4},
                                         {0x1p-30f, 0, 0x1.8p-30f, 1, 2},
                                         {0.25f, 0.25f, 0.5f, 0.5f, 1}};
    static const hu_change none = {0}, left = {.shift_x = -4};
    float found[MOST][5];
    hu_boxes_fill(&boxes[0][0], 3, MOST, 8, 8, &none, &found[0][0]);
    assert_true(found[0][HU_BOX_CLASS] == (float)HU_UNLABELLED && found[0][HU_BOX_X2] == 0);
    assert_true(found[1][HU_BOX_CLASS] == 2 && found[2][HU_BOX_CLASS] == 1);
    hu_boxes_fill(&boxes[0][0], 3, MOST, 8, 8, &left, &found[0][0]);
    assert_true(found[1][HU_BOX_CLASS] == (float)HU_UNLABELLED);
    assert_true(found[2][HU_BOX_X1] == 0.75f && found[2][HU_BOX_CLASS] == 1);
}

static void refuse(hu_status expected, const char *part) {
    refuse_data(spec(), NULL, expected, part);
}

static void annotations_that_are_wrong(void **state) {
    (void)state;
    char text[1024];
    static const struct {
        const char *xml, *part;
    } files[] = {
        {"", "Annotations/b.xml: line 1: no element found"},
        {"no xml", "b.xml: line 1: syntax error"},
        {"<html></html>", "found <html>, expected <annotation> of PASCAL VOC"},
        {"<html/>", "found <html>, expected <annotation> of PASCAL VOC"},
        {"<annotation>\n<object></object></annotation>",
         "line 2: found an <object> without <name>"},
        {"<annotation><size><width>9</width></annotation>", "mismatched tag"},
        {"<annotation><size><width>nan</width></size></annotation>",
         "found 'nan', expected a number"},
        {"<annotation><size><width>4 5</width></size></annotation>",
         "found '4 5', expected a number"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        put("Annotations/b.xml", files[i].xml, strlen(files[i].xml));
        refuse(HU_ERR_CORRUPT, files[i].part);
    }
    object(text, "", 0, 0, 3, 4);
    put_xml("b", text);
    refuse(HU_ERR_CORRUPT, "a class without a name");
    put_annotations();
    object(text, "fox", 1, 2, 3, 4);
    put_xml("c", text);
    refuse(
        HU_ERR_CORRUPT,
        "c.xml: found class 'fox', which no training picture has; the nearest of 3 classes: 'dog'");
    put_annotations();
    hu_dataset_close(open_with((hu_image_choice){.size = 0}));
}

/* Cut, left out, of another name, without a size: counted, and the others are read. */
static void boxes_are_made_to_fit(void **state) {
    (void)state;
    static const float expected[2][5] = {{0, 0, 0.5f, 1, 0}, {0.25f, 0.25f, 0.5f, 0.5f, 2}};
    char text[1024];
    object(
        object(object(object(text, "cat", -3, 0, 20, 21), "fox", 9, 9, 9, 12), "fox", 41, 0, 50, 9),
        "fox", 9, 3, 2, 9);
    strcat(text, "<filename>other.jpg</filename><object><name>eel</name><difficult>1</difficult>"
                 "<bndbox><xmin>10</xmin><ymin>5</ymin><xmax>20</xmax><ymax>10</ymax></bndbox>"
                 "</object>");
    put_xml("b", text);
    char bare[1200];
    int length = snprintf(bare, sizeof bare, "<annotation>%s</annotation>", text);
    put("Annotations/c.xml", bare, (size_t)length);
    hu_dataset *d = open_with((hu_image_choice){.size = 0});
    assert_string_equal(hu_dataset_class_name(d, 1), "dog"); /* no fox is left */
    assert_int_equal(d->field[BOXES].classes, 3);
    for (int half = 0; half < 2; half++) {
        const hu_boxes_told *told = &d->boxes[half];
        assert_true(told->boxes == (half ? 5 : 6) && told->cut == 1 && told->empty == 2 &&
                    told->turned == 1 && told->renamed == 1);
        hu_loader *loader;
        hu_loader_settings settings = {.seed = 1};
        float found[2][2][5];
        assert_int_equal(
            hu_loader_create(d, half ? HU_SPLIT_TEST : HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
        hu_loader_fill(loader, BOXES, HU_READ_PLAIN, half ? 0 : 1, 1, &found[0][0][0]);
        assert_memory_equal(found[0][0], expected[0], sizeof expected[0]);
        assert_memory_equal(found[0][1], expected[1], 4 * sizeof(float));
        /* Training takes difficult boxes as any other, evaluations do not ask for them. */
        assert_true(found[0][1][HU_BOX_CLASS] == (half ? HU_BOX_DIFFICULT - 2.0f : 2.0f));
        hu_loader_close(loader);
    }
    hu_dataset_close(d);
    put_annotations();
}

/* Lists may have a byte-order mark, but no zero byte, and no name that leads elsewhere. */
static void lists_stay_in_their_folder(void **state) {
    (void)state;
    static const char *const names[] = {"../a", "/etc/a", "x/../../a", "..", "a/.."};
    char text[64];
    put("ImageSets/Main/train.txt",
        "\xef\xbb\xbf"
        "a\nb",
        6);
    hu_dataset_close(open_with((hu_image_choice){.size = 0}));
    put("ImageSets/Main/train.txt", "a\0b\nb", 5);
    refuse(HU_ERR_CORRUPT, "train.txt: offset 1: found a zero byte, expected text");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int length = snprintf(text, sizeof text, "a\n%s 1\n", names[i]);
        put("ImageSets/Main/train.txt", text, (size_t)length);
        snprintf(text, sizeof text, "train.txt: line 2: found '%s', expected the name of",
                 names[i]);
        refuse(HU_ERR_CORRUPT, text);
    }
    put("ImageSets/Main/train.txt", "a\nb", 3);
}

static void files_that_are_wrong(void **state) {
    (void)state;
    put_picture("JPEGImages/b.jpg", HEIGHT - 2);
    refuse(HU_ERR_CORRUPT, "b.jpg: found 40x18 pixels, expected 40x20");
    put_picture("JPEGImages/a.png", HEIGHT - 2);
    refuse(HU_ERR_CORRUPT, "a.png: found 40x18 pixels, expected 40x20 as");
    put_picture("JPEGImages/a.png", HEIGHT);
    assert_int_equal(unlink(at("JPEGImages/b.jpg")), 0);
    refuse(HU_ERR_CORRUPT, "JPEGImages: found no picture b.jpg");
    put_picture("JPEGImages/b.jpg", HEIGHT);
    put("ImageSets/Main/train.txt", "\n \n", 3);
    refuse(HU_ERR_CORRUPT, "train.txt: found no name of a picture");
    put("ImageSets/Main/train.txt", "a\nx\n", 4);
    refuse(HU_ERR_MISSING, "Annotations/x.xml");
    put("ImageSets/Main/train.txt", "a\nb", 3);
    hu_dataset_close(open_with((hu_image_choice){.size = 10}));
}

static void running_out_of_memory(void **state) {
    (void)state;
    const hu_image_choice choice = {.size = 10};
    assert_true(fail_every_allocation(spec(), NULL, &choice) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_those_of_the_files),
        cmocka_unit_test(a_limit_leaves_the_classes),
        cmocka_unit_test(boxes_move_with_their_pictures),
        cmocka_unit_test(boxes_without_an_area_are_lost),
        cmocka_unit_test(annotations_that_are_wrong),
        cmocka_unit_test(boxes_are_made_to_fit),
        cmocka_unit_test(lists_stay_in_their_folder),
        cmocka_unit_test(files_that_are_wrong),
        cmocka_unit_test(running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
