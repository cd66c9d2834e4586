/* format/table/draft.h - tables that are being made, and the generators that make them. */
#ifndef HU_FORMAT_TABLE_DRAFT_H
#define HU_FORMAT_TABLE_DRAFT_H
#include "format/table/table.h"

/* What a generator fills in: value and boundary of each code, the rest as it differs from the usual
 * (all of it is set before). */
typedef struct hu_code_draft {
    uint32_t count;
    double *value;    /* [count] by code: numbers, infinities, NaN. Beyond 2^+-1000: that power with
                         the sign. Where 0 is given too, -0 is a code that is read and not given */
    double *boundary; /* [count] by code: from its number to the next larger one, the largest's to
                         what is beyond; NAN: the mean */
    double low_boundary; /* below the least number; NAN: the mean with next[0] */
    double next[2];      /* as in hu_code_table; NAN: as far away as the number before */
    hu_code_ties ties;
    hu_overflow overflow;
    double min_normal; /* 0: the smallest magnitude */
    bool is_p3109, infinity_is_nan;
    uint32_t *line; /* [count] of a file, for messages; NULL: codes are named */
} hu_code_draft;

/* Room for the codes of a draft, numbers 0, boundaries NAN. */
hu_status hu_code_draft_open(hu_code_draft *draft, uint32_t count);
void hu_code_draft_close(hu_code_draft *draft);

/* What a name says, before the table is made. */
typedef struct hu_code_recipe {
    const char *original; /* the text as it was given: the name begins it */
    const char *text;     /* the same in lower case */
    size_t used;          /* characters of the name, its own options among them */
    char name[256];       /* the spelling to print */
    int64_t argument[4];  /* for fill */
    double number[2];
    hu_format plain; /* of a name that stands for a float: it; else exp_bits is 0 */
    char *file;      /* contents of a file, owned; NULL: none */
    size_t file_bytes;
} hu_code_recipe;

/* A row of the list of generators. */
typedef struct hu_code_generator {
    const char *prefix; /* names begin with it, and go on with a digit (1), a ':' (2), an end (4) or
                           a letter (8) as `goes_on` says */
    int goes_on;
    const char *form;    /* "positN (N = 3..16)" */
    const char *summary; /* one line */
    /* Reads the name. Errors: HU_ERR_PARSE with the column, HU_ERR_FORMAT. */
    hu_status (*read)(hu_code_recipe *recipe);
    /* Makes the draft. */
    hu_status (*fill)(const hu_code_recipe *recipe, hu_code_draft *draft);
} hu_code_generator;

/* Whether a text begins as "8p3se" does, the short name of "binary8p3se". */
bool hu_p3109_is_short(const char *text);

enum { HU_THEN_DIGIT = 1, HU_THEN_COLON = 2, HU_THEN_END = 4, HU_THEN_LETTER = 8 };

/* The row that a text's name belongs to; NULL: none. */
const hu_code_generator *hu_code_generator_of(const char *text);

/* Row index of the list; NULL after the last. */
const hu_code_generator *hu_code_generator_at(size_t index);

/* Reading of names: at recipe->used, which moves on. */

/* Takes the word if it stands there. */
bool hu_code_accept(hu_code_recipe *recipe, const char *word);

/* A number least..most; what: "bits of a code". */
hu_status hu_code_read_number(hu_code_recipe *recipe, const char *what, int64_t least, int64_t most,
                              int64_t *number);

/* A decimal number. */
hu_status hu_code_read_decimal(hu_code_recipe *recipe, const char *what, double *number);

/* HU_ERR_PARSE: what stands there, what was expected. */
hu_status hu_code_fail_expected(const hu_code_recipe *recipe, const char *expected);

/* The nearest float32 of a number in the range of its normal numbers; others as they are. */
double hu_code_value(double value);

/* Values and boundaries of the n-bit codes in two's complement that are read by `value` (n bits up
 * to 17, positive codes): 0 is 0, 10..0 NaN and a number of n bits less its last is the boundary of
 * the one without it, but that nothing other than 0 becomes 0. */
typedef double hu_code_value_fn(const int64_t *argument, int bits, uint32_t code);
hu_status hu_code_fill_ring(const hu_code_recipe *recipe, int bits, hu_code_value_fn *value,
                            hu_code_draft *draft);

/* Sorts and checks a draft. Takes nothing over. *table: owner frees with hu_code_table_free.
 * HU_ERR_FORMAT: two equal numbers, no number, boundaries outside their neighbours. */
hu_status hu_code_table_make(const hu_code_draft *draft, hu_code_table **table);
void hu_code_table_free(hu_code_table *table);

/* The contents of a table's file: *text [*bytes] with a zero after it; owner frees with hu_free.
 * HU_ERR_MISSING, HU_ERR_IO, HU_ERR_CORRUPT, HU_ERR_LIMIT. */
hu_status hu_code_file_open(const char *path, char **text, size_t *bytes);

#define HU_CODE_GENERATOR(name)                                                                    \
    hu_status hu_##name##_read(hu_code_recipe *recipe);                                            \
    hu_status hu_##name##_fill(const hu_code_recipe *recipe, hu_code_draft *draft);
HU_CODE_GENERATOR(posit)
HU_CODE_GENERATOR(takum)
HU_CODE_GENERATOR(hif8)
HU_CODE_GENERATOR(p3109)
HU_CODE_GENERATOR(lns)
HU_CODE_GENERATOR(nf4)
HU_CODE_GENERATOR(ternary)
HU_CODE_GENERATOR(book)
HU_CODE_GENERATOR(table_file)
#undef HU_CODE_GENERATOR

#endif
