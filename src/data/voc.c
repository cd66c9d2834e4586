#include "data/voc.h"

#include <expat.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { PATH_BYTES = 256, TEXT_BYTES = 128, LARGEST_SIDE = 1 << 24 };

/* The leaves that are read, and how many an object or a file has of each. */
enum { X1, Y1, X2, Y2, NUMBERS, NAME = NUMBERS, OF_OBJECT, WIDTH = OF_OBJECT, HEIGHT, LEAVES };
static const char *const leaf_path[LEAVES] = {
    [X1] = "/annotation/object/bndbox/xmin", [Y1] = "/annotation/object/bndbox/ymin",
    [X2] = "/annotation/object/bndbox/xmax", [Y2] = "/annotation/object/bndbox/ymax",
    [NAME] = "/annotation/object/name",      [WIDTH] = "/annotation/size/width",
    [HEIGHT] = "/annotation/size/height"};
static const char object_path[] = "/annotation/object";

typedef struct reading {
    const char *name;
    XML_Parser parser;
    hu_voc *voc;
    char path[PATH_BYTES]; /* of the element that is open: "/annotation/size" */
    char text[TEXT_BYTES]; /* of the leaf that is open */
    size_t length;
    bool has[LEAVES];
    double number[LEAVES];
    char class_name[HU_VOC_NAME_BYTES];
    hu_status status;
} reading;

/* The first failure ends the reading. */
static void fail(reading *r, const char *what) {
    if (r->status != HU_OK) return;
    r->status = hu_fail(HU_ERR_CORRUPT, "%s: line %lu: %s", r->name,
                        (unsigned long)XML_GetCurrentLineNumber(r->parser), what);
    XML_StopParser(r->parser, XML_FALSE);
}

static void on_start(void *context, const XML_Char *element, const XML_Char **attributes) {
    reading *r = context;
    size_t used = strlen(r->path);
    char what[TEXT_BYTES + HU_VOC_NAME_BYTES];
    (void)attributes;
    r->length = 0;
    if (used == 0 && strcmp(element, "annotation") != 0) {
        snprintf(what, sizeof what, "found <%.64s>, expected <annotation> of PASCAL VOC", element);
        fail(r, what);
        return;
    }
    if (used + 1 + strlen(element) >= PATH_BYTES) {
        fail(r, "elements lie deeper in each other than PASCAL VOC's do");
        return;
    }
    snprintf(r->path + used, PATH_BYTES - used, "/%s", element);
    if (strcmp(r->path, object_path) == 0) memset(r->has, 0, OF_OBJECT * sizeof *r->has);
}

static void on_text(void *context, const XML_Char *text, int length) {
    reading *r = context;
    for (int i = 0; i < length && r->length + 1 < TEXT_BYTES; i++) r->text[r->length++] = text[i];
}

/* Blanks around a value are no part of it. */
static char *trim(char *text, size_t length) {
    static const char blanks[] = " \t\r\n";
    while (length > 0 && strchr(blanks, text[length - 1])) length--;
    text[length] = '\0';
    return text + strspn(text, blanks);
}

static void end_leaf(reading *r, int leaf) {
    char what[2 * TEXT_BYTES], *end, *value = trim(r->text, r->length);
    if (leaf == NAME) {
        if (!value[0] || strlen(value) >= HU_VOC_NAME_BYTES)
            fail(r, "found a class without a name, or with one of more than 63 letters");
        else
            strcpy(r->class_name, value);
    } else {
        r->number[leaf] = strtod(value, &end);
        if (!value[0] || *end || !isfinite(r->number[leaf])) {
            snprintf(what, sizeof what, "found '%s', expected a number", value);
            fail(r, what);
        }
    }
    r->has[leaf] = true;
}

/* An object with everything that it needs; whether it lies inside is known at the end. */
static void end_object(reading *r) {
    hu_voc *voc = r->voc;
    for (int leaf = 0; leaf < OF_OBJECT; leaf++)
        if (!r->has[leaf]) {
            fail(r, "found an <object> without <name> or without one of <bndbox>'s <xmin>, <ymin>, "
                    "<xmax>, <ymax>");
            return;
        }
    const double *n = r->number;
    const hu_voc_box box = {.x1 = n[X1], .y1 = n[Y1], .x2 = n[X2], .y2 = n[Y2]};
    if (n[X2] <= n[X1] || n[Y2] <= n[Y1]) {
        voc->flat++;
        return;
    }
    void *block = voc->box;
    hu_status st = hu_grow(&block, voc->count, &voc->capacity, sizeof *voc->box);
    voc->box = block;
    if (st != HU_OK) {
        r->status = st;
        XML_StopParser(r->parser, XML_FALSE);
        return;
    }
    voc->box[voc->count] = box;
    strcpy(voc->box[voc->count++].name, r->class_name);
}

static void on_end(void *context, const XML_Char *element) {
    reading *r = context;
    (void)element;
    if (r->status != HU_OK) return; /* the end of an element whose start was refused comes too */
    for (int leaf = 0; leaf < LEAVES; leaf++)
        if (strcmp(r->path, leaf_path[leaf]) == 0) end_leaf(r, leaf);
    if (strcmp(r->path, object_path) == 0) end_object(r);
    *strrchr(r->path, '/') = '\0';
    r->length = 0;
}

/* The size may stand behind the objects. */
static void check_inside(reading *r) {
    char what[2 * TEXT_BYTES];
    hu_voc *voc = r->voc;
    const double *n = r->number;
    bool has_size = r->has[WIDTH] && r->has[HEIGHT] && n[WIDTH] >= 1.0 && n[HEIGHT] >= 1.0 &&
                    n[WIDTH] <= LARGEST_SIDE && n[HEIGHT] <= LARGEST_SIDE;
    if (!has_size) {
        fail(r, "found no <size> with a <width> and a <height>");
        return;
    }
    voc->width = (int64_t)n[WIDTH];
    voc->height = (int64_t)n[HEIGHT];
    for (size_t i = 0; i < voc->count; i++) {
        const hu_voc_box *b = &voc->box[i];
        if (b->x1 >= 0.0 && b->y1 >= 0.0 && b->x2 <= n[WIDTH] && b->y2 <= n[HEIGHT]) continue;
        snprintf(what, sizeof what,
                 "box %zu (%s) from %g,%g to %g,%g lies outside of the picture of %gx%g", i + 1,
                 b->name, b->x1, b->y1, b->x2, b->y2, n[WIDTH], n[HEIGHT]);
        fail(r, what);
    }
}

hu_status hu_voc_read(const char *name, const uint8_t *data, size_t bytes, hu_voc *voc) {
    reading r = {.name = name, .voc = voc, .parser = XML_ParserCreate(NULL)};
    *voc = (hu_voc){0};
    if (!r.parser) return hu_fail(HU_ERR_MEMORY, "%s: no memory for an XML parser", name);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    bool is_read = bytes <= INT_MAX && XML_Parse(r.parser, (const char *)data, (int)bytes, 1);
    if (is_read)
        check_inside(&r);
    else
        fail(&r, XML_ErrorString(XML_GetErrorCode(r.parser)));
    XML_ParserFree(r.parser);
    if (r.status == HU_OK) return HU_OK;
    hu_free(voc->box);
    *voc = (hu_voc){0};
    return r.status;
}
