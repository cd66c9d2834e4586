#include "data/spatial.h"

#include <string.h>

/* Extents of a field, channels 1 where it has none. */
typedef struct extents {
    int64_t height, width, channels, margin;
} extents;

/* A field of rank 2 is a map of one channel. */
static extents extents_of(const hu_field *field) {
    int64_t channels = field->rank > 2 ? field->extent[2] : 1;
    return (extents){field->extent[0], field->extent[1], channels, field->margin};
}

const uint8_t *hu_spatial_sample(const hu_field *field, const void *rows, int64_t index) {
    extents e = extents_of(field);
    int64_t bytes = (e.height + 2 * e.margin) * (e.width + 2 * e.margin) * e.channels;
    return (const uint8_t *)rows + index * bytes;
}

/* The pixel at place i of n that go on as their mirror image: 2 1 0 1 2 ... n-2 n-1 n-2 ... */
static int64_t mirrored(int64_t i, int64_t n) {
    if (n == 1) return 0;
    int64_t period = 2 * (n - 1);
    i = (i < 0 ? -i : i) % period;
    return i < n ? i : period - i;
}

/* Pixels of which nothing is stored. */
static void fill_outside(const extents *e, const hu_byte_table *table, int64_t count, float *out) {
    for (int64_t x = 0; x < count; x++)
        for (int64_t c = 0; c < e->channels; c++) out[e->channels * x + c] = table->outside[c];
}

/* Target columns first..first+count-1, whose pixels the shift brought in from beyond the stored
 * image; row is the stored one, values the target's. */
static void fill_beyond(const extents *e, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *row, int64_t first, int64_t count, float *values) {
    if (!change->reflect) {
        fill_outside(e, table, count, values + e->channels * first);
        return;
    }
    for (int64_t x = first; x < first + count; x++) {
        int64_t source = (change->flip ? e->width - 1 - x : x) + change->shift_x + e->margin;
        const uint8_t *pixel = row + mirrored(source, e->width + 2 * e->margin) * e->channels;
        for (int64_t c = 0; c < e->channels; c++)
            values[e->channels * x + c] = table->lookup.value[pixel[c]][c];
    }
}

/* One row of the result from one row of what is stored. */
static void fill_row(const extents *e, const hu_byte_table *table, const hu_change *change,
                     const uint8_t *row, float *out) {
    int64_t shift = change->shift_x;
    /* Before the mirror, target columns low..high-1 lie inside of what is stored. */
    int64_t low = shift < -e->margin ? -e->margin - shift : 0;
    int64_t high = shift > e->margin ? e->width + e->margin - shift : e->width;
    low = low < e->width ? low : e->width;
    high = high > low ? high : low;
    int64_t left = change->flip ? e->width - high : low; /* columns outside, before and behind */
    int64_t right = change->flip ? low : e->width - high;
    int64_t inside = high - low, first = (change->flip ? high - 1 : low) + shift + e->margin;
    fill_beyond(e, table, change, row, 0, left, out);
    if (inside > 0)
        hu_lookup_here()->row(&table->lookup, row + first * e->channels, change->flip, inside,
                              e->channels, out + left * e->channels);
    fill_beyond(e, table, change, row, e->width - right, right, out);
}

/* 0 is the mean of a normalised image: cutout (DeVries and Taylor 2017). */
static void cut_out(const extents *e, const hu_change *change, float *sample) {
    for (int64_t y = change->cut_y; y < change->cut_y + change->cut; y++) {
        float *row = sample + (y * e->width + change->cut_x) * e->channels;
        for (int64_t i = 0; i < change->cut * e->channels; i++) row[i] = 0.0f;
    }
}

static void fill_moved(const extents *e, const hu_byte_table *table, const hu_change *change,
                       const uint8_t *bytes, float *sample) {
    int64_t row = e->width * e->channels, stored_row = (e->width + 2 * e->margin) * e->channels;
    int64_t stored_rows = e->height + 2 * e->margin;
    for (int64_t y = 0; y < e->height; y++) {
        int64_t source = y + change->shift_y + e->margin;
        if (change->reflect) source = mirrored(source, stored_rows);
        if (source < 0 || source >= stored_rows)
            fill_outside(e, table, e->width, sample + y * row);
        else
            fill_row(e, table, change, bytes + source * stored_row, sample + y * row);
    }
}

/* Target (y, x) is source (y, x), or (x, y); then both may count from the other end. */
static void fill_turned(const extents *e, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *bytes, float *sample) {
    for (int64_t y = 0; y < e->height; y++)
        for (int64_t x = 0; x < e->width; x++, sample += e->channels) {
            int64_t row = change->transposes ? x : y, column = change->transposes ? y : x;
            if (change->upside) row = e->height - 1 - row;
            if (change->flip) column = e->width - 1 - column;
            const uint8_t *pixel = bytes + (row * e->width + column) * e->channels;
            for (int64_t c = 0; c < e->channels; c++) sample[c] = table->lookup.value[pixel[c]][c];
        }
}

void hu_spatial_fill(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                     const uint8_t *bytes, float *sample) {
    extents e = extents_of(field);
    if (change->upside || change->transposes) {
        fill_turned(&e, table, change, bytes, sample);
        return;
    }
    /* Nothing moves: the whole image is one run of pixels. */
    if (!change->shift_x && !change->shift_y && !change->flip && !e.margin)
        hu_lookup_here()->row(&table->lookup, bytes, false, e.height * e.width, e.channels, sample);
    else
        fill_moved(&e, table, change, bytes, sample);
    cut_out(&e, change, sample);
}

/* Where target pixel (y, x) is stored; false: outside of it. */
static bool find_source(const extents *e, const hu_change *change, int64_t y, int64_t x,
                        int64_t *row, int64_t *column) {
    int64_t rows = e->height + 2 * e->margin, columns = e->width + 2 * e->margin;
    *row = change->transposes ? x : y;
    *column = change->transposes ? y : x;
    if (change->upside) *row = e->height - 1 - *row;
    if (change->flip) *column = e->width - 1 - *column;
    *row += change->shift_y + e->margin;
    *column += change->shift_x + e->margin;
    if (change->reflect) {
        *row = mirrored(*row, rows);
        *column = mirrored(*column, columns);
    }
    return *row >= 0 && *row < rows && *column >= 0 && *column < columns;
}

void hu_spatial_pixels(const hu_field *field, const hu_change *change, const uint8_t *bytes,
                       uint8_t *pixels) {
    extents e = extents_of(field);
    size_t channels = (size_t)e.channels;
    for (int64_t y = 0; y < e.height; y++)
        for (int64_t x = 0; x < e.width; x++, pixels += channels) {
            int64_t row, column, stored_row = e.width + 2 * e.margin;
            if (find_source(&e, change, y, x, &row, &column))
                memcpy(pixels, bytes + (row * stored_row + column) * e.channels, channels);
            else
                memset(pixels, 0, channels);
        }
}

void hu_spatial_look_up(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *pixels, float *sample) {
    extents e = extents_of(field);
    hu_lookup_here()->row(&table->lookup, pixels, false, e.height * e.width, e.channels, sample);
    cut_out(&e, change, sample);
}
