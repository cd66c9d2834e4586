#include "media/png_input.h"

#include <string.h>

#include "base/error.h"

static void read_bytes(png_structp png, png_bytep to, size_t count) {
    hu_png_input *in = png_get_io_ptr(png);
    if (count > in->bytes - in->used) png_error(png, "the file ends too early");
    memcpy(to, in->data + in->used, count);
    in->used += count;
}

static void on_error(png_structp png, png_const_charp message) {
    hu_png_input *in = png_get_error_ptr(png);
    strncpy(in->message, message, sizeof in->message - 1);
    png_longjmp(png, 1);
}

/* What libpng goes on after is not told. */
static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

png_structp hu_png_open(hu_png_input *input, png_infop *info) {
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, input, on_error, on_warning);
    *info = png ? png_create_info_struct(png) : NULL;
    if (!*info) png_destroy_read_struct(&png, NULL, NULL);
    if (png) png_set_read_fn(png, input, read_bytes);
    return png;
}

void hu_png_pass_over(png_structp png) {
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
}

hu_status hu_png_fail(const char *name, const hu_png_input *input) {
    if (strstr(input->message, "emory")) /* it has no code for memory that ran out */
        return hu_fail(HU_ERR_MEMORY, "%s: cannot decode the PNG file: %s", name, input->message);
    return hu_fail(HU_ERR_CORRUPT, "%s: damaged PNG file: %s", name, input->message);
}
