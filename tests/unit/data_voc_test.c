/* Annotations as annotators write them: read, cut to their picture, counted, or refused. */
#include "base/memory.h"
#include "data/voc_xml.h"
#include "data_files.h"

#include <math.h>

enum { WIDTH = 40, HEIGHT = 20 };

#define HEAD "<annotation><size><width>40</width><height>20</height></size>"
#define BOX(name, numbers) "<object><name>" name "</name><bndbox>" numbers "</bndbox></object>"
#define CORNERS(x1, y1, x2, y2)                                                                    \
    "<xmin>" #x1 "</xmin><ymin>" #y1 "</ymin><xmax>" #x2 "</xmax><ymax>" #y2 "</ymax>"

/* What is left of the boxes of a file in a picture of 40x20; owner frees voc->box. */
static hu_boxes_told fitted(const char *xml, size_t bytes, hu_voc *voc) {
    hu_boxes_told told = {0};
    if (hu_voc_read("a.xml", (const uint8_t *)xml, bytes, voc) != HU_OK)
        fail_msg("%s", hu_last_error());
    hu_voc_fit(voc, WIDTH, HEIGHT, &told);
    return told;
}

/* One box that is left, of a file of text. */
static hu_boxes_told expect_box(const char *xml, const char *name, double x1, double y1, double x2,
                                double y2) {
    hu_voc voc;
    hu_boxes_told told = fitted(xml, strlen(xml), &voc);
    assert_int_equal(voc.count, 1);
    assert_string_equal(voc.box[0].name, name);
    if (voc.box[0].x1 != x1 || voc.box[0].y1 != y1 || voc.box[0].x2 != x2 || voc.box[0].y2 != y2)
        fail_msg("%s: found %g,%g to %g,%g", xml, voc.box[0].x1, voc.box[0].y1, voc.box[0].x2,
                 voc.box[0].y2);
    hu_free(voc.box);
    return told;
}

static void boxes_are_cut_to_their_picture(void **state) {
    (void)state;
    hu_boxes_told told = expect_box(HEAD BOX("a", CORNERS(-5, 2, 500, 21)) "</annotation>", "a", 0,
                                    2, WIDTH, HEIGHT);
    assert_true(told.boxes == 1 && told.cut == 1 && told.empty == 0 && told.turned == 0);
    told = expect_box(HEAD BOX("a", CORNERS(1, 2, 41, 20)) "</annotation>", "a", 1, 2, 40, 20);
    assert_int_equal(told.cut, 1);
    told =
        expect_box(HEAD BOX("a", CORNERS(1.5, 2e0, 40, 20)) "</annotation>", "a", 1.5, 2, 40, 20);
    assert_int_equal(told.cut, 0);
}

/* Outside, without an area in the type that is used, turned round: beside one that is sound. */
static void boxes_of_nothing_are_left_out(void **state) {
    (void)state;
    static const struct {
        const char *xml;
        int64_t empty, turned;
    } table[] = {
        {BOX("b", CORNERS(40, 0, 50, 9)), 1, 0},  {BOX("b", CORNERS(-9, 0, -1, 9)), 1, 0},
        {BOX("b", CORNERS(10, 5, 10, 9)), 1, 0},  {BOX("b", CORNERS(10, 5, 10.0000001, 9)), 1, 0},
        {BOX("b", CORNERS(0, 0, 1e-7, 9)), 1, 0}, {BOX("b", CORNERS(0, 0, 9, 1e-320)), 1, 0},
        {BOX("b", CORNERS(20, 5, 10, 9)), 0, 1},  {BOX("b", CORNERS(2, 9, 10, 5)), 0, 1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char xml[1024];
        snprintf(xml, sizeof xml, "%s%s%s</annotation>", HEAD, table[i].xml,
                 BOX("a", CORNERS(1, 2, 3, 4)));
        hu_boxes_told told = expect_box(xml, "a", 1, 2, 3, 4);
        assert_true(told.boxes == 2 && told.cut == 0);
        if (told.empty != table[i].empty || told.turned != table[i].turned)
            fail_msg("%s: %lld, %lld", table[i].xml, (long long)told.empty, (long long)told.turned);
    }
    /* The narrowest that is kept has an area wherever it is moved to. */
    hu_voc voc;
    char xml[1024];
    snprintf(xml, sizeof xml, "%s%s</annotation>", HEAD, BOX("a", CORNERS(39, 0, 39.00005, 20)));
    assert_int_equal(fitted(xml, strlen(xml), &voc).empty, 0);
    float x1 = (float)(voc.box[0].x1 / WIDTH), x2 = (float)(voc.box[0].x2 / WIDTH);
    assert_true(x2 > x1 && 1.0f - x1 > 1.0f - x2);
    hu_free(voc.box);
}

/* The size may be missing, or nothing: the picture has one. */
static void sizes_may_be_missing(void **state) {
    (void)state;
    static const char *const heads[] = {"", "<size><width>0</width><height>0</height></size>",
                                        "<size><width>-5</width><height>20</height></size>",
                                        "<size><width>9</width></size>",
                                        "<size><width>1e30</width><height>1</height></size>"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char xml[1024];
        hu_voc voc;
        snprintf(xml, sizeof xml, "<annotation>%s%s</annotation>", heads[i],
                 BOX("a", CORNERS(1, 2, 3, 4)));
        fitted(xml, strlen(xml), &voc);
        assert_true(voc.width == 0 && voc.height == 0 && voc.count == 1);
        hu_free(voc.box);
    }
}

/* A name with an accent, in five encodings. */
static void encodings_are_read(void **state) {
    (void)state;
    static const char *const of_bytes[] = {"ISO-8859-1", "windows-1252", "ISO-8859-15", "latin1"};
    char xml[1024];
    expect_box("\xef\xbb\xbf<?xml version='1.0' encoding='UTF-8'?>" HEAD BOX(
                   "caf\xc3\xa9", CORNERS(1, 2, 3, 4)) "</annotation>",
               "caf\xc3\xa9", 1, 2, 3, 4);
    for (size_t i = 0; i < sizeof of_bytes / sizeof *of_bytes; i++) {
        snprintf(xml, sizeof xml, "<?xml version='1.0' encoding='%s'?>%s</annotation>", of_bytes[i],
                 HEAD BOX("caf\xe9", CORNERS(1, 2, 3, 4)));
        expect_box(xml, "caf\xc3\xa9", 1, 2, 3, 4);
    }
    expect_box("<?xml version='1.0' encoding='windows-1252'?>" HEAD BOX(
                   "\x80\x96", CORNERS(1, 2, 3, 4)) "</annotation>",
               "\xe2\x82\xac\xe2\x80\x93", 1, 2, 3, 4);
    /* UTF-16 with a mark. */
    const char *plain = HEAD BOX("a", CORNERS(1, 2, 3, 4)) "</annotation>";
    static char wide[2048] = "\xff\xfe";
    hu_voc voc;
    for (size_t i = 0; i < strlen(plain); i++) wide[2 + 2 * i] = plain[i];
    fitted(wide, 2 + 2 * strlen(plain), &voc);
    assert_true(voc.count == 1 && voc.width == WIDTH);
    hu_free(voc.box);
}

static void words_of_difficulty_are_read(void **state) {
    (void)state;
    static const struct {
        const char *words;
        bool is_difficult;
    } table[] = {{"<difficult>1</difficult>", true},
                 {"<difficult>0</difficult>", false},
                 {"<difficult> True\n</difficult>", true},
                 {"<difficult/>", false},
                 {"<difficult>Unspecified</difficult>", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char xml[1024];
        hu_voc voc;
        snprintf(xml, sizeof xml,
                 "%s<object>%s<name>a</name><bndbox>%s</bndbox></object>%s</annotation>", HEAD,
                 table[i].words, CORNERS(1, 2, 3, 4), BOX("b", CORNERS(1, 2, 3, 4)));
        fitted(xml, strlen(xml), &voc);
        assert_true(voc.count == 2 && !voc.box[1].is_difficult);
        if (voc.box[0].is_difficult != table[i].is_difficult) fail_msg("%s", table[i].words);
        hu_free(voc.box);
    }
}

static void file_names_are_compared(void **state) {
    (void)state;
    static const struct {
        const char *file, *name;
        bool is_same;
    } table[] = {{"", "a", true},
                 {"a.jpg", "a", true},
                 {"a", "a", true},
                 {"C:\\my\\a.PNG", "a", true},
                 {"/x.y/a.jpeg", "s/a", true},
                 {"a.v1", "a.v1", true},
                 {"a.v1.jpg", "a.v1", true},
                 {"b.jpg", "a", false},
                 {"aa.jpg", "a", false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_voc voc = {.width = 0};
        strcpy(voc.file, table[i].file);
        if (hu_voc_is_of(&voc, table[i].name) != table[i].is_same)
            fail_msg("%s, %s", table[i].file, table[i].name);
    }
    hu_voc voc;
    const char *xml = "<annotation><filename> a.jpg </filename></annotation>";
    fitted(xml, strlen(xml), &voc);
    assert_string_equal(voc.file, "a.jpg");
}

static void what_is_wrong_is_named_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *xml, *part;
    } table[] = {
        {"", "a.xml: line 1: no element found"},
        {"<html/>", "line 1: found <html>, expected <annotation> of PASCAL VOC"},
        {"<annotation>\n<object>\n<name>a</name>\n</object>\n\n</annotation>\n\n",
         "line 4: found an <object> without <name> or without one of <bndbox>'s"},
        {"<annotation>\n<object><bndbox>\n<xmin>4 5</xmin>\n\n", "line 3: found '4 5', expected a"},
        {"<annotation>\n<object>\n<name> </name>\n", "line 3: found a class without a name"},
        {"<?xml version='1.0' encoding='klingon'?><annotation/>",
         "found an encoding that is not known, expected UTF-8, UTF-16 or one of a byte"},
        {"<?xml version='1.0' encoding='GB18030'?><annotation/>", "of a byte a character"},
        {"<annotation>\n\n</anotation>", "line 3: mismatched tag"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_voc voc;
        uint64_t blocks = hu_memory_count().live_blocks;
        hu_status st =
            hu_voc_read("a.xml", (const uint8_t *)table[i].xml, strlen(table[i].xml), &voc);
        if (st != HU_ERR_CORRUPT || !strstr(hu_last_error(), table[i].part))
            fail_msg("%s: '%s'", table[i].xml, hu_last_error());
        assert_true(!voc.box && voc.count == 0);
        assert_int_equal(hu_memory_count().live_blocks, blocks);
    }
}

/* Of the XML parser too, which is not to call the file damaged. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char xml[] =
        "<?xml version='1.0' encoding='windows-1252'?>" HEAD BOX("a", CORNERS(1, 2, 3, 4))
            BOX("a", CORNERS(1, 2, 3, 4)) "</annotation>";
    uint64_t blocks = hu_memory_count().live_blocks, nth = 0;
    hu_voc voc;
    hu_status st;
    do {
        hu_memory_fail_at(++nth);
        st = hu_voc_read("a.xml", (const uint8_t *)xml, strlen(xml), &voc);
        hu_memory_fail_at(0);
        if (st != HU_OK && st != HU_ERR_MEMORY)
            fail_msg("%lld: %s", (long long)nth, hu_last_error());
        hu_free(voc.box);
        assert_int_equal(hu_memory_count().live_blocks, blocks);
    } while (st != HU_OK);
    assert_true(nth > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_are_cut_to_their_picture),
                                       cmocka_unit_test(boxes_of_nothing_are_left_out),
                                       cmocka_unit_test(sizes_may_be_missing),
                                       cmocka_unit_test(encodings_are_read),
                                       cmocka_unit_test(words_of_difficulty_are_read),
                                       cmocka_unit_test(file_names_are_compared),
                                       cmocka_unit_test(what_is_wrong_is_named_with_its_line),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
