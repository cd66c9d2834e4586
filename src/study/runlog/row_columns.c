#include "runlog/row_columns.h"

#include <inttypes.h>

/* clang-format off */
#define COLUMN(record, kind, name) {#name, HU_ROW_##kind, offsetof(record, name)}
#define COLUMN_NAMED(text, record, kind, name) {text, HU_ROW_##kind, offsetof(record, name)}
#define TENSOR(kind, name) COLUMN(hu_tensor_record, kind, name)
#define COUNTED(kind, name) COLUMN_NAMED(#name, hu_tensor_record, kind, counts.name)
#define PRODUCT(kind, name) COLUMN(hu_product_record, kind, name)
#define UPDATE(kind, name) COLUMN(hu_update_record, kind, name)
#define EVENT(kind, name) COLUMN(hu_event_row, kind, name)
#define HELD(kind, name) COLUMN(hu_held_row, kind, name)
#define PROMOTED(text, kind, name) COLUMN_NAMED(text, hu_promotion_record, kind, name)
#define BITS(kind, name) COLUMN(hu_bits_change, kind, name)

const hu_row hu_row_tensors = {"tensors", "tensor", 13, 0, {
    TENSOR(TENSOR, tensor), TENSOR(FORMAT, format), COUNTED(COUNT, elements),
    COUNTED(COUNT, overflow), COUNTED(COUNT, underflow), COUNTED(COUNT, subnormal),
    COUNTED(COUNT, zero), COUNTED(COUNT, nan), COUNTED(EXPONENT, max_exponent),
    COUNTED(EXPONENT, min_exponent), TENSOR(REAL, most_overflow), TENSOR(REAL, most_underflow),
    TENSOR(REAL, most_subnormal)}};

/* Older versions did not count terms that changed nothing. */
const hu_row hu_row_products = {"products", "product", 7, 5, {
    PRODUCT(PRODUCT, product), PRODUCT(FORMAT, accumulator), PRODUCT(COUNT, values),
    PRODUCT(COUNT, subnormal), PRODUCT(COUNT, overflow), PRODUCT(COUNT, terms),
    PRODUCT(COUNT, stalled)}};

const hu_row hu_row_updates = {"updates", "update", 4, 0, {
    COLUMN_NAMED("parameter", hu_update_record, TENSOR, tensor), UPDATE(COUNT, asked),
    UPDATE(COUNT, lost), UPDATE(COUNT, small)}};

const hu_row hu_row_events = {"events", "event", 5, 0, {
    EVENT(TENSOR, tensor), EVENT(TEXT, kind), EVENT(FORMAT, format), EVENT(COUNT, count),
    EVENT(COUNT, elements)}};

const hu_row hu_row_held = {"held", "held", 6, 0, {
    HELD(TENSOR, tensor), HELD(TEXT, kind), HELD(WHOLE, steps), HELD(WHOLE, last),
    HELD(COUNT, count), HELD(COUNT, of)}};

const hu_row hu_row_promoted = {"promoted", "promotion", 4, 0, {
    PROMOTED("tensor", TENSOR, tensor), PROMOTED("format", FORMAT, from),
    PROMOTED("format", FORMAT, to), PROMOTED("overflow_share", REAL, overflow_share)}};

const hu_row hu_row_bits = {"bits", "layer", 3, 0, {
    BITS(LAYER, layer), BITS(BITS, forward), BITS(BITS, gradient)}};
/* clang-format on */

static void write_exponent(hu_append *file, int32_t exponent) {
    if (exponent == HU_NO_EXPONENT)
        hu_append_text(file, "null");
    else
        hu_append_format(file, "%d", exponent);
}

static void write_cell(hu_append *file, hu_row_kind kind, const void *member) {
    switch (kind) {
    case HU_ROW_TEXT:
        hu_append_format(file, "\"%s\"", *(const char *const *)member);
        break;
    case HU_ROW_COUNT:
        hu_append_format(file, "%" PRIu64, *(const uint64_t *)member);
        break;
    case HU_ROW_WHOLE:
        hu_append_format(file, "%" PRId64, *(const int64_t *)member);
        break;
    case HU_ROW_REAL:
        hu_append_format(file, "%.9g", *(const double *)member);
        break;
    case HU_ROW_EXPONENT:
        write_exponent(file, *(const int32_t *)member);
        break;
    default:
        hu_append_format(file, "%d", *(const int *)member);
    }
}

void hu_row_write(hu_append *file, const char *before, const hu_row *row, const char *const *names,
                  const void *record) {
    hu_append_format(file, "%s[", before);
    for (size_t c = 0; c < row->columns; c++) {
        const hu_row_column *column = &row->column[c];
        if (c > 0) hu_append_text(file, ", ");
        if (column->kind < HU_ROW_NAMES)
            hu_append_format(file, "\"%s\"", *names++);
        else
            write_cell(file, column->kind, (const char *)record + column->offset);
    }
    hu_append_text(file, "]");
}
