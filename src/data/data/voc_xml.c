#include "data/voc_xml.h"

#include <expat.h>
#include <iconv.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { PATH_BYTES = 256, TEXT_BYTES = HU_VOC_FILE_BYTES, LARGEST_SIDE = 1 << 24 };

/* The leaves that are read, and how many an object or a file has of each. */
enum { X1, Y1, X2, Y2, NUMBERS, NAME = NUMBERS, NEEDED, DIFFICULT = NEEDED, OF_OBJECT };
enum { WIDTH = OF_OBJECT, HEIGHT, FILE_NAME, LEAVES };
static const char *const leaf_path[LEAVES] = {
    [X1] = "/annotation/object/bndbox/xmin", [Y1] = "/annotation/object/bndbox/ymin",
    [X2] = "/annotation/object/bndbox/xmax", [Y2] = "/annotation/object/bndbox/ymax",
    [NAME] = "/annotation/object/name",      [DIFFICULT] = "/annotation/object/difficult",
    [WIDTH] = "/annotation/size/width",      [HEIGHT] = "/annotation/size/height",
    [FILE_NAME] = "/annotation/filename"};
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
    bool is_difficult;
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
    if (strcmp(r->path, object_path) != 0) return;
    memset(r->has, 0, OF_OBJECT * sizeof *r->has);
    r->is_difficult = false;
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

/* Words that mean yes, as annotators write them; anything else is no. */
static bool means_yes(const char *value) {
    static const char *const words[] = {"1", "true", "True", "yes", "Yes"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], value) == 0) return true;
    return false;
}

static void end_leaf(reading *r, int leaf) {
    char what[2 * TEXT_BYTES], *end, *value = trim(r->text, r->length);
    if (leaf == DIFFICULT) {
        r->is_difficult = means_yes(value);
    } else if (leaf == FILE_NAME) {
        if (r->length + 1 < TEXT_BYTES) strcpy(r->voc->file, value);
    } else if (leaf == NAME) {
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

/* An object with everything that it needs; what of it lies in the picture is known later. */
static void end_object(reading *r) {
    hu_voc *voc = r->voc;
    for (int leaf = 0; leaf < NEEDED; leaf++)
        if (!r->has[leaf]) {
            fail(r, "found an <object> without <name> or without one of <bndbox>'s <xmin>, <ymin>, "
                    "<xmax>, <ymax>");
            return;
        }
    const double *n = r->number;
    hu_status st = hu_grow(&voc->box, voc->count, &voc->capacity, sizeof *voc->box);
    if (st != HU_OK) {
        r->status = st;
        XML_StopParser(r->parser, XML_FALSE);
        return;
    }
    hu_voc_box *box = &voc->box[voc->count++];
    *box = (hu_voc_box){
        .x1 = n[X1], .y1 = n[Y1], .x2 = n[X2], .y2 = n[Y2], .is_difficult = r->is_difficult};
    strcpy(box->name, r->class_name);
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

/* A size of nothing, as some tools write where they know none, is none. */
static void take_size(const reading *r) {
    const double *n = r->number;
    if (!r->has[WIDTH] || !r->has[HEIGHT] || !(n[WIDTH] >= 1.0 && n[HEIGHT] >= 1.0) ||
        n[WIDTH] > LARGEST_SIDE || n[HEIGHT] > LARGEST_SIDE)
        return;
    r->voc->width = (int64_t)n[WIDTH];
    r->voc->height = (int64_t)n[HEIGHT];
}

/* ---- expat ---- */

static void *take_memory(size_t bytes) {
    void *block;
    return hu_alloc(bytes, &block) == HU_OK ? block : NULL;
}

static void *take_more_memory(void *block, size_t bytes) {
    return hu_realloc(&block, bytes) == HU_OK ? block : NULL;
}

/* What each byte means in an encoding of one byte a character, by the C library; -1: nothing. */
static int on_encoding(void *context, const XML_Char *name, XML_Encoding *encoding) {
    (void)context;
    iconv_t converter = iconv_open("UTF-32LE", name);
    if (converter == (iconv_t)-1) return XML_STATUS_ERROR;
    int known = 0;
    for (int i = 0; i < 256; i++) {
        char in = (char)i, *from = &in;
        uint8_t out[8];
        char *to = (char *)out;
        size_t left = 1, room = sizeof out;
        iconv(converter, NULL, NULL, NULL, NULL);
        bool is_one = iconv(converter, &from, &left, &to, &room) != (size_t)-1 && room == 4;
        encoding->map[i] = is_one ? (int)(out[0] | out[1] << 8 | out[2] << 16) : -1;
        known += is_one;
    }
    iconv_close(converter);
    encoding->data = NULL;
    encoding->convert = NULL;
    encoding->release = NULL;
    return known > 128 ? XML_STATUS_OK : XML_STATUS_ERROR; /* others have several bytes */
}

/* Why expat stopped by itself. */
static void tell_error(reading *r) {
    enum XML_Error error = XML_GetErrorCode(r->parser);
    if (r->status != HU_OK) return;
    if (error == XML_ERROR_NO_MEMORY)
        r->status = hu_fail(HU_ERR_MEMORY, "%s: no memory for its XML", r->name);
    else if (error == XML_ERROR_UNKNOWN_ENCODING)
        fail(r, "found an encoding that is not known, expected UTF-8, UTF-16 or one of a byte a "
                "character");
    else
        fail(r, XML_ErrorString(error));
}

hu_status hu_voc_read(const char *name, const uint8_t *data, size_t bytes, hu_voc *voc) {
    static const XML_Memory_Handling_Suite memory = {take_memory, take_more_memory, hu_free};
    reading r = {.name = name, .voc = voc, .parser = XML_ParserCreate_MM(NULL, &memory, NULL)};
    *voc = (hu_voc){0};
    if (!r.parser) return hu_fail(HU_ERR_MEMORY, "%s: no memory for an XML parser", name);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetUnknownEncodingHandler(r.parser, on_encoding, NULL);
    bool is_read = bytes <= INT_MAX && XML_Parse(r.parser, (const char *)data, (int)bytes, 1);
    if (is_read)
        take_size(&r);
    else
        tell_error(&r);
    XML_ParserFree(r.parser);
    if (r.status == HU_OK) return HU_OK;
    hu_free(voc->box);
    *voc = (hu_voc){0};
    return r.status;
}

/* ---- boxes in a picture ---- */

/* What lies inside of 0..size; whether that is anything, with an area in float32 wherever it may be
 * moved to. */
static bool cut_side(double size, double *low, double *high, bool *is_cut) {
    const double least = 1e-6;
    double from = fmax(*low, 0.0), to = fmin(*high, size);
    *is_cut = *is_cut || from != *low || to != *high;
    *low = from;
    *high = to;
    return to - from >= least * size;
}

void hu_voc_fit(hu_voc *voc, int64_t width, int64_t height, hu_boxes_told *told) {
    size_t kept = 0;
    for (size_t i = 0; i < voc->count; i++) {
        hu_voc_box box = voc->box[i];
        bool is_cut = false, is_turned = box.x1 > box.x2 || box.y1 > box.y2;
        bool has_width = cut_side((double)width, &box.x1, &box.x2, &is_cut);
        bool has_height = cut_side((double)height, &box.y1, &box.y2, &is_cut);
        bool is_present = has_width && has_height && !is_turned;
        told->boxes++;
        told->turned += is_turned;
        told->empty += !is_present && !is_turned;
        told->cut += is_present && is_cut;
        if (is_present) voc->box[kept++] = box;
    }
    voc->count = kept;
}

/* After the last slash of either kind, up to the last point. */
static size_t stem(const char **name) {
    for (const char *c = *name; *c; c++)
        if (*c == '/' || *c == '\\') *name = c + 1;
    const char *point = strrchr(*name, '.');
    return point ? (size_t)(point - *name) : strlen(*name);
}

bool hu_voc_is_of(const hu_voc *voc, const char *name) {
    const char *said = voc->file, *slash = strrchr(name, '/');
    size_t length = stem(&said);
    if (slash) name = slash + 1;
    return !voc->file[0] || strcmp(said, name) == 0 ||
           (strlen(name) == length && memcmp(said, name, length) == 0);
}
