#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "op/attributes.h"

/* Attributes of operations as texts: "out=64 kernel=3x3 pad=1 bias=off". */

/* Room for a name, for a number and for the nearest names. */
enum { ATTRIBUTES_MOST = 32, NAME_MOST = 31, NUMBER_BYTES = 40, NEAREST_BYTES = 128 };

/* The place of an attribute in the op's struct. */
static void *member(const hu_attribute *attribute, void *attrs) {
    return (char *)attrs + attribute->offset;
}

static const void *member_of(const hu_attribute *attribute, const void *attrs) {
    return (const char *)attrs + attribute->offset;
}

static bool is_end(const hu_attribute *attribute) {
    return attribute->kind == HU_ATTRIBUTE_END;
}

/* True for kinds that a number says, so that they have a preset. */
static bool is_number(const hu_attribute *attribute) {
    return attribute->kind != HU_ATTRIBUTE_SHAPE && attribute->kind != HU_ATTRIBUTE_AXES &&
           attribute->kind != HU_ATTRIBUTE_INIT && attribute->kind != HU_ATTRIBUTE_ANCHORS;
}

/* ---- Reading ---- */

/* A preset, converted to the attribute's type. */
static void put_number(const hu_attribute *attribute, double value, void *attrs) {
    int64_t *whole = member(attribute, attrs);
    if (attribute->kind == HU_ATTRIBUTE_REAL)
        *(float *)member(attribute, attrs) = (float)value;
    else if (attribute->kind == HU_ATTRIBUTE_DOUBLE)
        *(double *)member(attribute, attrs) = value;
    else if (attribute->kind == HU_ATTRIBUTE_FLAG)
        *(bool *)member(attribute, attrs) = value != 0.0;
    else
        whole[0] = (int64_t)value;
    if (attribute->kind == HU_ATTRIBUTE_PAIR) whole[1] = (int64_t)value;
}

static void put_presets(const hu_attribute *list, void *attrs) {
    for (const hu_attribute *a = list; a && !is_end(a); a++)
        if (is_number(a) && !isnan(a->preset)) put_number(a, a->preset, attrs);
}

/* What a value of this kind looks like. */
static const char *const forms[] = {
    [HU_ATTRIBUTE_WHOLE] = "a whole number",
    [HU_ATTRIBUTE_PAIR] = "a whole number, or two as 3x5",
    [HU_ATTRIBUTE_REAL] = "a number",
    [HU_ATTRIBUTE_DOUBLE] = "a number",
    [HU_ATTRIBUTE_FLAG] = "on or off",
    [HU_ATTRIBUTE_SHAPE] = "extents as 7x7x16",
    [HU_ATTRIBUTE_AXES] = "whole numbers as 0,1",
    [HU_ATTRIBUTE_INIT] = "constant:0, normal:0.02, uniform:0.1 or share:1",
    [HU_ATTRIBUTE_ANCHORS] = "maps as HEIGHTxWIDTH@STEPYxSTEPX:HxW,HxW/...",
};

const char *hu_attribute_form(hu_attribute_kind kind) {
    return kind == HU_ATTRIBUTE_END ? "" : forms[kind];
}

static hu_status expected(const hu_attribute *attribute, const char *value) {
    return hu_fail(HU_ERR_PARSE, "%s: found '%.60s', expected %s", attribute->name, value,
                   forms[attribute->kind]);
}

/* Digits up to `end`, which must be after them. False: something else stands there. */
static bool read_whole(const char **text, char end, int64_t *value) {
    char *stop;
    errno = 0;
    *value = strtoll(*text, &stop, 10);
    bool is_whole = stop != *text && errno == 0 && *stop == end;
    *text = stop + (*stop != '\0');
    return is_whole;
}

/* A finite number up to one of the characters `ends`, or to the end of the text. */
static bool read_double(const char **text, const char *ends, double *value) {
    char *stop;
    *value = strtod(*text, &stop);
    bool is_real = stop != *text && isfinite(*value) && (!*stop || strchr(ends, *stop));
    *text = stop;
    return is_real;
}

static hu_status read_flag(const hu_attribute *attribute, const char *value, void *attrs) {
    bool is_on = strcmp(value, "on") == 0;
    if (!is_on && strcmp(value, "off") != 0) return expected(attribute, value);
    put_number(attribute, is_on, attrs);
    return HU_OK;
}

static hu_status read_real(const hu_attribute *attribute, const char *value, void *attrs) {
    const char *at = value;
    double real;
    if (!read_double(&at, "", &real) || *at) return expected(attribute, value);
    put_number(attribute, real, attrs);
    return HU_OK;
}

/* Extents with an x between; at most HU_MAX_RANK. */
static hu_status read_shape(const hu_attribute *attribute, const char *value, void *attrs) {
    hu_shape *shape = member(attribute, attrs);
    const char *at = value;
    for (bool is_last = false; !is_last; shape->rank++) {
        is_last = !strchr(at, 'x');
        if (shape->rank == HU_MAX_RANK ||
            !read_whole(&at, is_last ? '\0' : 'x', &shape->extent[shape->rank]))
            return expected(attribute, value);
    }
    return HU_OK;
}

/* Whole numbers with commas between; at most HU_MAX_RANK. */
static hu_status read_axes(const hu_attribute *attribute, const char *value, void *attrs) {
    hu_axes *axes = member(attribute, attrs);
    const char *at = value;
    for (bool is_last = false; !is_last; axes->count++) {
        is_last = !strchr(at, ',');
        if (axes->count == HU_MAX_RANK ||
            !read_whole(&at, is_last ? '\0' : ',', &axes->at[axes->count]))
            return expected(attribute, value);
    }
    return HU_OK;
}

static const char *const laws[] = {[HU_INIT_CONSTANT] = "constant",
                                   [HU_INIT_NORMAL] = "normal",
                                   [HU_INIT_UNIFORM] = "uniform",
                                   [HU_INIT_SHARE] = "share"};
enum { LAWS = sizeof laws / sizeof *laws };

/* LAW:NUMBER */
static hu_status read_init(const hu_attribute *attribute, const char *value, void *attrs) {
    hu_init *init = member(attribute, attrs);
    const char *colon = strchr(value, ':'), *at = colon ? colon + 1 : value;
    double scale = 0.0;
    for (int i = 0; colon && i < LAWS; i++) {
        size_t length = strlen(laws[i]);
        if ((size_t)(colon - value) != length || memcmp(value, laws[i], length) != 0) continue;
        if (!read_double(&at, "", &scale) || *at) break;
        *init = (hu_init){(hu_init_kind)i, (float)scale};
        return HU_OK;
    }
    return expected(attribute, value);
}

/* HxW pairs with commas between, up to a slash or the end. */
static bool read_anchor_shapes(const char **at, hu_anchor_map *map) {
    for (;;) {
        if (map->shapes == HU_ANCHOR_SHAPES_MAX) return false;
        double *h = &map->h[map->shapes], *w = &map->w[map->shapes];
        if (!read_double(at, "x", h) || *(*at)++ != 'x' || !read_double(at, ",/", w)) return false;
        map->shapes++;
        if (**at != ',') return true;
        ++*at;
    }
}

/* One map: HEIGHTxWIDTH@STEPYxSTEPX:SHAPES */
static bool read_anchor_map(const char **at, hu_anchor_map *map) {
    return read_whole(at, 'x', &map->height) && read_whole(at, '@', &map->width) &&
           read_double(at, "x", &map->step_y) && *(*at)++ == 'x' &&
           read_double(at, ":", &map->step_x) && *(*at)++ == ':' && read_anchor_shapes(at, map);
}

static hu_status read_anchors(const hu_attribute *attribute, const char *value, void *attrs) {
    hu_anchors *anchors = member(attribute, attrs);
    const char *at = value;
    anchors->maps = 0;
    for (;;) {
        if (anchors->maps == HU_ANCHOR_MAPS_MAX) return expected(attribute, value);
        hu_anchor_map *map = &anchors->map[anchors->maps++];
        *map = (hu_anchor_map){0};
        if (!read_anchor_map(&at, map)) return expected(attribute, value);
        if (!*at) return HU_OK;
        at++; /* the slash */
    }
}

static hu_status read_wholes(const hu_attribute *attribute, const char *value, void *attrs) {
    int64_t *whole = member(attribute, attrs);
    const char *at = value;
    bool is_pair = attribute->kind == HU_ATTRIBUTE_PAIR, is_two = is_pair && strchr(value, 'x');
    if (!read_whole(&at, is_two ? 'x' : '\0', &whole[0])) return expected(attribute, value);
    if (is_two && !read_whole(&at, '\0', &whole[1])) return expected(attribute, value);
    if (is_pair && !is_two) whole[1] = whole[0];
    return HU_OK;
}

/* Every number of the value lies between the bounds. */
static hu_status check_range(const hu_attribute *attribute, const char *value, const void *attrs) {
    const int64_t *whole = member_of(attribute, attrs);
    double low, high;
    if (attribute->least == attribute->most) return HU_OK;
    if (attribute->kind == HU_ATTRIBUTE_REAL)
        low = high = (double)*(const float *)member_of(attribute, attrs);
    else if (attribute->kind == HU_ATTRIBUTE_DOUBLE)
        low = high = *(const double *)member_of(attribute, attrs);
    else
        low = high = (double)whole[0];
    if (attribute->kind == HU_ATTRIBUTE_PAIR && (double)whole[1] < low) low = (double)whole[1];
    if (attribute->kind == HU_ATTRIBUTE_PAIR && (double)whole[1] > high) high = (double)whole[1];
    if (low >= attribute->least && high <= attribute->most) return HU_OK;
    if (isinf(attribute->most))
        return hu_fail(HU_ERR_ARGUMENT, "%s: found '%.60s', expected at least %g", attribute->name,
                       value, attribute->least);
    return hu_fail(HU_ERR_ARGUMENT, "%s: found '%.60s', expected %g to %g", attribute->name, value,
                   attribute->least, attribute->most);
}

static hu_status read_value(const hu_attribute *attribute, const char *value, void *attrs) {
    static hu_status (*const readers[])(const hu_attribute *, const char *, void *) = {
        [HU_ATTRIBUTE_WHOLE] = read_wholes,    [HU_ATTRIBUTE_PAIR] = read_wholes,
        [HU_ATTRIBUTE_REAL] = read_real,       [HU_ATTRIBUTE_DOUBLE] = read_real,
        [HU_ATTRIBUTE_FLAG] = read_flag,       [HU_ATTRIBUTE_SHAPE] = read_shape,
        [HU_ATTRIBUTE_AXES] = read_axes,       [HU_ATTRIBUTE_INIT] = read_init,
        [HU_ATTRIBUTE_ANCHORS] = read_anchors,
    };
    hu_status st = readers[attribute->kind](attribute, value, attrs);
    return st == HU_OK ? check_range(attribute, value, attrs) : st;
}

/* The nearest names; an op without attributes says so. */
static hu_status unknown(const hu_attribute *list, const char *name) {
    const char *names[ATTRIBUTES_MOST];
    char nearest[NEAREST_BYTES];
    size_t count = 0;
    for (; list && !is_end(&list[count]) && count < ATTRIBUTES_MOST; count++)
        names[count] = list[count].name;
    if (count == 0)
        return hu_fail(HU_ERR_UNKNOWN, "found the attribute '%.60s', expected none", name);
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown attribute '%.60s', nearest: %s", name, nearest);
}

/* One word NAME=VALUE, which is taken apart; given: bit i is set where attribute i was met. */
static hu_status read_word(const hu_attribute *list, char *word, void *attrs, unsigned *given) {
    char *value = strchr(word, '=');
    if (!value) return hu_fail(HU_ERR_PARSE, "found '%.60s', expected NAME=VALUE", word);
    *value++ = '\0';
    if (strlen(word) > NAME_MOST)
        return hu_fail(HU_ERR_PARSE, "'%.20s...' has more than %d characters", word, NAME_MOST);
    for (int i = 0; list && !is_end(&list[i]); i++) {
        if (strcmp(list[i].name, word) != 0) continue;
        if (*given >> i & 1u) return hu_fail(HU_ERR_ARGUMENT, "%s is given twice", word);
        *given |= 1u << i;
        return read_value(&list[i], value, attrs);
    }
    return unknown(list, word);
}

static hu_status read_words(const hu_attribute *list, char *text, void *attrs, unsigned *given) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        hu_status st = read_word(list, word, attrs, given);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

static hu_status read_all(const hu_attribute *list, const char *text, void *attrs,
                          unsigned *given) {
    hu_status st = HU_OK;
    char *words = NULL;
    *given = 0;
    put_presets(list, attrs);
    HU_TRY(hu_strdup(text, &words));
    HU_TRY(read_words(list, words, attrs, given));
    for (int i = 0; list && !is_end(&list[i]); i++)
        if (isnan(list[i].preset) && !(*given >> i & 1u))
            HU_TRY(hu_fail(HU_ERR_ARGUMENT, "%s is missing", list[i].name));
done:
    hu_free(words);
    return st;
}

hu_status hu_attributes_read(const hu_attribute *list, const char *text, void *attrs) {
    unsigned given;
    return read_all(list, text, attrs, &given);
}

/* What the shapes decide, but for initial laws that the text gives. */
static void take_usual(const hu_op *op, const hu_shape *in, unsigned given, void *attrs) {
    hu_init told[ATTRIBUTES_MOST];
    const hu_attribute *list = op->attributes;
    if (!op->usual || !in) return;
    for (int i = 0; list && !is_end(&list[i]); i++)
        if (list[i].kind == HU_ATTRIBUTE_INIT) told[i] = *(hu_init *)member(&list[i], attrs);
    op->usual(attrs, in);
    for (int i = 0; list && !is_end(&list[i]); i++)
        if (list[i].kind == HU_ATTRIBUTE_INIT && given >> i & 1u)
            *(hu_init *)member(&list[i], attrs) = told[i];
}

hu_status hu_op_read_attributes(const hu_op *op, const char *text, const hu_shape *in,
                                void *attrs) {
    unsigned given;
    hu_status st = read_all(op->attributes, text, attrs, &given);
    if (st == HU_OK) take_usual(op, in, given, attrs);
    return st;
}

/* ---- Writing ---- */

static hu_status write_shape(const hu_shape *shape, hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (int i = 0; st == HU_OK && i < shape->rank; i++)
        st = hu_write_format(out, "%s%lld", i ? "x" : "", (long long)shape->extent[i]);
    return st;
}

static hu_status write_axes(const hu_axes *axes, hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (int i = 0; st == HU_OK && i < axes->count; i++)
        st = hu_write_format(out, "%s%lld", i ? "," : "", (long long)axes->at[i]);
    return st;
}

/* Enough digits that reading gives the same double. */
static hu_status write_anchors(const hu_anchors *anchors, hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (int64_t m = 0; m < anchors->maps; m++) {
        const hu_anchor_map *map = &anchors->map[m];
        HU_TRY(hu_write_format(out, "%s%lldx%lld@%.17gx%.17g:", m ? "/" : "",
                               (long long)map->height, (long long)map->width, map->step_y,
                               map->step_x));
        for (int64_t i = 0; i < map->shapes; i++)
            HU_TRY(hu_write_format(out, "%s%.17gx%.17g", i ? "," : "", map->h[i], map->w[i]));
    }
done:
    return st;
}

/* The shortest decimal that reads back as the same float. */
static void print_float(float value, char text[NUMBER_BYTES]) {
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) return;
    }
}

static hu_status write_value(const hu_attribute *attribute, const void *attrs,
                             hu_byte_writer *out) {
    const void *at = member_of(attribute, attrs);
    const int64_t *whole = at;
    const hu_init *init = at;
    char number[NUMBER_BYTES];
    switch (attribute->kind) {
    case HU_ATTRIBUTE_WHOLE:
        return hu_write_format(out, "%lld", (long long)whole[0]);
    case HU_ATTRIBUTE_PAIR:
        if (whole[0] == whole[1]) return hu_write_format(out, "%lld", (long long)whole[0]);
        return hu_write_format(out, "%lldx%lld", (long long)whole[0], (long long)whole[1]);
    case HU_ATTRIBUTE_REAL:
        print_float(*(const float *)at, number);
        return hu_write_format(out, "%s", number);
    case HU_ATTRIBUTE_DOUBLE:
        return hu_write_format(out, "%.17g", *(const double *)at);
    case HU_ATTRIBUTE_FLAG:
        return hu_write_format(out, "%s", *(const bool *)at ? "on" : "off");
    case HU_ATTRIBUTE_SHAPE:
        return write_shape(at, out);
    case HU_ATTRIBUTE_AXES:
        return write_axes(at, out);
    case HU_ATTRIBUTE_INIT:
        print_float(init->scale, number);
        return hu_write_format(out, "%s:%s", laws[init->kind], number);
    case HU_ATTRIBUTE_ANCHORS:
        return write_anchors(at, out);
    case HU_ATTRIBUTE_END:
        break;
    }
    return HU_OK;
}

/* True where a text that leaves the attribute out reads as the same value. usual: what it reads as.
 */
static bool is_usual(const hu_attribute *attribute, const void *attrs, const void *usual) {
    const int64_t *a = member_of(attribute, attrs), *b = member_of(attribute, usual);
    const hu_init *init = (const void *)a, *other = (const void *)b;
    const hu_shape *shape = (const void *)a;
    const hu_axes *axes = (const void *)a;
    if (isnan(attribute->preset)) return false;
    switch (attribute->kind) {
    case HU_ATTRIBUTE_WHOLE:
        return a[0] == b[0];
    case HU_ATTRIBUTE_PAIR:
        return a[0] == b[0] && a[1] == b[1];
    case HU_ATTRIBUTE_REAL:
        return *(const float *)(const void *)a == *(const float *)(const void *)b;
    case HU_ATTRIBUTE_DOUBLE:
        return *(const double *)(const void *)a == *(const double *)(const void *)b;
    case HU_ATTRIBUTE_FLAG:
        return *(const bool *)(const void *)a == *(const bool *)(const void *)b;
    case HU_ATTRIBUTE_SHAPE:
        return shape->rank == 0;
    case HU_ATTRIBUTE_AXES:
        return axes->count == 0;
    case HU_ATTRIBUTE_INIT:
        return init->kind == other->kind && init->scale == other->scale;
    default:
        return false;
    }
}

static bool is_written(const hu_attribute *attribute, bool laws_too) {
    return laws_too || attribute->kind != HU_ATTRIBUTE_INIT;
}

/* Adds " NAME=VALUE" for what differs from `usual`. */
static hu_status write_some(const hu_op *op, const void *attrs, const void *usual, bool laws_too,
                            hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (const hu_attribute *a = op->attributes; a && !is_end(a); a++) {
        if (!is_written(a, laws_too) || is_usual(a, attrs, usual)) continue;
        HU_TRY(hu_write_format(out, "%s%s=", out->size ? " " : "", a->name));
        HU_TRY(write_value(a, attrs, out));
    }
done:
    return st;
}

hu_status hu_op_write_attributes(const hu_op *op, const void *attrs, const hu_shape *in,
                                 char **text) {
    hu_status st = HU_OK;
    hu_byte_writer geometry = {0}, all = {0};
    void *presets = NULL, *usual = NULL;
    *text = NULL;
    HU_TRY(hu_alloc(op->attrs_bytes + 1, &presets));
    HU_TRY(hu_alloc(op->attrs_bytes + 1, &usual));
    if (!attrs) attrs = presets; /* all zero, as operations read attributes that are not given */
    put_presets(op->attributes, usual);
    HU_TRY(write_some(op, attrs, usual, false, &geometry));
    /* What laws are usual follows from the rest. */
    memset(usual, 0, op->attrs_bytes);
    HU_TRY(hu_write_u8(&geometry, 0));
    HU_TRY(hu_op_read_attributes(op, (const char *)geometry.data, in, usual));
    put_presets(op->attributes, usual);
    HU_TRY(write_some(op, attrs, usual, true, &all));
    HU_TRY(hu_write_u8(&all, 0));
    *text = (char *)all.data;
    all.data = NULL;
done:
    hu_free(geometry.data);
    hu_free(all.data);
    hu_free(presets);
    hu_free(usual);
    return st;
}
