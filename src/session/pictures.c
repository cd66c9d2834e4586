#include "session/pictures.h"

#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_files.h"
#include "session/sheet.h"

/* Pixels around and between the pictures, and between two pairs of rows; of a sheet's width, where
 * more than one picture has room: what pages show without making it smaller. */
enum { GAP = 2, PAIR_GAP = 6, WIDE = 1000, REAL = 0, MADE, ROWS };

/* The nearest byte of a number in 0..1; black where it is none. */
static uint8_t to_byte(float x) {
    if (!(x > 0.0f)) return 0;
    return x >= 1.0f ? 255 : (uint8_t)(255.0f * x + 0.5f);
}

/* rows [count, height, width, channels] into the first or second rows of the sheet's pairs. */
static hu_status put_rows(const hu_sheet *s, int64_t row, int64_t count, const float *rows) {
    int64_t numbers = s->height * s->width * s->channels;
    uint8_t *picture = NULL;
    hu_status st = HU_NEW_ARRAY(&picture, (size_t)numbers);
    if (st != HU_OK) return st;
    for (int64_t p = 0; p < count; p++, rows += numbers) {
        for (int64_t i = 0; i < numbers; i++) picture[i] = to_byte(rows[i]);
        hu_sheet_put(s, p / s->columns * ROWS + row, p % s->columns, picture);
    }
    hu_free(picture);
    return HU_OK;
}

/* The lesser, at least one. */
static int64_t at_most(int64_t wanted, int64_t most) {
    return wanted < most ? wanted : most > 0 ? most : 1;
}

/* A sheet of so many pictures in pairs of rows, or of as many as a file has room for, which goes to
 * *count. */
static hu_sheet lay_out(const hu_shape *shape, int64_t *count) {
    hu_sheet s = {.height = shape->extent[0],
                  .width = shape->extent[1],
                  .channels = shape->extent[2],
                  .gap = GAP,
                  .border = GAP,
                  .group = ROWS,
                  .group_gap = PAIR_GAP};
    int64_t most_pairs = (HU_IMAGE_WRITE_MOST - GAP) / (ROWS * (s.height + GAP) + PAIR_GAP);
    s.columns = at_most(*count, (WIDE - GAP) / (s.width + GAP));
    *count = at_most(*count, s.columns * at_most(most_pairs, most_pairs));
    int64_t pairs = (*count + s.columns - 1) / s.columns;
    s.columns = (*count + pairs - 1) / pairs; /* the last is as full as can be */
    s.rows = pairs * ROWS;
    return s;
}

/* Of so many samples, or all that there are, or as many as a picture holds. */
static hu_status draw_sheet(hu_trainer *trainer, hu_half half, int64_t wanted, const char *path) {
    hu_status st = HU_OK;
    int64_t there = hu_trainer_samples(trainer, half);
    const hu_shape *shape = hu_trainer_picture(trainer);
    float *real = NULL, *made = NULL;
    int64_t count = wanted < there ? wanted : there;
    hu_sheet s = lay_out(shape, &count);
    size_t numbers = (size_t)(count * hu_shape_elements(shape));
    HU_TRY(HU_NEW_ARRAY(&real, numbers));
    HU_TRY(HU_NEW_ARRAY(&made, numbers));
    HU_TRY(hu_trainer_draw(trainer, half, count, real, made));
    HU_TRY(hu_sheet_create(&s));
    HU_TRY(put_rows(&s, REAL, count, real));
    HU_TRY(put_rows(&s, MADE, count, made));
    st = hu_sheet_write(&s, path);
done:
    hu_sheet_free(&s);
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
                       "pictures: the task %s has no pictures of one or three channels to draw",
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
    HU_TRY(hu_directory_add(directory));
    HU_TRY(hu_path_join(directory, name, &path));
    st = draw_sheet(trainer, half, wanted, path);
done:
    hu_free(path);
    hu_free(directory);
    return st;
}
