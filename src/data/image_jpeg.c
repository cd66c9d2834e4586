/* JPEG by libjpeg-turbo, through libjpeg's own interface: TurboJPEG's tells the first warning of a
 * file alone, which may be a harmless one. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/error.h"
#include "data/image.h"
#include "data/image_exif.h"

/* Cyan, magenta, yellow, black; rows that are wanted at once. */
enum { INKS = 4, ROWS = 16, MOST_SCANS = 500 };

/* A file that is being read, and how reading it ended, if not well. */
typedef struct reading {
    const char *name;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    int orientation;
    hu_status status;
    jmp_buf left;
} reading;

/* What libjpeg can go on after with every pixel as it was meant: stray bytes between segments, a
 * revision or a colour transform that it does not know, parameters of a sequential scan that say
 * nothing (zeros, of some telephones). All others are missing or wrong data. */
static bool is_harmless(int code) {
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
           code == JWRN_NOT_SEQUENTIAL;
}

/* Whether the file may be whole, but of a kind of JPEG that the library cannot read. */
static bool is_foreign(int code) {
    return code == JERR_BAD_PRECISION || code == JERR_SOF_UNSUPPORTED ||
           code == JERR_ARITH_NOTIMPL || code == JERR_CONVERSION_NOTIMPL;
}

static void leave(j_common_ptr jpeg) {
    reading *r = jpeg->client_data;
    char words[JMSG_LENGTH_MAX];
    int code = jpeg->err->msg_code;
    jpeg->err->format_message(jpeg, words);
    if (code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE)
        r->status = hu_fail(HU_ERR_MEMORY, "%s: cannot decode the JPEG file: %s", r->name, words);
    else if (is_foreign(code))
        r->status = hu_fail(HU_ERR_KIND,
                            "%s: found a JPEG of a kind that libjpeg does not read (%s), expected "
                            "one of 8 bits and one to four colours",
                            r->name, words);
    else
        r->status = hu_fail(HU_ERR_CORRUPT, "%s: damaged JPEG file: %s", r->name, words);
    longjmp(r->left, 1);
}

/* level -1: a warning; above: what it does, which nobody wants to hear. */
static void hear(j_common_ptr jpeg, int level) {
    if (level < 0 && !is_harmless(jpeg->err->msg_code)) leave(jpeg);
}

/* Scans take time without taking bytes. */
static void watch_scans(j_common_ptr jpeg) {
    reading *r = jpeg->client_data;
    if (r->jpeg.input_scan_number <= MOST_SCANS) return;
    r->status = hu_fail(HU_ERR_CORRUPT, "%s: damaged JPEG file: found more than %d scans", r->name,
                        MOST_SCANS);
    longjmp(r->left, 1);
}

/* A segment APP1 where it lies in the file: the first one with EXIF is heard. */
static boolean read_exif(j_decompress_ptr jpeg) {
    enum { LENGTH_BYTES = 2 };
    reading *r = jpeg->client_data;
    struct jpeg_source_mgr *source = jpeg->src;
    const uint8_t *p = source->next_input_byte;
    if (source->bytes_in_buffer < LENGTH_BYTES) ERREXIT(jpeg, JERR_INPUT_EOF);
    size_t length = (size_t)(p[0] << 8 | p[1]);
    if (length < LENGTH_BYTES) ERREXIT(jpeg, JERR_BAD_LENGTH);
    if (length > source->bytes_in_buffer) ERREXIT(jpeg, JERR_INPUT_EOF);
    if (r->orientation == 0 && length > LENGTH_BYTES + 4 &&
        memcmp(p + LENGTH_BYTES, "Exif", 4) == 0)
        r->orientation = hu_exif_orientation(p + LENGTH_BYTES, length - LENGTH_BYTES);
    source->skip_input_data(jpeg, (long)length);
    return TRUE;
}

/* The smallest of 1/1 to 1/8 that leaves twice the wanted side. */
static unsigned denominator_for(unsigned width, unsigned height, int64_t side) {
    unsigned shorter = width < height ? width : height, chosen = 1;
    for (unsigned d = 2; d <= 8; d *= 2)
        if ((shorter + d - 1) / d >= 2 * side) chosen = d;
    return chosen;
}

/* Inks are stored as what they leave of white, as Adobe's programs do. In place. */
static void inks_to_colours(hu_image *image) {
    for (int64_t i = 0; i < image->width * image->height; i++) {
        uint8_t ink[INKS], *to = image->pixels + i * HU_IMAGE_CHANNELS;
        memcpy(ink, image->pixels + i * INKS, sizeof ink);
        for (int c = 0; c < HU_IMAGE_CHANNELS; c++)
            to[c] = (uint8_t)((ink[c] * ink[INKS - 1] + 127) / 255);
    }
}

/* Scans of a file: their marker cannot stand within coded data (T.81, annex B.1.1.5). What metadata
 * may hold of it counts too. */
static uint64_t count_scans(const uint8_t *data, size_t bytes) {
    uint64_t scans = 0;
    const uint8_t *end = data + bytes;
    while (data + 1 < end && (data = memchr(data, 0xff, (size_t)(end - data - 1))) != NULL)
        scans += *++data == 0xda;
    return scans;
}

/* A file that promises more pixels than its bytes can hold is refused before they are decoded:
 * every block of 8 x 8 pixels takes one bit at least with Huffman codes (T.81, annex F.2), which
 * are 512 pixels a byte. Twice as many are let through, and 16 times as many visits of a pixel by
 * scans of a progressive file, of which encoders make ten; what costs no time always. With at most
 * 500 scans this bounds what a byte of a file costs. */
static hu_status check_promise(const char *name, unsigned width, unsigned height,
                               const uint8_t *data, size_t bytes) {
    enum { SMALL = 1 << 20, PIXELS_OF_BYTE = 1024, VISITS = 16 };
    uint64_t pixels = (uint64_t)width * height;
    if (pixels > SMALL && pixels / PIXELS_OF_BYTE > bytes)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: damaged JPEG file: found %ux%u pixels in %zu bytes, expected at most "
                       "%d in a byte",
                       name, width, height, bytes, PIXELS_OF_BYTE);
    uint64_t scans = pixels > SMALL ? count_scans(data, bytes) : 0;
    if (scans <= VISITS || pixels * scans / PIXELS_OF_BYTE / VISITS <= bytes) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: damaged JPEG file: found %llu scans of %ux%u pixels in %zu bytes, expected "
                   "fewer",
                   name, (unsigned long long)scans, width, height, bytes);
}

static void read_rows(struct jpeg_decompress_struct *jpeg, uint8_t *pixels, size_t row_bytes) {
    JSAMPROW row[ROWS];
    while (jpeg->output_scanline < jpeg->output_height) {
        JDIMENSION left = jpeg->output_height - jpeg->output_scanline;
        if (left > ROWS) left = ROWS;
        for (JDIMENSION i = 0; i < left; i++)
            row[i] = pixels + (jpeg->output_scanline + i) * row_bytes;
        jpeg_read_scanlines(jpeg, row, left);
    }
}

/* Columns of a picture that are decoded. */
typedef struct columns {
    int64_t left, end;
} columns;

/* What hu_image_shrink reads of `width` columns beside `height` rows, and some more: the middle
 * square may lie a place beside, where the picture is turned, and a place reads as far as it is
 * wide, or one pixel. */
static columns middle_of(int64_t width, int64_t height, int64_t side) {
    int64_t shorter = width < height ? width : height, made = width * side / shorter;
    int64_t left = (made - side) / 2 - 1, end = left + side + 2;
    int64_t reach = shorter / side + 2;
    columns c = {left * width / made - reach, (end * width + made - 1) / made + reach};
    c.left = c.left > 0 ? c.left : 0;
    c.end = c.end < width ? c.end : width;
    return c;
}

/* Has the other columns neither transformed nor converted; their codes are read. Beside what is cut
 * off, libjpeg takes the chroma of one column for its neighbour's: a block more on either side
 * keeps that away. Scans of a part each are smoothed where some are missing, and left whole. The
 * column that comes first. */
static int64_t cut_to_middle(struct jpeg_decompress_struct *jpeg, int64_t side) {
    int64_t width = jpeg->output_width, block = jpeg->max_h_samp_factor * DCTSIZE;
    columns c = middle_of(width, jpeg->output_height, side);
    c.left -= block;
    c.end += block;
    if (jpeg_has_multiple_scans(jpeg) || (c.left < block && c.end > width - block)) return 0;
    JDIMENSION left = (JDIMENSION)(c.left > 0 ? c.left : 0);
    JDIMENSION count = (JDIMENSION)(c.end < width ? c.end : width) - left;
    jpeg_crop_scanline(jpeg, &left, &count);
    return left;
}

/* Left by longjmp where libjpeg fails; the image is in the hands of the caller and freed by it. */
static hu_status decode(reading *r, const uint8_t *data, size_t bytes, int64_t side,
                        bool only_middle, hu_image *image) {
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    jpeg_mem_src(jpeg, data, bytes);
    jpeg_set_marker_processor(jpeg, JPEG_APP0 + 1, read_exif);
    jpeg_read_header(jpeg, TRUE);
    unsigned width = jpeg->image_width, height = jpeg->image_height;
    /* Both are four inks; YCCK is CMYK with its first three turned into luma and chroma. */
    bool has_inks = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    hu_status st = hu_image_check(r->name, width, height);
    if (st == HU_OK) st = check_promise(r->name, width, height, data, bytes);
    if (st != HU_OK) return st;
    /* The reduced size is never more than what was checked above. */
    jpeg->scale_num = 1;
    jpeg->scale_denom = denominator_for(width, height, side);
    jpeg->out_color_space = has_inks ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(jpeg);
    size_t channels = has_inks ? INKS : HU_IMAGE_CHANNELS;
    st = hu_image_reserve(r->name, jpeg->output_width, jpeg->output_height, channels, image);
    if (st != HU_OK) return st;
    size_t row_bytes = jpeg->output_width * channels, left = 0;
    if (only_middle && !has_inks) left = (size_t)cut_to_middle(jpeg, side);
    read_rows(jpeg, image->pixels + left * channels, row_bytes);
    jpeg_finish_decompress(jpeg);
    image->orientation = r->orientation;
    if (has_inks) inks_to_colours(image);
    return HU_OK;
}

/* The reading is the caller's: what longjmp leaves of it is as it was written. */
static hu_status run(reading *r, const uint8_t *data, size_t bytes, int64_t side, bool only_middle,
                     hu_image *image) {
    if (setjmp(r->left) != 0) return r->status;
    jpeg_create_decompress(&r->jpeg); /* keeps err and client_data */
    r->jpeg.progress = &r->progress;
    return decode(r, data, bytes, side, only_middle, image);
}

hu_status hu_image_decode_jpeg(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                               bool only_middle, hu_image *image) {
    reading r = {.name = name, .status = HU_OK};
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = leave;
    r.errors.emit_message = hear;
    r.progress.progress_monitor = watch_scans;
    r.jpeg.client_data = &r;
    hu_status st = run(&r, data, bytes, side, only_middle, image);
    jpeg_destroy_decompress(&r.jpeg);
    if (st != HU_OK) hu_image_free(image);
    return st;
}
