#include "session/pictures.h"

#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_write.h"

/* Pixels around and between the pictures, which are white. */
enum { GAP = 2, WHITE = 255, ROWS = 2 };

typedef struct sheet {
    int64_t count;                   /* pictures in a row */
    int64_t height, width, channels; /* of each */
} sheet;

static int64_t sheet_height(const sheet *s) {
    return GAP + ROWS * (s->height + GAP);
}

static int64_t sheet_width(const sheet *s) {
    return GAP + s->count * (s->width + GAP);
}

/* The nearest byte of a number in 0..1; black where it is none. */
static uint8_t to_byte(float x) {
    if (!(x > 0.0f)) return 0;
    return x >= 1.0f ? WHITE : (uint8_t)(255.0f * x + 0.5f);
}

/* rows [count, height, width, channels] into row number `line` of the sheet. */
static void place(const sheet *s, int line, const float *rows, uint8_t *pixels) {
    int64_t top = GAP + line * (s->height + GAP), numbers = s->width * s->channels;
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t y = 0; y < s->height; y++) {
            int64_t left = GAP + i * (s->width + GAP);
            uint8_t *to = pixels + ((top + y) * sheet_width(s) + left) * s->channels;
            for (int64_t x = 0; x < numbers; x++)
                to[x] = to_byte(rows[(i * s->height + y) * numbers + x]);
        }
}

static hu_status write_sheet(const sheet *s, const float *real, const float *made,
                             const char *path) {
    uint8_t *pixels = NULL;
    int64_t bytes = sheet_height(s) * sheet_width(s) * s->channels;
    hu_status st = HU_NEW_ARRAY(&pixels, (size_t)bytes);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < bytes; i++) pixels[i] = WHITE;
    place(s, 0, real, pixels);
    place(s, 1, made, pixels);
    st = hu_image_write_png(path, sheet_height(s), sheet_width(s), s->channels, pixels);
    hu_free(pixels);
    return st;
}

/* As many pictures as a row has room for. */
static int64_t fitting(const hu_shape *shape, int64_t wanted) {
    int64_t most = (HU_IMAGE_WRITE_MOST - GAP) / (shape->extent[1] + GAP);
    return wanted < most ? wanted : most > 0 ? most : 1;
}

/* Of so many samples, or all that there are, or as many as a picture holds. */
static hu_status draw_sheet(hu_trainer *trainer, hu_half half, int64_t wanted, const char *path) {
    hu_status st = HU_OK;
    int64_t there = hu_trainer_samples(trainer, half);
    const hu_shape *shape = hu_trainer_picture(trainer);
    float *real = NULL, *made = NULL;
    sheet s = {fitting(shape, wanted < there ? wanted : there), shape->extent[0], shape->extent[1],
               shape->extent[2]};
    size_t numbers = (size_t)(s.count * hu_shape_elements(shape));
    HU_TRY(HU_NEW_ARRAY(&real, numbers));
    HU_TRY(HU_NEW_ARRAY(&made, numbers));
    HU_TRY(hu_trainer_draw(trainer, half, s.count, real, made));
    st = write_sheet(&s, real, made, path);
done:
    hu_free(real);
    hu_free(made);
    return st;
}

/* Has the task pictures, of one or three channels? */
static bool can_draw(const hu_trainer *trainer) {
    const hu_shape *shape = hu_trainer_picture(trainer);
    return shape && (shape->extent[2] == 1 || shape->extent[2] == 3);
}

hu_status hu_session_pictures_at(hu_trainer *trainer, hu_half half, int64_t count,
                                 const char *path) {
    enum { MOST = 64 };
    if (!can_draw(trainer))
        return hu_fail(HU_ERR_ARGUMENT,
                       "out.pictures: the task %s has no pictures of one or three channels to draw",
                       hu_trainer_task(trainer)->name);
    return draw_sheet(trainer, half, count < MOST ? count : MOST, path);
}

hu_status hu_session_pictures(const hu_config *config, hu_trainer *trainer, hu_half half,
                              const char *folder) {
    hu_status st = HU_OK;
    int64_t wanted;
    char name[48], *directory = NULL, *path = NULL;
    HU_TRY(hu_config_i64(config, "run.pictures", &wanted));
    if (wanted == 0 || !can_draw(trainer)) return HU_OK;
    snprintf(name, sizeof name, "step-%08lld.png", (long long)hu_trainer_progress(trainer)->step);
    HU_TRY(hu_path_join(folder, "pictures", &directory));
    HU_TRY(hu_directory_create(directory));
    HU_TRY(hu_path_join(directory, name, &path));
    st = draw_sheet(trainer, half, wanted, path);
done:
    hu_free(path);
    hu_free(directory);
    return st;
}
