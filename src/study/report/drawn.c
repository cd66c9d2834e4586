/* The module halfulp-drawn.so: librsvg draws, cairo writes. */
#include "report/drawn.h"

#include <cairo-pdf.h>
#include <librsvg/rsvg.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static const double points_per_pixel = 72.0 / 96.0;
static const double dots_per_pixel = 2.0;

/* Where the bytes of a file go. */
typedef struct sink {
    hu_drawn_put *put;
    void *context;
} sink;

static cairo_status_t put_bytes(void *closure, const unsigned char *data, unsigned bytes) {
    const sink *s = closure;
    return s->put(s->context, data, bytes) == 0 ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Draws into the present page of a surface, which is `scale` of its units per pixel. */
static bool draw(cairo_surface_t *surface, const hu_drawn_figure *figure, double scale,
                 char *error) {
    GError *failure = NULL;
    const RsvgRectangle all = {0.0, 0.0, figure->width, figure->height};
    RsvgHandle *handle =
        rsvg_handle_new_from_data((const guint8 *)figure->svg, figure->bytes, &failure);
    cairo_t *cairo = cairo_create(surface);
    cairo_scale(cairo, scale, scale);
    bool is_drawn = handle && rsvg_handle_render_document(handle, cairo, &all, &failure);
    if (!is_drawn)
        snprintf(error, HU_DRAWN_ERROR, "librsvg: %s", failure ? failure->message : "no picture");
    if (failure) g_error_free(failure);
    if (handle) g_object_unref(handle);
    cairo_show_page(cairo);
    cairo_destroy(cairo);
    return is_drawn;
}

/* Ends a surface; its status is the first thing that went wrong. */
static bool end(cairo_surface_t *surface, cairo_status_t written, bool is_drawn, char *error) {
    cairo_surface_finish(surface);
    cairo_status_t status = cairo_surface_status(surface);
    if (status == CAIRO_STATUS_SUCCESS) status = written;
    cairo_surface_destroy(surface);
    if (status != CAIRO_STATUS_SUCCESS && is_drawn)
        snprintf(error, HU_DRAWN_ERROR, "cairo: %s", cairo_status_to_string(status));
    return is_drawn && status == CAIRO_STATUS_SUCCESS;
}

static bool write_pdf(const hu_drawn_figure *figure, size_t count, sink *s, char *error) {
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(put_bytes, s, 1.0, 1.0);
    bool is_drawn = true;
    for (size_t i = 0; i < count && is_drawn; i++) {
        cairo_pdf_surface_set_size(surface, points_per_pixel * figure[i].width,
                                   points_per_pixel * figure[i].height);
        is_drawn = draw(surface, &figure[i], points_per_pixel, error);
    }
    return end(surface, CAIRO_STATUS_SUCCESS, is_drawn, error);
}

static bool write_png(const hu_drawn_figure *figure, sink *s, char *error) {
    int width = (int)lround(dots_per_pixel * figure->width);
    int height = (int)lround(dots_per_pixel * figure->height);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    bool is_drawn = cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS;
    if (!is_drawn)
        snprintf(error, HU_DRAWN_ERROR, "cairo: a picture of %d x %d dots: %s", width, height,
                 cairo_status_to_string(cairo_surface_status(surface)));
    is_drawn = is_drawn && draw(surface, figure, dots_per_pixel, error);
    cairo_status_t written =
        is_drawn ? cairo_surface_write_to_png_stream(surface, put_bytes, s) : CAIRO_STATUS_SUCCESS;
    return end(surface, written, is_drawn, error);
}

extern hu_draw_figures_fn hu_draw_figures;

__attribute__((visibility("default"))) int
hu_draw_figures(unsigned version, int form, const hu_drawn_figure *figure, size_t count,
                hu_drawn_put *put, void *context, char error[HU_DRAWN_ERROR]) {
    sink s = {put, context};
    error[0] = '\0';
    if (version != HU_DRAWN_VERSION) {
        snprintf(error, HU_DRAWN_ERROR, "found version %u of the module, expected %u",
                 HU_DRAWN_VERSION, version);
        return -1;
    }
    bool is_done =
        form == HU_DRAWN_PNG ? write_png(figure, &s, error) : write_pdf(figure, count, &s, error);
    return is_done ? 0 : -1;
}
