/* render/html.h - the frame of the report: head with its style, sections, tables, notes. */
#ifndef HU_RENDER_HTML_H
#define HU_RENDER_HTML_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* A page under construction: the first failure is kept and ends all further writing, so that
 * the writers of charts need not ask */

enum { HU_PAGE_LEVELS = 3, HU_PAGE_TITLE = 200 };

/* Starts as {0}. */
typedef struct hu_page {
    hu_byte_writer out;
    hu_status status;
    bool is_picture; /* one SVG file, whose charts stand below each other (render/chart.h) */
    double bottom;   /* of what it has so far, in pixels */
    double width;    /* of its contents, 0: that of charts */
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

/* ---- The frame of the report ---- */

/* Everything from the doctype to the first heading. Light or dark as the reader's system is. */
void hu_html_begin(hu_page *page, const char *title, const char *subtitle);

/* The end of the page, with a line that says what made it. */
void hu_html_end(hu_page *page, const char *maker);

/* A section with its heading and a sentence of introduction ("": none). */
void hu_html_section(hu_page *page, const char *id, const char *title, const char *lead);
void hu_html_section_end(hu_page *page);

/* A smaller heading; a paragraph; a note about what is missing. A picture that is a file of its own
 * has no words, tables and photographs, but the titles and headings of what it has charts of. */
void hu_html_heading(hu_page *page, const char *title);
void hu_html_paragraph(hu_page *page, const char *text);
void hu_html_note(hu_page *page, const char *text);

/* Pictures side by side where the window has room, below each other elsewhere: begin, each as a
 * panel with its heading (NULL: none), legend and chart, end. One alone stands beside the words of
 * its section. */
void hu_html_panels(hu_page *page);
void hu_html_panels_end(hu_page *page);
void hu_html_panel(hu_page *page, const char *title);
void hu_html_panel_end(hu_page *page);

/* A paragraph that is seen before all others; in it the first words, which stand strong. */
void hu_html_alarm(hu_page *page, const char *first, const char *text);

/* What opens by a click, without scripts. */
void hu_html_details(hu_page *page, const char *summary, bool is_open);
void hu_html_details_end(hu_page *page);

/* A table: titles (borrowed until the end of the table), then rows, each begun, its cells, ended;
 * then the end. The first `texts` columns stand to the left, the others, which are numbers, to the
 * right. is_strong: the row is set off. On a narrow screen each row of a wide table is a list of
 * title and cell. */
void hu_html_table(hu_page *page, const char *const *titles, size_t columns, size_t texts);

/* A cell of anything, between begin and end; is_number: it stands to the right. */
void hu_html_cell(hu_page *page, bool is_number);
void hu_html_cell_end(hu_page *page);

/* A row: begin, cells of text and numbers in the order of the titles, end. */
void hu_html_row(hu_page *page, bool is_strong);
void hu_html_text(hu_page *page, const char *text);
void hu_html_number(hu_page *page, const char *text);

/* A text that leads to a file, by a path from the page's folder. */
void hu_html_link(hu_page *page, const char *target, const char *text);
void hu_html_row_end(hu_page *page);
void hu_html_table_end(hu_page *page);

/* A PNG file inside of the page; label: what it shows. Small ones stand twice as large, in whole
 * pixels. None is made smaller than it is, which would break lines of a pixel: what is wider than
 * the page scrolls. */
void hu_html_png(hu_page *page, const char *label, const uint8_t *data, size_t bytes);

/* Width, height and channels (1 or 3) of a PNG file; false: it is none. */
bool hu_html_png_extents(const uint8_t *data, size_t bytes, int64_t extent[3]);

/* A colour with its name, in a list between begin and end; and as a cell of a table. */
void hu_html_colours(hu_page *page);
void hu_html_colour(hu_page *page, const uint8_t rgb[3], const char *name);
void hu_html_colours_end(hu_page *page);
void hu_html_colour_text(hu_page *page, const uint8_t rgb[3], const char *name);

/* The style sheet of a page, whose colours follow the reader's light or dark scheme; that of a
 * picture which is a file of its own, whose colours are fixed, light ones, as programs that know no
 * var() want them. */
void hu_html_put_style(hu_page *page);
void hu_html_put_fixed_style(hu_page *page);

/* A colour of the light palette by its name ("bg"). */
const char *hu_html_light(const char *name, size_t length);

#endif
