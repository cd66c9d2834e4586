/* render/page.h - text of an HTML page under construction. The first failure is kept and ends all
 * further writing, so that the writers of charts need not ask. */
#ifndef HU_SHOW_PAGE_H
#define HU_SHOW_PAGE_H
#include <stdbool.h>

#include "base/bytes.h"

enum { HU_PAGE_LEVELS = 3, HU_PAGE_TITLE = 200 };

/* Starts as {0}. */
typedef struct hu_page {
    hu_byte_writer out;
    hu_status status;
    bool is_picture; /* one SVG file, whose charts stand below each other (render/chart.h) */
    double bottom;   /* of what it has so far, in pixels */
    char waiting[HU_PAGE_LEVELS][HU_PAGE_TITLE]; /* titles that the next chart of a picture brings:
                                                    of the section, of a run, of the chart */
    bool is_untitled;                            /* a picture without the titles of sections */
    int chart, only; /* of a picture: charts so far; the one that it has, 0: all */
    size_t kept;     /* bytes and height of the charts that it has */
    double kept_bottom;
    const char *const *titles; /* [columns] of a wide table that is being written; NULL: none */
    size_t columns, column;    /* column: the next cell's */
} hu_page;

/* Markup of our own (printf form). Texts from outside go through hu_page_text. */
void hu_page_put(hu_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Any text as the contents of an element or a quoted attribute: markup is escaped, what is not
 * UTF-8 or not printable is replaced. */
void hu_page_text(hu_page *page, const char *text);

/* The whole text, or the first failure; frees the page. Owner frees *text with hu_free. */
hu_status hu_page_finish(hu_page *page, char **text);
void hu_page_free(hu_page *page);

#endif
