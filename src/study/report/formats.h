/* report/formats.h - number formats for people: limits side by side, all codes of a narrow one, and
 * a page of pictures. */
#ifndef HU_REPORT_FORMATS_H
#define HU_REPORT_FORMATS_H
#include <stdbool.h>

#include <halfulp/format.h>

#include "kernel/block/block.h"
#include "render/json.h"
#include "tensor/exponent_histogram.h"

enum { HU_FORMATS_MOST = 16, HU_FORMAT_NAME_BYTES = 192, HU_CODE_BITS_MOST = 8 };

/* One format of a picture or a table. */
typedef struct hu_named_format {
    char typed[HU_FORMAT_NAME_BYTES]; /* as the user wrote it */
    char name[HU_FORMAT_NAME_BYTES];  /* the canonical spelling */
    bool is_element; /* of a block format, in units of the block's scale; typed is the block's */
    hu_format format;
    hu_block_format block; /* is_element only */
} hu_named_format;

/* Reads a plain format, or a block format as that of its elements. Errors as
 * hu_plain_format_parse; unknown names: HU_ERR_UNKNOWN with the nearest of all formats. */
hu_status hu_named_format_parse(const char *typed, hu_named_format *named);

/* "e3m2:bias=5, which is fp(3,2,2)" where typed and name differ, else the name. */
void hu_named_format_words(const hu_named_format *named, char *text, size_t capacity);

/* Whether somebody may expect another format under this name: "e4m3" typed bare has infinities as
 * IEEE 754 would have, OCP's E4M3 is e4m3fn. text: what to say, if true. */
bool hu_named_format_warns(const hu_named_format *named, char *text, size_t capacity);

/* Fields and limits of a format. New reference, NULL if out of memory. */
json_t *hu_format_json(const hu_named_format *named);

/* On stdout: one format with the meaning of its limits; several, a column each; all named ones. */
hu_status hu_format_show(const hu_named_format *named);
hu_status hu_formats_show(const hu_named_format *named, int count);
hu_status hu_formats_list(void);

/* On stdout: every code of each format with its class (zero, subnormal, normal, inf, NaN) and
 * value, as a table, as CSV, as JSON. HU_ERR_ARGUMENT if a format has more than HU_CODE_BITS_MOST
 * bits. Source of the values: hu_format_decode. */
hu_status hu_codes_show(const hu_named_format *named, int count);
hu_status hu_codes_csv(const hu_named_format *named, int count);
hu_status hu_codes_json(const hu_named_format *named, int count);

/* The numbers of a tensor on which formats are tried. Borrowed. */
typedef struct hu_formats_sample {
    const char *name; /* "conv1.weight.grad of RUN, step 24" */
    const hu_exponents *exponents;
} hu_formats_sample;

/* Half the distance between the numbers of the format around x > 0, over x: the largest relative
 * error of rounding near x to nearest. 1 where x becomes zero or infinite; where it saturates, what
 * is lost of it. */
double hu_format_error_at(const hu_format *format, double x);

/* Draws the formats: their numbers on a line, the error against the magnitude, significant bits of
 * every binade, and what they lose of a sample (NULL: none). PATH.svg, .pdf and .png are one
 * picture, PATH.html a page without scripts; HU_ERR_ARGUMENT for other ends. */
hu_status hu_formats_page(const hu_named_format *named, int count, const hu_formats_sample *sample,
                          const char *path);

#endif
