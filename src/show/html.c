/* show/html.c - the frame of a page. One file without scripts, fonts or pictures from elsewhere. */
#include "show/html.h"

#include <stdio.h>
#include <string.h>

#include "show/svg.h"

/* <tag class="...">text</tag>; the text is escaped. */
static void element(hu_page *page, const char *tag, const char *class_name, const char *text) {
    hu_page_put(page, "<%s%s%s%s>", tag, *class_name ? " class=\"" : "", class_name,
                *class_name ? "\"" : "");
    hu_page_text(page, text);
    hu_page_put(page, "</%s>\n", tag);
}

/* Style and title first: the page needs nothing from elsewhere. */
void hu_html_begin(hu_page *page, const char *title, const char *subtitle) {
    hu_page_put(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                      "<meta name=\"color-scheme\" content=\"light dark\"/>\n");
    element(page, "title", "", title);
    hu_page_put(page, "<style>\n");
    hu_html_put_style(page);
    hu_page_put(page, "</style>\n</head>\n<body>\n<main>\n<header>\n");
    element(page, "h1", "", title);
    element(page, "p", "lead", subtitle);
    hu_page_put(page, "</header>\n");
}

void hu_html_end(hu_page *page, const char *maker) {
    element(page, "footer", "", maker);
    hu_page_put(page, "</main>\n</body>\n</html>\n");
}

/* A tag of a page; a picture that is a file of its own has none. */
static void put_tag(hu_page *page, const char *tag) {
    if (!page->is_picture) hu_page_put(page, "%s\n", tag);
}

enum { SECTION, FOLD, CHART };

/* Titles of a picture wait for a chart: not everything that has one has charts. */
static void wait(hu_page *page, int level, const char *title) {
    snprintf(page->waiting[level], sizeof page->waiting[level], "%s", title);
    for (int below = level + 1; below < HU_PAGE_LEVELS; below++) page->waiting[below][0] = '\0';
}

void hu_html_section(hu_page *page, const char *id, const char *title, const char *lead) {
    if (page->is_picture) {
        wait(page, SECTION, page->is_untitled ? "" : title);
        return;
    }
    hu_page_put(page, "<section id=\"%s\">\n", id);
    element(page, "h2", "", title);
    if (*lead) element(page, "p", "lead", lead);
}

void hu_html_section_end(hu_page *page) {
    put_tag(page, "</section>");
    if (page->is_picture) wait(page, SECTION, "");
}

void hu_html_heading(hu_page *page, const char *title) {
    if (page->is_picture)
        wait(page, CHART, title);
    else
        element(page, "h3", "", title);
}

void hu_html_panels(hu_page *page) {
    put_tag(page, "<div class=\"panels\">");
}

void hu_html_panels_end(hu_page *page) {
    put_tag(page, "</div>");
}

void hu_html_panel(hu_page *page, const char *title) {
    put_tag(page, "<div class=\"panel\">");
    if (title) hu_html_heading(page, title);
}

void hu_html_panel_end(hu_page *page) {
    put_tag(page, "</div>");
}

void hu_html_paragraph(hu_page *page, const char *text) {
    if (page->is_picture) return;
    element(page, "p", "", text);
}

void hu_html_note(hu_page *page, const char *text) {
    if (page->is_picture) return;
    element(page, "p", "note", text);
}

void hu_html_alarm(hu_page *page, const char *first, const char *text) {
    if (page->is_picture) return;
    hu_page_put(page, "<p class=\"alarm\"><strong>");
    hu_page_text(page, first);
    hu_page_put(page, "</strong> ");
    hu_page_text(page, text);
    hu_page_put(page, "</p>\n");
}

void hu_html_details(hu_page *page, const char *summary, bool is_open) {
    if (page->is_picture) {
        wait(page, FOLD, summary);
        return;
    }
    hu_page_put(page, "<details%s>\n", is_open ? " open=\"open\"" : "");
    element(page, "summary", "", summary);
}

void hu_html_details_end(hu_page *page) {
    put_tag(page, "</details>");
    if (page->is_picture) wait(page, FOLD, "");
}

/* The first `texts` columns are texts, the others numbers, on the right. */
void hu_html_table(hu_page *page, const char *const *titles, size_t columns, size_t texts) {
    if (page->is_picture) return;
    enum { NARROW = 3 }; /* columns that fit on a phone as they are */
    bool is_wide = columns > NARROW;
    page->titles = is_wide ? titles : NULL;
    page->columns = columns;
    hu_page_put(page, "<div class=\"scroll\"><table%s>\n<thead><tr>",
                is_wide ? " class=\"wide\"" : "");
    for (size_t i = 0; i < columns; i++) {
        hu_page_put(page, "<th scope=\"col\"%s>", i < texts ? "" : " class=\"n\"");
        hu_page_text(page, titles[i]);
        hu_page_put(page, "</th>");
    }
    hu_page_put(page, "</tr></thead>\n<tbody>\n");
}

void hu_html_row(hu_page *page, bool is_strong) {
    if (page->is_picture) return;
    page->column = 0;
    hu_page_put(page, "<tr%s>", is_strong ? " class=\"strong\"" : "");
}

/* Begins a cell; where a phone shows each row as a list, the title of its column stands there. */
static void begin_cell(hu_page *page, const char *class_name) {
    if (page->is_picture) return;
    size_t column = page->column++;
    hu_page_put(page, "<td%s", class_name);
    if (page->titles && column > 0 && column < page->columns) {
        hu_page_put(page, " data-t=\"");
        hu_page_text(page, page->titles[column]);
        hu_page_put(page, "\"");
    }
    hu_page_put(page, ">");
}

void hu_html_cell(hu_page *page, bool is_number) {
    begin_cell(page, is_number ? " class=\"n\"" : "");
}

void hu_html_cell_end(hu_page *page) {
    if (page->is_picture) return;
    hu_page_put(page, "</td>");
}

void hu_html_text(hu_page *page, const char *text) {
    if (page->is_picture) return;
    begin_cell(page, "");
    hu_page_text(page, text);
    hu_page_put(page, "</td>");
}

void hu_html_link(hu_page *page, const char *target, const char *text) {
    if (page->is_picture) return;
    begin_cell(page, "");
    hu_page_put(page, "<a href=\"");
    hu_page_text(page, target);
    hu_page_put(page, "\">");
    hu_page_text(page, text);
    hu_page_put(page, "</a></td>");
}

void hu_html_number(hu_page *page, const char *text) {
    if (page->is_picture) return;
    begin_cell(page, " class=\"n\"");
    hu_page_text(page, text);
    hu_page_put(page, "</td>");
}

void hu_html_row_end(hu_page *page) {
    if (page->is_picture) return;
    hu_page_put(page, "</tr>\n");
}

void hu_html_table_end(hu_page *page) {
    if (page->is_picture) return;
    page->titles = NULL;
    hu_page_put(page, "</tbody>\n</table></div>\n");
}

/* Three bytes are four letters of base64 (RFC 4648), two or one end in signs of equality. */
static void put_base64(hu_page *page, const uint8_t *data, size_t bytes) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t word = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        hu_page_put(page, "%c%c%c%c", letters[word >> 18], letters[word >> 12 & 63],
                    left > 1 ? letters[word >> 6 & 63] : '=', left > 2 ? letters[word & 63] : '=');
    }
}

/* Four bytes in big-endian order. */
static int64_t word_at(const uint8_t *at) {
    return (int64_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

/* Width, height, depth and kind of colours stand behind signature, length and name of the first
 * chunk (PNG, 11.2.2). */
bool hu_html_png_extents(const uint8_t *data, size_t bytes, int64_t extent[3]) {
    enum { WIDTH_AT = 16, HEIGHT_AT = 20, COLOURS_AT = 25, HAS_COLOURS = 2 };
    if (bytes <= COLOURS_AT) return false;
    extent[0] = word_at(data + WIDTH_AT);
    extent[1] = word_at(data + HEIGHT_AT);
    extent[2] = data[COLOURS_AT] & HAS_COLOURS ? 3 : 1;
    return true;
}

/* What is shown as large as it is may be smoothed: screens with finer pixels enlarge it again. */
void hu_html_png(hu_page *page, const char *label, const uint8_t *data, size_t bytes) {
    if (page->is_picture) return;
    enum { LARGER = 2, ROOM = 1020 };
    int64_t extent[3];
    if (!hu_html_png_extents(data, bytes, extent)) return;
    bool is_small = LARGER * extent[0] <= ROOM;
    hu_page_put(page,
                "<div class=\"scroll\"><img%s width=\"%lld\" style=\"min-width:%lldpx\" alt=\"",
                is_small ? " class=\"pixels\"" : "",
                (long long)(is_small ? LARGER * extent[0] : extent[0]), (long long)extent[0]);
    hu_page_text(page, label);
    hu_page_put(page, "\" src=\"data:image/png;base64,");
    put_base64(page, data, bytes);
    hu_page_put(page, "\"/></div>\n");
}

static void put_swatch(hu_page *page, const uint8_t rgb[3], const char *name) {
    if (page->is_picture) return;
    hu_page_put(page, "<span class=\"swatch\" style=\"background:#%02x%02x%02x\"></span>", rgb[0],
                rgb[1], rgb[2]);
    hu_page_text(page, name);
}

void hu_html_colours(hu_page *page) {
    if (page->is_picture) return;
    hu_page_put(page, "<ul class=\"legend\">\n");
}

void hu_html_colour(hu_page *page, const uint8_t rgb[3], const char *name) {
    if (page->is_picture) return;
    hu_page_put(page, "<li>");
    put_swatch(page, rgb, name);
    hu_page_put(page, "</li>\n");
}

void hu_html_colours_end(hu_page *page) {
    if (page->is_picture) return;
    hu_page_put(page, "</ul>\n");
}

void hu_html_colour_text(hu_page *page, const uint8_t rgb[3], const char *name) {
    if (page->is_picture) return;
    begin_cell(page, "");
    put_swatch(page, rgb, name);
    hu_page_put(page, "</td>");
}
