/* format/table/table.h - formats by table: a code for each number, the numbers in order, and a
 * boundary between neighbours.
 *
 * Tables live in a register of the process that only grows: equal names and contents have one
 * number, by which a hu_format holds its table. Immutable, but for the steps of a rounding mode,
 * which are made when the mode is first asked for. Thread-safe.
 */
#ifndef HU_FORMAT_TABLE_H
#define HU_FORMAT_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

#include "base/text.h"

enum { HU_CODES_LEAST = 2, HU_CODES_MOST = 65536 };

/* Binades of float32, one below its least number and one above its largest: what lies farther out
 * has the gaps of these. */
enum { HU_BINADE_LEAST = -150, HU_BINADE_MOST = 128, HU_BINADES = 128 + 150 + 1 };

/* What becomes of a number on the boundary under rounding to nearest. */
typedef enum hu_code_ties {
    HU_TIES_EVEN, /* the neighbour whose code is even; if both or none are, the one nearer to 0 */
    HU_TIES_AWAY, /* the one farther from 0 */
    HU_TIES_LOWER /* the lower one */
} hu_code_ties;

/* Between two neighbours: at + rest, where rest is far below the last place of at. */
typedef struct hu_code_boundary {
    double at, rest;
} hu_code_boundary;

typedef struct hu_code_steps hu_code_steps;

/* Numbers are those without a scale: a format has 2^-bias times them. */
typedef struct hu_code_table {
    char *name;          /* reads back as this table */
    const char *summary; /* one line. Borrowed */
    uint64_t content;    /* hash of the file; 0 where the name says all */
    char *source;        /* [source_bytes], the file; NULL: none */
    size_t source_bytes;
    uint32_t codes, bits; /* codes 0..codes-1; bits of one */
    float *decoded;       /* [2^bits], the nearest float32 of what is none; 0 behind the last */
    uint32_t count;       /* numbers that rounding may give */
    float *number;        /* [count], ascending */
    uint32_t *code;       /* [count], of each */
    hu_code_boundary *boundary; /* [count + 1]; i between numbers i - 1 and i; 0 and count: of
                                   what is beyond */
    double next[2];          /* where the number below the least and above the largest would be */
    uint32_t first_positive; /* numbers below it are negative or 0 */
    bool has_zero;
    int32_t nan_code, infinity_code[2]; /* of +, -; -1: none */
    hu_code_ties ties;
    double min_normal;             /* smaller magnitudes count as subnormal */
    bool is_p3109;                 /* overflow has P3109's words, ":sat="; to odd, its grid goes on
                                      beyond the ends */
    bool infinity_is_nan;          /* also where overflows saturate (posit's NaR) */
    hu_overflow overflow;          /* unless a format says another */
    double gap[HU_BINADES];        /* by positive binade, of the gaps in which its numbers lie the
                                      root of the mean square */
    int32_t least_bias, most_bias; /* with which all numbers and boundaries are normal in float32 */
    hu_code_steps *_Atomic steps[HU_ROUND_COUNT];
} hu_code_table;

/* The table of a format; NULL of a float. Borrowed: valid forever. */
const hu_code_table *hu_code_table_of(const hu_format *format);

/* True if text begins as the name of a table does. */
bool hu_code_table_is_named(const char *text);

/* Tables with names of their own, for lists, as hu_format_named. A format that cannot be made is
 * zero. */
uint32_t hu_code_table_named_count(void);
const char *hu_code_table_named(uint32_t index, hu_format *format, const char **description);

/* Reads "NAME[:bias=B][:ovf=inf|sat|nan|propagate|none]" as hu_format_parse does. */
hu_status hu_code_table_parse(const char *text, hu_format *format);

/* Writes it. */
hu_status hu_code_table_print(const hu_format *format, char *text, uint32_t capacity);

/* The parts of public functions that are about tables; format has one. */
hu_status hu_code_table_check(const hu_format *format);
hu_format_limits hu_code_table_limits(const hu_format *format);
hu_status hu_code_table_encode(const hu_format *format, float x, uint32_t *code);
hu_status hu_code_table_decode(const hu_format *format, uint32_t code, float *x);

/* Bits of the float32 that a finite number gets, by exact arithmetic. *is_beyond (NULL: not asked):
 * whether it overflowed. */
uint32_t hu_code_table_round(const hu_format *format, hu_rounding rounding, const hu_wide *x,
                             uint32_t random_word, bool *is_beyond);

/* What overflow gives, of a finite or an infinite number; complete bits. */
uint32_t hu_code_table_overflow(const hu_format *format, hu_rounding rounding, bool is_negative,
                                bool is_infinite);

/* Whether each infinity that rounding may give has a code. */
bool hu_code_table_has_infinities(const hu_format *format);

/* True if x (without a scale) goes up from number gap - 1 to number gap, between which it lies; gap
 * 0: not below the least number, gap count: beyond the largest. Deterministic modes. */
bool hu_code_table_goes_up(const hu_code_table *table, hu_rounding rounding, uint32_t gap,
                           const hu_wide *x);

/* A finite double as a wide number. */
hu_wide hu_wide_of_double(double x);

/* -1, 0, 1 for a < b, a = b, a > b. */
int hu_wide_compare(const hu_wide *a, const hu_wide *b);

#endif
