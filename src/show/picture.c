/* Charts as one SVG file. */
#include "show/picture.h"

#include "show/chart.h"
#include "show/html.h"

enum { MARGIN = 16 };

void hu_picture_begin(hu_page *page) {
    page->is_picture = true;
    page->bottom = 0.0;
}

void hu_picture_extents(const hu_page *page, double *width, double *height) {
    *width = HU_CHART_WIDTH + 2.0 * MARGIN;
    *height = page->bottom + 2.0 * MARGIN;
}

/* The height is known when all is drawn, hence a head that is written last. */
hu_status hu_picture_finish(hu_page *page, const char *label, char **text) {
    hu_page whole = {.status = page->status};
    double width, height;
    hu_picture_extents(page, &width, &height);
    hu_page_put(
        &whole,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" role=\"img\" "
        "aria-label=\"",
        width, height, width, height);
    hu_page_text(&whole, label);
    hu_page_put(&whole, "\">\n<style>\n");
    hu_html_put_fixed_style(&whole);
    hu_page_put(&whole,
                "</style>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"%s\"/>\n"
                "<g transform=\"translate(%d %d)\">\n",
                width, height, hu_html_light("bg", 2), MARGIN, MARGIN);
    if (whole.status == HU_OK)
        whole.status = hu_write_bytes(&whole.out, page->out.data, page->out.size);
    hu_page_put(&whole, "</g>\n</svg>\n");
    hu_page_free(page);
    return hu_page_finish(&whole, text);
}
