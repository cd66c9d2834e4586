/* runlog/row_columns.h - the columns of the rows in numerics.jsonl and bits.jsonl: one list for who
 * writes a row and for who reads it back (docs/reference/run-histories.md). */
#ifndef HU_RUNLOG_ROW_COLUMNS_H
#define HU_RUNLOG_ROW_COLUMNS_H
#include "base/text_file.h"
#include "runlog/records.h"

/* What a column holds, and the type of its member in the record. */
typedef enum hu_row_kind {
    HU_ROW_TENSOR,             /* a name: uint32_t, its number in hu_history.tensors */
    HU_ROW_FORMAT,             /* the same in hu_history.formats */
    HU_ROW_PRODUCT,            /* in hu_history.products */
    HU_ROW_LAYER,              /* in hu_history.layers */
    HU_ROW_TEXT,               /* const char *, borrowed */
    HU_ROW_COUNT,              /* uint64_t */
    HU_ROW_WHOLE,              /* int64_t */
    HU_ROW_REAL,               /* double, in nine digits */
    HU_ROW_EXPONENT,           /* int32_t, null of HU_NO_EXPONENT */
    HU_ROW_BITS,               /* int */
    HU_ROW_NAMES = HU_ROW_TEXT /* kinds of names come first */
} hu_row_kind;

typedef struct hu_row_column {
    const char *name; /* in messages and in the description of the folder */
    hu_row_kind kind;
    size_t offset; /* in the record */
} hu_row_column;

enum { HU_ROW_COLUMNS_MOST = 13 };

/* The rows of one list of a line. */
typedef struct hu_row {
    const char *list, *what;      /* key of the list; what one of its rows is, in messages */
    size_t columns, columns_once; /* columns_once: those of older versions, which lacked the last
                                     ones; 0: all versions have the same */
    hu_row_column column[HU_ROW_COLUMNS_MOST];
} hu_row;

/* A row of "events", and one of "held". */
typedef struct hu_event_row {
    uint32_t tensor, format;
    const char *kind;
    uint64_t count, elements;
} hu_event_row;

typedef struct hu_held_row {
    uint32_t tensor;
    const char *kind;
    int64_t steps, last;
    uint64_t count, of;
} hu_held_row;

/* Of hu_tensor_record, hu_product_record, hu_update_record, hu_event_row, hu_held_row,
 * hu_promotion_record, hu_bits_change. */
extern const hu_row hu_row_tensors, hu_row_products, hu_row_updates, hu_row_events, hu_row_held,
    hu_row_promoted, hu_row_bits;

/* Writes "[...]" of a record, after `before`. names: those of its columns of names, in their
 * order. */
void hu_row_write(hu_append *file, const char *before, const hu_row *row, const char *const *names,
                  const void *record);

#endif
