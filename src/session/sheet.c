#include "session/sheet.h"

#include <string.h>

#include "base/memory.h"
#include "data/image_files.h"

enum { WHITE = 255 };

/* Where a row of pictures begins. */
static int64_t top_of(const hu_sheet *s, int64_t row) {
    int64_t groups_above = s->group > 0 ? row / s->group : 0;
    return s->border + row * (s->height + s->gap) + groups_above * s->group_gap;
}

static int64_t height_of(const hu_sheet *s) {
    return top_of(s, s->rows - 1) + s->height + s->border;
}

static int64_t width_of(const hu_sheet *s) {
    return 2 * s->border + s->columns * (s->width + s->gap) - s->gap;
}

hu_status hu_sheet_create(hu_sheet *sheet) {
    size_t bytes = (size_t)(height_of(sheet) * width_of(sheet) * sheet->channels);
    hu_status st = HU_NEW_ARRAY(&sheet->pixels, bytes);
    if (st == HU_OK) memset(sheet->pixels, WHITE, bytes);
    return st;
}

void hu_sheet_free(hu_sheet *sheet) {
    hu_free(sheet->pixels);
    sheet->pixels = NULL;
}

void hu_sheet_put(const hu_sheet *sheet, int64_t row, int64_t column, const uint8_t *picture) {
    int64_t top = top_of(sheet, row);
    int64_t left = sheet->border + column * (sheet->width + sheet->gap);
    int64_t numbers = sheet->width * sheet->channels;
    for (int64_t y = 0; y < sheet->height; y++)
        memcpy(sheet->pixels + ((top + y) * width_of(sheet) + left) * sheet->channels,
               picture + y * numbers, (size_t)numbers);
}

hu_status hu_sheet_write(const hu_sheet *sheet, const char *path) {
    return hu_image_write_png(path, height_of(sheet), width_of(sheet), sheet->channels,
                              sheet->pixels);
}
