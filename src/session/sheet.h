/* session/sheet.h - pictures of one size in rows on white, as one PNG file. */
#ifndef HU_SESSION_SHEET_H
#define HU_SESSION_SHEET_H
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_sheet {
    int64_t rows, columns;           /* of pictures */
    int64_t height, width, channels; /* of each; 1 or 3 channels */
    int64_t gap, border;             /* pixels between the pictures, and around them all */
    int64_t group, group_gap;        /* rows that belong together, and pixels more between two such
                                        groups; group 0: all rows are one */
    uint8_t *pixels;                 /* private */
} hu_sheet;

/* Makes room for a sheet whose sizes are set; all of it is white. Owner frees with hu_sheet_free.
 */
hu_status hu_sheet_create(hu_sheet *sheet);
void hu_sheet_free(hu_sheet *sheet);

/* Copies a picture [height, width, channels] to its place. */
void hu_sheet_put(const hu_sheet *sheet, int64_t row, int64_t column, const uint8_t *picture);

/* HU_ERR_LIMIT: too wide or high (data/image_files.h); HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_sheet_write(const hu_sheet *sheet, const char *path);

#endif
