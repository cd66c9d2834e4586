/* report/figure.h - pictures as files of their own: SVG, PDF and PNG. */
#ifndef HU_REPORT_FIGURE_H
#define HU_REPORT_FIGURE_H
#include "render/html.h"
#include "report/drawn.h"

typedef enum hu_figure_form { HU_FIGURE_SVG, HU_FIGURE_PDF, HU_FIGURE_PNG } hu_figure_form;

/* Pictures of one file; as {0} at first. */
typedef struct hu_figures {
    hu_drawn_figure *figure; /* [count] */
    char **svg;              /* [count] */
    size_t count, capacity, svg_capacity;
} hu_figures;

/* The charts of a page that was begun with hu_picture_begin, which is freed; nothing if it has
 * none. label: what they show, for those who cannot see them. */
hu_status hu_figures_add(hu_figures *figures, hu_page *page, const char *label);

/* Writes the file: a PDF with a page for each picture; SVG and PNG have one. HU_ERR_UNSUPPORTED for
 * PDF and PNG where halfulp was built without librsvg; HU_ERR_LIMIT for a picture that is too large
 * for a PNG; HU_ERR_IO. */
hu_status hu_figures_write(const hu_figures *figures, hu_figure_form form, const char *path);
void hu_figures_free(hu_figures *figures);

#endif
