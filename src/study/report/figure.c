#include "report/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/module.h"
#include "render/chart.h"

hu_status hu_figures_add(hu_figures *figures, hu_page *page, const char *label) {
    hu_status st;
    char *svg;
    double width, height;
    if (page->status == HU_OK && page->kept == 0) {
        hu_page_free(page);
        return HU_OK;
    }
    hu_picture_extents(page, &width, &height);
    HU_TRY(hu_picture_finish(page, label, &svg));
    st = hu_grow(&figures->svg, figures->count, &figures->svg_capacity, sizeof *figures->svg);
    if (st == HU_OK)
        st = hu_grow(&figures->figure, figures->count, &figures->capacity, sizeof *figures->figure);
    if (st != HU_OK) {
        hu_free(svg);
        return st;
    }
    figures->figure[figures->count] = (hu_drawn_figure){svg, strlen(svg), width, height};
    figures->svg[figures->count++] = svg;
done:
    return st;
}

/* What a module writes. */
typedef struct sink {
    hu_byte_writer out;
    hu_status status;
} sink;

static int put(void *context, const unsigned char *data, unsigned bytes) {
    sink *s = context;
    if (s->status == HU_OK) s->status = hu_write_bytes(&s->out, data, bytes);
    return s->status != HU_OK;
}

/* cairo draws up to 32,767 dots each way. */
static hu_status check_extents(const hu_figures *figures, const char *path) {
    enum { MOST = 16383 };
    for (size_t i = 0; i < figures->count; i++)
        if (figures->figure[i].height > MOST || figures->figure[i].width > MOST)
            return hu_fail(HU_ERR_LIMIT,
                           "%s: found a picture of %.0f x %.0f pixels, expected at most %d: choose "
                           "a part of it (section=), or take .pdf or .svg",
                           path, figures->figure[i].width, figures->figure[i].height, MOST);
    return HU_OK;
}

static hu_status draw(const hu_figures *figures, int form, const char *path) {
    hu_draw_figures_fn *module;
    char error[HU_DRAWN_ERROR];
    sink s = {0};
    hu_status st;
    if (form == HU_DRAWN_PNG) HU_TRY(check_extents(figures, path));
    HU_TRY(hu_module_load("drawn", HU_DRAWN_FUNCTION, path,
                          "a build that found librsvg (Debian: librsvg2-dev); .svg needs none",
                          &module));
    int failed = module(HU_DRAWN_VERSION, form, figures->figure, figures->count, put, &s, error);
    HU_TRY(s.status);
    if (failed) HU_TRY(hu_fail(HU_ERR_INTERNAL, "%s: cannot be drawn: %s", path, error));
    HU_TRY(hu_file_replace(path, s.out.data, s.out.size));
done:
    hu_writer_free(&s.out);
    return st;
}

hu_status hu_figures_write(const hu_figures *figures, hu_figure_form form, const char *path) {
    if (form == HU_FIGURE_PDF) return draw(figures, HU_DRAWN_PDF, path);
    if (form == HU_FIGURE_PNG) return draw(figures, HU_DRAWN_PNG, path);
    return hu_file_replace(path, figures->figure[0].svg, figures->figure[0].bytes);
}

void hu_figures_free(hu_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) hu_free(figures->svg[i]);
    hu_free(figures->svg);
    hu_free(figures->figure);
    *figures = (hu_figures){0};
}
