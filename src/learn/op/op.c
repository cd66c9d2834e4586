#include "op/op.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* ---- attribute ---- */

/* Attributes of operations as texts: "out=64 kernel=3x3 pad=1 bias=off". */

enum { ATTRIBUTES_MOST = 16, WORD_MOST = 63, NEAREST_BYTES = 128 };

/* The place of an attribute in the op's struct. */
static void *member(const hu_attribute *attribute, void *attrs) {
    return (char *)attrs + attribute->offset;
}

/* A preset, converted to the attribute's type. */
static void put_number(const hu_attribute *attribute, double value, void *attrs) {
    int64_t *whole = member(attribute, attrs);
    if (attribute->kind == HU_ATTRIBUTE_REAL)
        *(float *)member(attribute, attrs) = (float)value;
    else if (attribute->kind == HU_ATTRIBUTE_FLAG)
        *(bool *)member(attribute, attrs) = value != 0.0;
    else
        whole[0] = (int64_t)value;
    if (attribute->kind == HU_ATTRIBUTE_PAIR) whole[1] = (int64_t)value;
}

/* What a value of this kind looks like. */
static hu_status expected(const hu_attribute *attribute, const char *value) {
    static const char *const texts[] = {[HU_ATTRIBUTE_WHOLE] = "a whole number",
                                        [HU_ATTRIBUTE_PAIR] = "a whole number, or two as 3x5",
                                        [HU_ATTRIBUTE_REAL] = "a number",
                                        [HU_ATTRIBUTE_FLAG] = "on or off",
                                        [HU_ATTRIBUTE_SHAPE] = "extents as 7x7x16"};
    return hu_fail(HU_ERR_PARSE, "%s: found '%.60s', expected %s", attribute->name, value,
                   texts[attribute->kind]);
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

static hu_status read_flag(const hu_attribute *attribute, const char *value, void *attrs) {
    bool is_on = strcmp(value, "on") == 0;
    if (!is_on && strcmp(value, "off") != 0) return expected(attribute, value);
    put_number(attribute, is_on, attrs);
    return HU_OK;
}

static hu_status read_real(const hu_attribute *attribute, const char *value, void *attrs) {
    char *end;
    double real = strtod(value, &end);
    if (end == value || *end || !isfinite(real)) return expected(attribute, value);
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

static hu_status read_value(const hu_attribute *attribute, const char *value, void *attrs) {
    int64_t *whole = member(attribute, attrs);
    const char *at = value;
    if (attribute->kind == HU_ATTRIBUTE_FLAG) return read_flag(attribute, value, attrs);
    if (attribute->kind == HU_ATTRIBUTE_SHAPE) return read_shape(attribute, value, attrs);
    if (attribute->kind == HU_ATTRIBUTE_REAL) return read_real(attribute, value, attrs);
    bool is_pair = attribute->kind == HU_ATTRIBUTE_PAIR, is_two = is_pair && strchr(value, 'x');
    if (!read_whole(&at, is_two ? 'x' : '\0', &whole[0])) return expected(attribute, value);
    if (is_two && !read_whole(&at, '\0', &whole[1])) return expected(attribute, value);
    if (is_pair && !is_two) whole[1] = whole[0];
    return HU_OK;
}

/* The nearest names; an op without attributes says so. */
static hu_status unknown(const hu_attribute *list, const char *name) {
    const char *names[ATTRIBUTES_MOST];
    char nearest[NEAREST_BYTES];
    size_t count = 0;
    for (; list && list[count].kind != HU_ATTRIBUTE_END && count < ATTRIBUTES_MOST; count++)
        names[count] = list[count].name;
    if (count == 0)
        return hu_fail(HU_ERR_UNKNOWN, "found the attribute '%.60s', expected none", name);
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown attribute '%.60s', nearest: %s", name, nearest);
}

/* One word NAME=VALUE; given: bit i is set where attribute i was met. */
static hu_status read_word(const hu_attribute *list, const char *word, size_t length, void *attrs,
                           unsigned *given) {
    char name[WORD_MOST + 1];
    if (length > WORD_MOST)
        return hu_fail(HU_ERR_PARSE, "'%.20s...' has more than %d characters", word, WORD_MOST);
    memcpy(name, word, length);
    name[length] = '\0';
    char *value = strchr(name, '=');
    if (!value) return hu_fail(HU_ERR_PARSE, "found '%s', expected NAME=VALUE", name);
    *value++ = '\0';
    for (int i = 0; list && list[i].kind != HU_ATTRIBUTE_END; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        if (*given >> i & 1u) return hu_fail(HU_ERR_ARGUMENT, "%s is given twice", name);
        *given |= 1u << i;
        return read_value(&list[i], value, attrs);
    }
    return unknown(list, name);
}

hu_status hu_attributes_read(const hu_attribute *list, const char *text, void *attrs) {
    hu_status st = HU_OK;
    unsigned given = 0;
    for (int i = 0; list && list[i].kind != HU_ATTRIBUTE_END; i++)
        if (!isnan(list[i].preset)) put_number(&list[i], list[i].preset, attrs);
    /* Words, in any order; each attribute at most once. */
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        HU_TRY(read_word(list, text, length, attrs, &given));
        text += length;
    }
    for (int i = 0; list && list[i].kind != HU_ATTRIBUTE_END; i++)
        if (isnan(list[i].preset) && !(given >> i & 1u))
            return hu_fail(HU_ERR_ARGUMENT, "%s is missing", list[i].name);
done:
    return st;
}

/* ---- table ---- */

#define HU_OP_ADDRESS(identifier) &hu_op_##identifier,
const hu_op *const hu_op_table[] = {HU_OP_LIST(HU_OP_ADDRESS)};
#undef HU_OP_ADDRESS

const int hu_op_count = (int)(sizeof hu_op_table / sizeof hu_op_table[0]);

const hu_op *hu_op_find(const char *name) {
    for (int i = 0; i < hu_op_count; i++)
        if (strcmp(hu_op_table[i]->name, name) == 0) return hu_op_table[i];
    return NULL;
}

/* ---- expect ---- */

/* Checks of input shapes that several operations share; op is the name for messages.
 */

enum { SHAPE_TEXT = 176 };

hu_status hu_expect_same(const char *op, int n_in, const hu_shape *in) {
    char found[SHAPE_TEXT], expected[SHAPE_TEXT];
    for (int i = 1; i < n_in; i++) {
        if (hu_shape_equal(&in[0], &in[i])) continue;
        hu_shape_print(&in[0], expected, sizeof expected);
        hu_shape_print(&in[i], found, sizeof found);
        return hu_fail(HU_ERR_SHAPE, "%s: input %d is %s, expected %s like input 0", op, i, found,
                       expected);
    }
    return HU_OK;
}

static hu_status wrong_rank(const char *op, const hu_shape *in, const char *how, int rank) {
    char found[SHAPE_TEXT];
    hu_shape_print(in, found, sizeof found);
    return hu_fail(HU_ERR_SHAPE, "%s: the input is %s, expected %s%d extents", op, found, how,
                   rank);
}

hu_status hu_expect_rank_least(const char *op, const hu_shape *in, int rank) {
    return in->rank >= rank ? HU_OK : wrong_rank(op, in, "at least ", rank);
}

hu_status hu_expect_rank(const char *op, const hu_shape *in, int rank) {
    return in->rank == rank ? HU_OK : wrong_rank(op, in, "", rank);
}
