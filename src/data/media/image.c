#include "media/image.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#include <jerror.h>

#include <webp/decode.h>
#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "media/png_input.h"

static _Atomic int64_t most_pixels = HU_IMAGE_PIXELS_MAX;

void hu_image_limit(int64_t pixels) {
    atomic_store(&most_pixels, pixels);
}

hu_status hu_image_check(const char *name, int64_t width, int64_t height) {
    if (width < 1 || height < 1)
        return hu_fail(HU_ERR_CORRUPT, "%s: found an image of %lldx%lld pixels", name,
                       (long long)width, (long long)height);
    int64_t most = atomic_load(&most_pixels);
    /* The division cannot overflow as the product could: a header of a few bytes can claim any
     * size. */
    if (width > most / height)
        return hu_fail(HU_ERR_LIMIT, "%s: found %lldx%lld pixels, expected at most %lld", name,
                       (long long)width, (long long)height, (long long)most);
    return HU_OK;
}

hu_status hu_image_reserve(const char *name, int64_t width, int64_t height, size_t pixel_bytes,
                           hu_image *image) {
    enum { ODD = 1 };
    hu_scratch room = image->room;
    *image = (hu_image){0};
    hu_status st = hu_image_check(name, width, height);
    size_t bytes = st == HU_OK ? (size_t)(width * height) * pixel_bytes : 0;
    uint8_t *block = NULL;
    if (st == HU_OK) st = hu_scratch_take(&room, bytes + ODD, &block);
    if (st == HU_OK)
        *image = (hu_image){.width = width, .height = height, .pixels = block + ODD, .room = room};
    else
        hu_scratch_free(&room);
    return st;
}

void hu_image_free(hu_image *image) {
    hu_scratch_free(&image->room);
    *image = (hu_image){0};
}

/* ---- How a camera was held, as a picture's EXIF block has it ---- */

enum { UPRIGHT = 1, MOST = 8 };

typedef struct exif_block {
    const uint8_t *data;
    size_t bytes;
    bool is_big_endian;
} exif_block;

/* Of two or four bytes, which are present. */
static uint32_t number_at(const exif_block *b, size_t at, size_t bytes) {
    uint32_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | b->data[at + (b->is_big_endian ? i : bytes - 1 - i)];
    return number;
}

/* The orientation of a directory of 12-byte entries: tag, type, count, value. */
static int find_orientation(const exif_block *b, size_t at) {
    enum { COUNT_BYTES = 2, ENTRY_BYTES = 12, TAG = 0x0112, TYPE_SHORT = 3 };
    if (b->bytes < COUNT_BYTES || at > b->bytes - COUNT_BYTES) return UPRIGHT;
    size_t entries = number_at(b, at, COUNT_BYTES);
    for (at += COUNT_BYTES; entries > 0 && b->bytes - at >= ENTRY_BYTES; entries--) {
        if (number_at(b, at, 2) == TAG && number_at(b, at + 2, 2) == TYPE_SHORT &&
            number_at(b, at + 4, 4) == 1) {
            uint32_t value = number_at(b, at + 8, 2);
            return value >= UPRIGHT && value <= MOST ? (int)value : UPRIGHT;
        }
        at += ENTRY_BYTES;
    }
    return UPRIGHT;
}

int hu_exif_orientation(const uint8_t *data, size_t bytes) {
    static const uint8_t mark[] = {'E', 'x', 'i', 'f', 0, 0};
    enum { HEAD_BYTES = 8, MAGIC = 42 };
    exif_block b = {.data = data, .bytes = bytes};
    if (bytes >= sizeof mark && memcmp(data, mark, sizeof mark) == 0) {
        b.data += sizeof mark;
        b.bytes -= sizeof mark;
    }
    if (b.bytes < HEAD_BYTES) return UPRIGHT;
    b.is_big_endian = memcmp(b.data, "MM", 2) == 0;
    if (!b.is_big_endian && memcmp(b.data, "II", 2) != 0) return UPRIGHT;
    return number_at(&b, 2, 2) == MAGIC ? find_orientation(&b, number_at(&b, 4, 4)) : UPRIGHT;
}

/* ---- image png ---- */

/* PNG by libpng's own interface: the simplified one would apply gAMA, which changes pixels. */

/* Every kind as three bytes a pixel, as they are: palettes are looked up, 16 bits are divided by
 * 257, transparency is dropped, gamma and profiles are not applied. */
static void choose_form(png_structp png) {
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
}

/* Left by longjmp where libpng fails; the image is in the hands of the caller and freed by it. */
static hu_status read_pixels(const char *name, png_structp png, png_infop info, hu_image *image) {
    hu_png_pass_over(png);
    png_read_info(png, info);
    hu_status st = hu_image_reserve(name, png_get_image_width(png, info),
                                    png_get_image_height(png, info), HU_IMAGE_CHANNELS, image);
    if (st != HU_OK) return st;
    choose_form(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    int64_t row = image->width * HU_IMAGE_CHANNELS;
    if (png_get_rowbytes(png, info) != (size_t)row)
        return hu_fail(HU_ERR_INTERNAL, "%s: rows of %zu bytes, expected %lld", name,
                       png_get_rowbytes(png, info), (long long)row);
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < image->height; y++)
            png_read_row(png, image->pixels + y * row, NULL);
    return HU_OK;
}

/* The orientation of the chunk eXIf, before or after the pixels, 0 without a whole one: chunks are
 * a length, a name, contents and a checksum of the last two (PNG specification, 5.3). */
static int image_png_find_orientation(const uint8_t *data, size_t bytes) {
    enum { SIGNATURE = 8, LENGTH = 4, NAME = 4, AROUND = 12 };
    for (size_t at = SIGNATURE; bytes >= AROUND && at <= bytes - AROUND;) {
        const uint8_t *p = data + at, *name = p + LENGTH, *contents = name + NAME;
        size_t length = png_get_uint_32(p);
        if (length > bytes - at - AROUND) return 0;
        if (memcmp(name, "IEND", NAME) == 0) return 0;
        if (memcmp(name, "eXIf", NAME) == 0 &&
            crc32(0, name, (uInt)(NAME + length)) == png_get_uint_32(contents + length))
            return hu_exif_orientation(contents, length);
        at += AROUND + length;
    }
    return 0;
}

static hu_status hu_image_decode_png(const char *name, const uint8_t *data, size_t bytes,
                                     hu_image *image) {
    hu_png_input in = {.data = data, .bytes = bytes};
    png_infop info;
    hu_status st;
    png_structp png = hu_png_open(&in, &info);
    if (!png) {
        hu_image_free(image);
        return hu_fail(HU_ERR_MEMORY, "%s: no memory for a PNG decoder", name);
    }
    if (setjmp(png_jmpbuf(png)) == 0)
        st = read_pixels(name, png, info, image);
    else
        st = hu_png_fail(name, &in);
    if (st == HU_OK) image->orientation = image_png_find_orientation(data, bytes);
    png_destroy_read_struct(&png, &info, NULL);
    if (st != HU_OK) hu_image_free(image);
    return st;
}

/* ---- WebP by libwebp: a single picture, with or without losses ---- */

static hu_status fail(const char *name, VP8StatusCode code) {
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to decode the WebP file", name);
    if (code == VP8_STATUS_UNSUPPORTED_FEATURE)
        return hu_fail(HU_ERR_KIND,
                       "%s: found a WebP file that moves, or of a kind that libwebp does not read, "
                       "expected a single picture",
                       name);
    return hu_fail(HU_ERR_CORRUPT, "%s: damaged WebP file: %s", name,
                   code == VP8_STATUS_NOT_ENOUGH_DATA ? "the file is cut off"
                                                      : "its bytes are no picture");
}

/* The chunk EXIF of a file: names of four letters, sizes, and contents of an even number of bytes
 * (WebP container specification). 0: there is none. libwebpdemux would find it too, but without
 * memory it would say that there is none. */
static int webp_orientation(const uint8_t *data, size_t bytes) {
    enum { RIFF_BYTES = 12, NAME_BYTES = 4, HEAD_BYTES = 8 };
    for (size_t at = RIFF_BYTES; bytes >= HEAD_BYTES && at <= bytes - HEAD_BYTES;) {
        const uint8_t *p = data + at + NAME_BYTES;
        uint64_t size =
            (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
        size_t left = bytes - at - HEAD_BYTES;
        if (size > left) return 0;
        if (memcmp(data + at, "EXIF", NAME_BYTES) == 0)
            return hu_exif_orientation(p + NAME_BYTES, (size_t)size);
        if (size + size % 2 > left) return 0;
        at += HEAD_BYTES + (size_t)(size + size % 2);
    }
    return 0;
}

/* Transparency is dropped: colours stay as the file has them. */
static hu_status hu_image_decode_webp(const char *name, const uint8_t *data, size_t bytes,
                                      hu_image *image) {
    WebPDecoderConfig config;
    VP8StatusCode code = VP8_STATUS_INVALID_PARAM;
    if (WebPInitDecoderConfig(&config)) code = WebPGetFeatures(data, bytes, &config.input);
    if (code == VP8_STATUS_OK && config.input.has_animation) code = VP8_STATUS_UNSUPPORTED_FEATURE;
    hu_status st = code == VP8_STATUS_OK ? HU_OK : fail(name, code);
    int width = config.input.width, height = config.input.height;
    if (st == HU_OK) st = hu_image_reserve(name, width, height, HU_IMAGE_CHANNELS, image);
    if (st == HU_OK) {
        config.output.colorspace = MODE_RGB;
        config.output.is_external_memory = 1;
        config.output.u.RGBA.rgba = image->pixels;
        config.output.u.RGBA.stride = HU_IMAGE_CHANNELS * width;
        config.output.u.RGBA.size = (size_t)width * (size_t)height * HU_IMAGE_CHANNELS;
        code = WebPDecode(data, bytes, &config);
        WebPFreeDecBuffer(&config.output);
        if (code != VP8_STATUS_OK) st = fail(name, code);
    }
    if (st == HU_OK) image->orientation = webp_orientation(data, bytes);
    if (st != HU_OK) hu_image_free(image);
    return st;
}

/* ---- image jpeg ---- */

/* JPEG by libjpeg-turbo, through libjpeg's own interface: TurboJPEG's tells the first warning of a
 * file alone, which may be a harmless one. */

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
static hu_status decode_rows(reading *r, const uint8_t *data, size_t bytes, int64_t side,
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
    return decode_rows(r, data, bytes, side, only_middle, image);
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

/* ---- A picture from the bytes of a file of any known format ---- */

/* What else the first bytes may be, and the command that makes something of it that is read. */
typedef struct kind {
    const char *mark, *name, *command; /* command NULL: none is known */
    size_t offset, length;
} kind;

#define IMAGEMAGICK "convert FILE FILE.png"
#define LIBHEIF "heif-convert FILE FILE.jpg"

static const kind *kind_of(const uint8_t *data, size_t bytes) {
    static const kind known[] = {{"GIF8", "a GIF", "convert 'FILE[0]' FILE.png", 0, 4},
                                 {"BM", "a BMP", IMAGEMAGICK, 0, 2},
                                 {"II*\0", "a TIFF", IMAGEMAGICK, 0, 4},
                                 {"MM\0*", "a TIFF", IMAGEMAGICK, 0, 4},
                                 {"ftypavif", "an AVIF", LIBHEIF, 4, 8},
                                 {"ftypheic", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftypheix", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftypmif1", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftypmsf1", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftyp", "a video or HEIC", LIBHEIF, 4, 4},
                                 {"\0\0\0\014JXL ", "a JPEG XL", "djxl FILE FILE.png", 0, 8},
                                 {"\377\012", "a JPEG XL", "djxl FILE FILE.png", 0, 2},
                                 {"\0\0\0\014jP  ", "a JPEG 2000", IMAGEMAGICK, 0, 8},
                                 {"%PDF", "a PDF", "pdftoppm -png FILE FILE", 0, 4},
                                 {"<svg", "an SVG", "rsvg-convert FILE -o FILE.png", 0, 4},
                                 {"<?xml", "an XML", NULL, 0, 5},
                                 {"<!DOCTYPE", "an HTML", NULL, 0, 9},
                                 {"<html", "an HTML", NULL, 0, 5}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].offset + known[i].length &&
            memcmp(data + known[i].offset, known[i].mark, known[i].length) == 0)
            return &known[i];
    return NULL;
}

/* HU_OK where the first bytes are those of no kind that is known. */
static hu_status fail_foreign(const char *name, const uint8_t *data, size_t bytes) {
    const kind *found = kind_of(data, bytes);
    if (!found) return HU_OK;
    return hu_fail(HU_ERR_KIND, "%s: found %s file, expected JPEG, PNG or WebP%s%s%s", name,
                   found->name, found->command ? ": '" : "", found->command ? found->command : "",
                   found->command ? "' converts it" : "");
}

/* A RIFF file of this kind (WebP container specification). */
static bool is_webp(const uint8_t *data, size_t bytes) {
    enum { SIZE_BYTES = 4 };
    return bytes >= 12 && memcmp(data, "RIFF", 4) == 0 &&
           memcmp(data + 4 + SIZE_BYTES, "WEBP", 4) == 0;
}

typedef enum format { JPEG, PNG, WEBP, NONE } format;

/* SOI and the first byte of the next marker (ITU-T T.81, annex B); the first half of the PNG
 * signature (PNG specification, 5.2). Endings of names are not asked. */
static format format_of(const uint8_t *data, size_t bytes) {
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff}, png[] = {0x89, 'P', 'N', 'G'};
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0) return JPEG;
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0) return PNG;
    return is_webp(data, bytes) ? WEBP : NONE;
}

/* Of bytes of no format that is read. */
static hu_status fail_unknown(const char *name, const uint8_t *data, size_t bytes) {
    if (bytes == 0) return hu_fail(HU_ERR_CORRUPT, "%s: found an empty file", name);
    hu_status st = fail_foreign(name, data, bytes);
    if (st != HU_OK) return st;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: offset 0: found byte 0x%02x, expected a JPEG, PNG or WebP file", name,
                   data[0]);
}

static hu_status decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                        bool only_middle, hu_image *image) {
    switch (format_of(data, bytes)) {
    case JPEG:
        return hu_image_decode_jpeg(name, data, bytes, side, only_middle, image);
    case PNG:
        return hu_image_decode_png(name, data, bytes, image);
    case WEBP:
        return hu_image_decode_webp(name, data, bytes, image);
    case NONE:
        break;
    }
    hu_image_free(image);
    return fail_unknown(name, data, bytes);
}

hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image) {
    return decode(name, data, bytes, side, false, image);
}

/* Not blocked by a pipe, which is no picture. */
hu_status hu_image_check_head(const char *path) {
    uint8_t head[32];
    struct stat facts;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return hu_io_fail(path, "cannot open", errno);
    bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    ssize_t bytes = is_file ? read(file, head, sizeof head) : 0;
    int error = errno;
    close(file);
    if (!is_file) return hu_fail(HU_ERR_CORRUPT, "%s: found no regular file", path);
    if (bytes < 0) return hu_io_fail(path, "cannot read", error);
    if (format_of(head, (size_t)bytes) != NONE) return HU_OK;
    return fail_unknown(path, head, (size_t)bytes);
}

static hu_status read_file(const char *path, int64_t side, bool only_middle,
                           hu_image_scratch *room) {
    size_t bytes;
    hu_status st = hu_file_read_room(path, HU_IMAGE_FILE_MAX, &room->file, &bytes);
    if (st == HU_OK) return decode(path, room->file.block, bytes, side, only_middle, &room->image);
    hu_image_free(&room->image);
    return st;
}

hu_status hu_image_read(const char *path, int64_t side, hu_image_scratch *room) {
    return read_file(path, side, false, room);
}

hu_status hu_image_read_upright(const char *path, int64_t side, hu_image_scratch *room) {
    hu_status st = hu_image_read(path, side, room);
    return st == HU_OK ? hu_image_turn(path, &room->image) : st;
}

hu_status hu_image_read_square(const char *path, int64_t side, uint8_t *square,
                               hu_image_scratch *room) {
    hu_status st = read_file(path, side, true, room);
    if (st == HU_OK) st = hu_image_turn(path, &room->image);
    return st == HU_OK ? hu_image_shrink(&room->image, side, square, &room->resizer) : st;
}

void hu_image_scratch_trim(hu_image_scratch *room) {
    enum { KEPT_BYTES = 1 << 20 };
    if (room->image.room.bytes > KEPT_BYTES) hu_image_free(&room->image);
    if (room->file.bytes > KEPT_BYTES) hu_scratch_free(&room->file);
    if (room->resizer.between.bytes > KEPT_BYTES) hu_image_resizer_free(&room->resizer);
}

void hu_image_scratch_free(hu_image_scratch *room) {
    hu_scratch_free(&room->path);
    hu_scratch_free(&room->file);
    hu_image_free(&room->image);
    hu_image_resizer_free(&room->resizer);
}
