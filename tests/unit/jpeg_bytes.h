/* JPEG files for tests, by libjpeg. */
#ifndef TEST_JPEG_BYTES_H
#define TEST_JPEG_BYTES_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* What of a picture is written, and how. */
typedef struct jpeg_kind {
    J_COLOR_SPACE given, stored; /* of the pixels, and of the file */
    int across, down;            /* pixels of a side that share their chroma */
    int quality;
    bool is_progressive;
    int planes;       /* above 0: progressive, each coefficient in so many scans of its
                         own, from its leading bits to the last one */
    unsigned restart; /* blocks between restart markers; 0: there are none */
} jpeg_kind;

/* The scans of planes: averages of all components, then coefficient by coefficient. */
static inline void jpeg_plan_planes(struct jpeg_compress_struct *jpeg, int planes,
                                    jpeg_scan_info *scan) {
    enum { COEFFICIENTS = 64 };
    int count = 0;
    scan[count++] =
        (jpeg_scan_info){.comps_in_scan = jpeg->num_components, .component_index = {0, 1, 2}};
    for (int c = 0; c < jpeg->num_components; c++)
        for (int k = 1; k < COEFFICIENTS; k++)
            for (int plane = 0; plane < planes; plane++)
                scan[count++] = (jpeg_scan_info){.comps_in_scan = 1,
                                                 .component_index = {c},
                                                 .Ss = k,
                                                 .Se = k,
                                                 .Ah = plane > 0 ? planes - plane : 0,
                                                 .Al = planes - 1 - plane};
    jpeg->scan_info = scan;
    jpeg->num_scans = count;
}

/* pixels [height, width, channels of kind->given]. The file, of *bytes; freed with free. */
static inline uint8_t *jpeg_file(const uint8_t *pixels, int width, int height,
                                 const jpeg_kind *kind, size_t *bytes) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    static jpeg_scan_info scans[1024];
    unsigned char *made = NULL;
    unsigned long count = 0;
    jpeg.err = jpeg_std_error(&errors); /* which ends the process */
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &made, &count);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.in_color_space = kind->given;
    jpeg.input_components = kind->given == JCS_GRAYSCALE ? 1 : kind->given == JCS_RGB ? 3 : 4;
    jpeg_set_defaults(&jpeg);
    jpeg_set_colorspace(&jpeg, kind->stored);
    jpeg_set_quality(&jpeg, kind->quality, TRUE);
    jpeg.comp_info[0].h_samp_factor = kind->across;
    jpeg.comp_info[0].v_samp_factor = kind->down;
    jpeg.restart_interval = kind->restart;
    if (kind->is_progressive) jpeg_simple_progression(&jpeg);
    if (kind->planes > 0) jpeg_plan_planes(&jpeg, kind->planes, scans);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < height; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)(y * width * jpeg.input_components));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    *bytes = count;
    uint8_t *copy = malloc(count); /* gcc takes what libjpeg gave for the address of a local */
    memcpy(copy, made, count);
    free(made);
    return copy;
}

static const jpeg_kind jpeg_of_colours = {JCS_RGB, JCS_YCbCr, 1, 1, 90, false, 0, 0};
static const jpeg_kind jpeg_of_grey = {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, 95, false, 0, 0};
static const jpeg_kind jpeg_of_inks = {JCS_CMYK, JCS_CMYK, 1, 1, 95, false, 0, 0};

/* Colours with chroma of half the width, or of half the width and height. */
static inline jpeg_kind jpeg_with_less_chroma(bool in_both) {
    jpeg_kind kind = jpeg_of_colours;
    kind.across = 2;
    kind.down = in_both ? 2 : 1;
    return kind;
}

#endif
