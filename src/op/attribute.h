/* op/attribute.h - attributes of operations as texts: "out=64 kernel=3x3 pad=1 bias=off". */
#ifndef HU_OP_ATTRIBUTE_H
#define HU_OP_ATTRIBUTE_H
#include <stddef.h>

#include <halfulp/status.h>

typedef enum hu_attribute_kind {
    HU_ATTRIBUTE_END,   /* ends a list */
    HU_ATTRIBUTE_WHOLE, /* int64_t */
    HU_ATTRIBUTE_PAIR, /* two int64_t, one behind the other: "3x5" is height 3, width 5; "3" both */
    HU_ATTRIBUTE_REAL, /* float */
    HU_ATTRIBUTE_FLAG, /* bool: on, off */
    HU_ATTRIBUTE_SHAPE /* hu_shape: "7x7x16"; must be given */
} hu_attribute_kind;

typedef struct hu_attribute {
    hu_attribute_kind kind;
    const char *name;
    size_t offset; /* in the op's attribute struct */
    double preset; /* NaN: must be given */
} hu_attribute;

/* Reads a text into an attribute struct that is all zero: presets first, then what the text says,
 * words separated by blanks. list NULL: there are none. HU_ERR_UNKNOWN names the nearest
 * attributes, HU_ERR_ARGUMENT the one that is missing, HU_ERR_PARSE the value and what was
 * expected. Proof: tests/unit/op_attribute_test.c. */
hu_status hu_attributes_read(const hu_attribute *list, const char *text, void *attrs);

#endif
