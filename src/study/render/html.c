#include "render/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- Text of a page ---- */

enum { PIECE_BYTES = 2048 };

/* A failure is kept and told by hu_page_finish, so that callers need no check per line. */
static void put_bytes(hu_page *page, const char *text, size_t bytes) {
    if (page->status == HU_OK) page->status = hu_write_bytes(&page->out, text, bytes);
}

void hu_page_put(hu_page *page, const char *format, ...) {
    char piece[PIECE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < PIECE_BYTES) {
        put_bytes(page, piece, (size_t)length);
    } else if (page->status == HU_OK) {
        page->status =
            hu_fail(HU_ERR_INTERNAL, "a piece of a page has more than %d bytes", PIECE_BYTES - 1);
    }
}

/* What stands for a byte, NULL for itself. Texts that are not UTF-8 keep their ASCII part. */
static const char *escape_of(unsigned char c, bool is_utf8) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return c >= 0x80 && !is_utf8 ? "?" : NULL;
    }
}

/* Text of users: escaped byte by byte, control characters one by one. */
void hu_page_text(hu_page *page, const char *text) {
    bool is_utf8 = hu_text_is_utf8(text);
    const char *start = text; /* of what needs no escape */
    while (*text) {
        size_t bytes = *text == '\n' || *text == '\t' ? 0 : hu_control_bytes(text);
        const char *escape = bytes > 0 ? "?" : escape_of((unsigned char)*text, is_utf8);
        if (escape) {
            put_bytes(page, start, (size_t)(text - start));
            put_bytes(page, escape, strlen(escape));
            start = text + (bytes > 0 ? bytes : 1);
        }
        text += bytes > 0 ? bytes : 1;
    }
    put_bytes(page, start, (size_t)(text - start));
}

hu_status hu_page_finish(hu_page *page, char **text) {
    hu_status st = page->status;
    *text = NULL;
    if (st == HU_OK) st = HU_NEW_ARRAY(text, page->out.size + 1);
    if (st == HU_OK && page->out.size > 0) memcpy(*text, page->out.data, page->out.size);
    hu_page_free(page);
    return st;
}

void hu_page_free(hu_page *page) {
    hu_writer_free(&page->out);
    page->status = HU_OK;
}

/* ---- The frame ---- */

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

/* Width, height, depth and kind of colours stand after signature, length and name of the first
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

/* ---- html style ---- */

/* The report's style sheet. The eight series colours are told apart with the common kinds of colour
 * blindness (hues after Okabe and Ito), in a darker set for light pages and a lighter one for dark
 * pages; marks and dashes tell series apart as well. One line of it has fewer than 2,000 bytes. */

/* What var(--NAME) is on light and on dark pages. */
typedef struct colour {
    const char *name, *light, *dark;
} colour;

static const colour palette[] = {
    {"bg", "#fff", "#14171b"},       {"ink", "#1b1f24", "#e7eaee"},
    {"soft", "#5b6570", "#9aa5b1"},  {"faint", "#e3e6ea", "#2b3138"},
    {"panel", "#f6f7f9", "#1c2026"}, {"warn", "#8a5300", "#f0b860"},
    {"c0", "#0b62a4", "#62b2f0"},    {"c1", "#c4500a", "#ff8f52"},
    {"c2", "#00795c", "#3fcaa0"},    {"c3", "#a23a7c", "#e590c6"},
    {"c4", "#8f6a00", "#e6b840"},    {"c5", "#2d8fc4", "#9adcff"},
    {"c6", "#6b4a32", "#d1a582"},    {"c7", "#5d6670", "#aab2bb"},
    {"lost", "#c4280a", "#ff6b4a"},  {"normal", "#d5e6d9", "#22402f"},
    {"sub", "#ecf3e4", "#2c3522"},   {"h0", "#e8f1fa", "#1d2b3a"},
    {"h1", "#cfe1f3", "#1f3a54"},    {"h2", "#a9cbe8", "#22507a"},
    {"h3", "#7bafd9", "#2d6ca3"},    {"h4", "#4a8cc4", "#4d90c8"},
    {"h5", "#2a69a6", "#86bae2"},    {"h6", "#123f73", "#c9e2f7"},
    {"hd", "#fff", "#10161d"},       {"hl", "#1b1f24", "#e7eaee"},
};
enum { COLOURS = sizeof palette / sizeof *palette };

/* ---- rules ---- */

static const char of_pages[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"
    "'Segoe UI','Noto Sans','DejaVu Sans',sans-serif;-webkit-text-size-adjust:100%}\n"
    "main{max-width:96rem;margin:0 auto;padding:2.5rem 1.25rem 3rem}\n"
    "h1{font-size:1.75rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.01em;"
    "overflow-wrap:anywhere}\n"
    "h2{font-size:1.25rem;line-height:1.3;margin:0 0 .3rem}\n"
    "h3{font-size:1rem;margin:1.6rem 0 .3rem;overflow-wrap:anywhere}\n"
    "section{margin-top:2.75rem;border-top:1px solid var(--faint);padding-top:1.5rem}\n"
    "p{margin:.4rem 0 .8rem;max-width:44rem;overflow-wrap:anywhere}.lead{color:var(--soft)}\n"
    ".note{background:var(--panel);border-left:3px solid var(--warn);padding:.5rem .8rem;"
    "font-size:.9rem;color:var(--soft);overflow-wrap:anywhere}\n"
    ".alarm{max-width:60rem;background:var(--panel);border-left:4px solid var(--lost);"
    "padding:.7rem 1rem}\n"
    "footer{margin-top:3rem;color:var(--soft);font-size:.85rem}\n"
    ".scroll{overflow-x:auto}svg{display:block;height:auto;max-width:100%}\n"
    ".chart>svg{width:100%;max-width:46rem;margin:.6rem 0}a{color:var(--c0)}\n"
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,32rem),1fr));"
    "gap:0 2rem;align-items:start}.panels>*{min-width:0}\n"
    "table{border-collapse:collapse;font-size:.79rem;font-variant-numeric:tabular-nums;"
    "margin:.6rem 0;min-width:100%}\n"
    "th,td{text-align:left;padding:.35rem .45rem .35rem 0;border-bottom:1px solid var(--faint);"
    "vertical-align:top}\n"
    "th{color:var(--soft);font-weight:600;white-space:normal;vertical-align:bottom}td.n,th.n{text-"
    "align:right}td:last-child,"
    "th:last-child{padding-right:0}\n"
    "tr.strong td:first-child{font-weight:650}tr.strong td{background:var(--panel)}\n"
    "td{overflow-wrap:anywhere}td.n{overflow-wrap:normal}td:first-child{min-width:8rem}\n"
    "details{margin:.6rem 0}summary{cursor:pointer;color:var(--c0);padding:.2rem 0;"
    "overflow-wrap:anywhere}\n"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;padding:0;"
    "margin:.6rem 0 0;font-size:.85rem;color:var(--soft)}\n"
    ".legend li{display:flex;align-items:center;gap:.4rem}.legend svg{flex:none;overflow:visible}\n"
    ".swatch{display:inline-block;flex:none;width:.85em;height:.85em;margin-right:.4em;"
    "border:1px solid var(--soft);vertical-align:-.08em}.legend .swatch{margin-right:0}\n"
    "img{display:block;max-width:100%;height:auto;margin:.6rem 0}"
    "img.pixels{image-rendering:pixelated}\n"
    "code{overflow-wrap:anywhere}\n"
    "svg .name{paint-order:stroke;stroke:var(--bg);stroke-width:2.5px;stroke-linejoin:round}\n";

/* Of pictures, on pages and as files of their own: class selectors, no nesting and no functions but
 * var(--NAME), which every reader of SVG knows when it stands there as a colour. */
static const char of_drawings[] =
    "svg text{font-size:12px;fill:var(--ink)}svg .tick{fill:var(--soft);font-size:11.5px;"
    "font-variant-numeric:tabular-nums}svg .title{fill:var(--soft);font-size:12px}\n"
    "svg .end{text-anchor:end}svg .middle{text-anchor:middle}svg .strong{font-weight:650}svg "
    ".heading{font-size:15px;font-weight:600}svg .large{font-size:18px}\n"
    ".grid{stroke:var(--faint);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}\n"
    ".front{fill:none;stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 4}\n"
    ".c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}"
    ".c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}\n"
    ".mark{fill:currentColor;stroke:var(--bg);stroke-width:1}.absent{opacity:.75}\n"
    ".range{stroke:currentColor;stroke-width:2;opacity:.45}\n"
    ".line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}"
    ".raw{fill:none;stroke:currentColor;stroke-width:1;opacity:.25}\n"
    ".d1{stroke-dasharray:7 3}.d2{stroke-dasharray:2 3}.d3{stroke-dasharray:9 3 2 3}"
    "svg .mark{stroke-dasharray:none}\n"
    ".spread{fill:currentColor;fill-opacity:.16;stroke:none}"
    ".skip{fill:currentColor}.area{fill:currentColor;stroke:var(--bg);stroke-width:.75}"
    ".area.o1{opacity:.6}.area.o2{opacity:.35}\n"
    ".number{stroke:currentColor;stroke-width:1}.number.sub{opacity:.55}"
    ".band{fill:currentColor;opacity:.75}.band.sub{opacity:.4}\n"
    ".normal{fill:var(--normal)}.subnormal{fill:var(--sub)}\n"
    ".ridge{fill:currentColor;fill-opacity:.5;stroke:currentColor;stroke-width:1}"
    ".lostpart{fill:var(--lost);fill-opacity:.75;stroke:var(--lost);stroke-width:1}\n"
    "svg .lost0{fill:var(--soft);opacity:.7}svg .lost1{fill:var(--soft)}svg .lost2{"
    "fill:var(--warn)}svg .lost3{fill:var(--lost);font-weight:650}"
    "svg .lost0,svg .lost1,svg .lost2,svg .lost3{font-size:11.5px;"
    "font-variant-numeric:tabular-nums}\n"
    ".h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}"
    ".h4{fill:var(--h4)}.h5{fill:var(--h5)}.h6{fill:var(--h6)}"
    "svg .bits{font-size:11px;fill:var(--hl);pointer-events:none}svg .bits.dark{fill:var(--hd)}\n"
    ".strip{fill:var(--panel)}svg .range,svg "
    ".cap{stroke-dasharray:none}.cap{stroke:currentColor;stroke-width:2;opacity:.45}\n";

/* Of pages as well, after those of pictures: what they change on narrow windows. */
static const char of_windows[] =
    /* A picture alone stands to the right of its section's words, in a fold of its own heading and
     * legend: the rows of a grid, of which the last takes what the words leave. */
    "@media (min-width:1100px){section:has(>.panels>:only-child){display:grid;"
    "grid-template-columns:minmax(0,24rem) minmax(0,1fr);grid-template-rows:repeat(5,auto) 1fr;"
    "gap:0 2rem}section:has(>.panels>:only-child)>*{grid-column:1}"
    "section:has(>.panels>:only-child)>.panels{grid-column:2;grid-row:1/7;display:block}"
    "details>.panels>:only-child{display:grid;grid-template-columns:minmax(0,24rem) "
    "minmax(0,1fr);grid-template-rows:repeat(2,auto) 1fr;gap:0 2rem}"
    "details>.panels>:only-child>.chart{grid-column:2;grid-row:1/4}}\n"
    "@media (max-width:900px){table.wide,.wide "
    "tbody{display:block}"
    ".wide thead{display:none}.wide "
    "tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));"
    "gap:0 1rem;padding:.4rem 0;border-bottom:1px solid var(--faint)}.wide td{display:flex;"
    "justify-content:space-between;gap:.6rem;border:0;padding:.15rem 0;white-space:normal;"
    "overflow-wrap:anywhere}.wide td:first-child{grid-column:1/-1;font-weight:600}"
    ".wide td[data-t]::before{content:attr(data-t);color:var(--soft);flex:0 1 auto;"
    "overflow-wrap:normal;white-space:normal;text-align:left}.wide td.n{overflow-wrap:normal}"
    "td{white-space:normal;overflow-wrap:anywhere}}\n"
    /* Charts are drawn for 560 pixels and have 366 on a phone of 390: where there are axes, letters
     * grow; others, which have columns of text, keep 464 pixels, of which the rest scrolls. No text
     * is smaller than 10 pixels. */
    "@media (max-width:640px){main{padding:1.25rem .75rem 2rem}.chart{overflow-x:auto}"
    ".chart>svg{min-width:29rem}svg text,svg .title,svg .tick,svg .bits,svg .lost0,svg .lost1,"
    "svg .lost2,svg .lost3{font-size:12.5px}.chart:has(.axes)>svg{min-width:0}"
    ".chart:has(.axes) text{font-size:15.5px}}\n"
    "@media print{.scroll{overflow:visible}section{break-inside:avoid}}\n";

/* ---- writing ---- */

static void put_palette(hu_page *page, bool is_dark) {
    hu_page_put(page, ":root{");
    for (size_t i = 0; i < COLOURS; i++)
        hu_page_put(page, "--%s:%s%s", palette[i].name,
                    is_dark ? palette[i].dark : palette[i].light, i + 1 < COLOURS ? ";" : "}");
}

/* A piece of a page is bounded (page.c): a style sheet goes line by line. */
static void put_lines(hu_page *page, const char *style) {
    for (const char *part = style; *part; part += strcspn(part, "\n") + 1)
        hu_page_put(page, "%.*s\n", (int)strcspn(part, "\n"), part);
}

void hu_html_put_style(hu_page *page) {
    put_palette(page, false);
    hu_page_put(page, "\n@media (prefers-color-scheme:dark){");
    put_palette(page, true);
    hu_page_put(page, "}\n");
    put_lines(page, of_pages);
    put_lines(page, of_drawings);
    put_lines(page, of_windows);
}

const char *hu_html_light(const char *name, size_t length) {
    for (size_t i = 0; i < COLOURS; i++)
        if (strlen(palette[i].name) == length && strncmp(palette[i].name, name, length) == 0)
            return palette[i].light;
    return "#000";
}

void hu_html_put_fixed_style(hu_page *page) {
    static const char begin[] = "var(--";
    const char *at = of_drawings;
    for (const char *found; (found = strstr(at, begin)); at = strchr(found, ')') + 1) {
        const char *name = found + sizeof begin - 1;
        hu_page_put(page, "%.*s%s", (int)(found - at), at,
                    hu_html_light(name, (size_t)(strchr(name, ')') - name)));
    }
    hu_page_put(page, "%s", at);
}
