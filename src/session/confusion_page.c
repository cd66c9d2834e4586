/* session/confusion_page.c - what a model is wrong about, as a page: pictures lie inside of it, so
 * that it is one file to hand on, and nothing on it is a script. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_files.h"
#include "session/confusion.h"
#include "session/confusion_pairs.h"
#include "show/html.h"

enum { CELL_BYTES = 64, SHOWN_WIDTH = 64 }; /* pictures are enlarged to at least so many pixels */

static void put_count(hu_page *page, int64_t count) {
    char cell[CELL_BYTES];
    snprintf(cell, sizeof cell, "%lld", (long long)count);
    hu_html_number(page, cell);
}

/* A dash of nothing. */
static void put_share(hu_page *page, double share) {
    char cell[CELL_BYTES];
    snprintf(cell, sizeof cell, "%.2f %%", 100.0 * share);
    hu_html_number(page, isnan(share) ? "-" : cell);
}

/* The same figures as the terminal's. */
static void put_classes(hu_page *page, const hu_confusion *c) {
    static const char *const titles[] = {"class", "samples", "recall", "precision", "F1"};
    char number[HU_CLASS_WORD_BYTES];
    hu_html_section(page, "classes", "Classes",
                    "Recall: share of the samples of a class that are told as such. Precision: "
                    "share of what is told as such that is.");
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 1);
    for (int64_t k = 0; k < c->classes; k++) {
        hu_class_figures f = hu_confusion_class(c, k);
        hu_html_row(page, false);
        hu_html_text(page, hu_confusion_word(c, k, number));
        put_count(page, f.samples);
        put_share(page, f.recall);
        put_share(page, f.precision);
        put_share(page, f.f1);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
    hu_html_section_end(page);
}

/* What is right stands strong. */
static void put_matrix(hu_page *page, const hu_confusion *c) {
    char number[HU_CONFUSION_SHOWN][HU_CLASS_WORD_BYTES];
    const char *titles[1 + HU_CONFUSION_SHOWN] = {"true class"};
    for (int64_t k = 0; k < c->classes; k++) titles[1 + k] = hu_confusion_word(c, k, number[k]);
    hu_html_table(page, titles, 1 + (size_t)c->classes, 1);
    for (int64_t t = 0; t < c->classes; t++) {
        hu_html_row(page, false);
        hu_html_text(page, titles[1 + t]);
        for (int64_t s = 0; s < c->classes; s++) {
            long long count = (long long)c->count[t * (c->classes + 1) + s];
            hu_html_cell(page, true);
            hu_page_put(page, s == t ? "<b>%lld</b>" : "%lld", count);
            hu_html_cell_end(page);
        }
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

/* Of many classes, as the terminal has them. */
static void put_pairs(hu_page *page, const hu_confusion *c) {
    static const char *const titles[] = {"true class", "taken for", "samples"};
    char number[HU_CLASS_WORD_BYTES];
    hu_confused_pair pair[HU_CONFUSION_SHOWN];
    size_t pairs = hu_confused_pairs(c, pair, HU_CONFUSION_SHOWN);
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 2);
    for (size_t i = 0; i < pairs; i++) {
        hu_html_row(page, false);
        hu_html_text(page, hu_confusion_word(c, pair[i].truth, number));
        hu_html_text(page, hu_confusion_word(c, pair[i].said, number));
        put_count(page, pair[i].samples);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

static void put_confused(hu_page *page, const hu_confusion *c) {
    bool is_whole = c->classes <= HU_CONFUSION_SHOWN;
    hu_html_section(page, "confusion", "What is taken for what",
                    is_whole ? "A row for each true class, a column for each that is said."
                             : "The pairs of classes that are confused most often.");
    if (is_whole)
        put_matrix(page, c);
    else
        put_pairs(page, c);
    hu_html_section_end(page);
}

/* Each pixel as a square of so many. Owner frees *large. */
static hu_status enlarge(const hu_confusion *c, const uint8_t *pixels, int64_t times,
                         uint8_t **large) {
    int64_t height = c->extent[0] * times, width = c->extent[1] * times, channels = c->extent[2];
    hu_status st = HU_NEW_ARRAY(large, (size_t)(height * width * channels));
    if (st != HU_OK) return st;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            memcpy(*large + (y * width + x) * channels,
                   pixels + (y / times * c->extent[1] + x / times) * channels, (size_t)channels);
    return HU_OK;
}

/* A cell with the picture as the model sees it, in squares where it is small; empty where samples
 * are no pictures. */
static hu_status put_picture(hu_page *page, const hu_confusion *c, const hu_mistake *m) {
    char number[HU_CLASS_WORD_BYTES];
    uint8_t *large = NULL, *png = NULL;
    size_t bytes;
    int64_t width = c->extent[1], times = 1;
    if (width > 0 && width < SHOWN_WIDTH) times = (SHOWN_WIDTH + width - 1) / width;
    hu_status st = HU_OK;
    hu_html_cell(page, false);
    if (m->pixels) {
        HU_TRY(enlarge(c, m->pixels, times, &large));
        HU_TRY(hu_image_png("a sample", c->extent[0] * times, c->extent[1] * times, c->extent[2],
                            large, &png, &bytes));
        hu_html_png(page, hu_confusion_word(c, m->truth, number), png, bytes);
    }
    hu_html_cell_end(page);
done:
    hu_free(large);
    hu_free(png);
    return st;
}

static hu_status put_mistakes(hu_page *page, const hu_confusion *c) {
    static const char *const titles[] = {"picture", "it is", "the model says", "file",
                                         "probability"};
    char number[HU_CLASS_WORD_BYTES], sample[CELL_BYTES];
    hu_status st = HU_OK;
    hu_html_section(page, "mistakes", "The most confident mistakes",
                    "Samples of whose wrong class the model is surest, as the model sees them.");
    if (c->mistakes == 0) hu_html_note(page, "There is no mistake.");
    if (c->mistakes > 0) hu_html_table(page, titles, sizeof titles / sizeof *titles, 4);
    for (size_t i = 0; i < c->mistakes; i++) {
        const hu_mistake *m = &c->mistake[i];
        snprintf(sample, sizeof sample, "sample %lld", (long long)m->sample);
        hu_html_row(page, false);
        HU_TRY(put_picture(page, c, m));
        hu_html_text(page, hu_confusion_word(c, m->truth, number));
        hu_html_text(page, hu_confusion_word(c, m->said, number));
        hu_html_text(page, m->file ? m->file : sample);
        put_share(page, m->probability);
        hu_html_row_end(page);
    }
    if (c->mistakes > 0) hu_html_table_end(page);
    hu_html_section_end(page);
done:
    return st;
}

hu_status hu_confusion_page(const hu_confusion *c, const char *title, const char *line,
                            const char *path) {
    hu_page page = {0};
    char *text = NULL;
    hu_status st;
    if (c->classes == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "page: found a run whose task does not say one class of each sample, "
                       "expected task=classify");
    hu_html_begin(&page, title, line);
    HU_TRY(put_mistakes(&page, c));
    put_confused(&page, c);
    put_classes(&page, c);
    hu_html_end(&page, "Made by halfulp " HALFULP_VERSION ", verb eval.");
    HU_TRY(hu_page_finish(&page, &text));
    st = hu_file_replace(path, text, strlen(text));
done:
    hu_page_free(&page);
    hu_free(text);
    return st;
}
