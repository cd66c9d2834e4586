/* media/png_input.h - libpng's own interface on bytes in memory. */
#ifndef HU_MEDIA_PNG_INPUT_H
#define HU_MEDIA_PNG_INPUT_H
#include <stddef.h>
#include <stdint.h>

#include <png.h>

#include <halfulp/status.h>

/* What libpng reads from, and what it said when it failed. */
typedef struct hu_png_input {
    const uint8_t *data;
    size_t bytes, used;
    char message[128];
} hu_png_input;

/* A decoder and its facts; NULL: there is no memory. Where libpng fails it goes to png_jmpbuf.
 * Owner frees both by png_destroy_read_struct. input: borrowed until then. */
png_structp hu_png_open(hu_png_input *input, png_infop *info);

/* Has all chunks that are no pixels passed over, before the first is read: none is to change what
 * the file has, and for some libpng takes as much memory as their length says, two gigabytes in a
 * file of a hundred bytes. May go to png_jmpbuf. */
void hu_png_pass_over(png_structp png);

/* HU_ERR_CORRUPT, or HU_ERR_MEMORY, with what libpng said of the file of this name. */
hu_status hu_png_fail(const char *name, const hu_png_input *input);

#endif
