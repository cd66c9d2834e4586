#include "predict/sample_images.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "media/image_files.h"

/* ---- Pictures of one size in rows on white, as one PNG file ---- */

typedef struct hu_sheet {
    int64_t rows, columns;           /* of pictures */
    int64_t height, width, channels; /* of each; 1 or 3 channels */
    int64_t gap, border;             /* pixels between the pictures, and around them all */
    int64_t group, group_gap;        /* rows that belong together, and pixels more between two such
                                        groups; group 0: all rows are one */
    uint8_t *pixels;                 /* private */
} hu_sheet;

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

/* Makes room for a sheet whose sizes are set; all of it is white. Owner frees with sheet_free.
 */
static hu_status sheet_create(hu_sheet *sheet) {
    size_t bytes = (size_t)(height_of(sheet) * width_of(sheet) * sheet->channels);
    hu_status st = HU_NEW_ARRAY(&sheet->pixels, bytes);
    if (st == HU_OK) memset(sheet->pixels, WHITE, bytes);
    return st;
}

static void sheet_free(hu_sheet *sheet) {
    hu_free(sheet->pixels);
    sheet->pixels = NULL;
}

/* Copies a picture [height, width, channels] to its place. */
static void sheet_put(const hu_sheet *sheet, int64_t row, int64_t column, const uint8_t *picture) {
    int64_t top = top_of(sheet, row);
    int64_t left = sheet->border + column * (sheet->width + sheet->gap);
    int64_t numbers = sheet->width * sheet->channels;
    for (int64_t y = 0; y < sheet->height; y++)
        memcpy(sheet->pixels + ((top + y) * width_of(sheet) + left) * sheet->channels,
               picture + y * numbers, (size_t)numbers);
}

/* HU_ERR_LIMIT: too wide or high (media/image_files.h); HU_ERR_IO, HU_ERR_MEMORY. */
static hu_status sheet_write(const hu_sheet *sheet, const char *path) {
    return hu_image_write_png(path, height_of(sheet), width_of(sheet), sheet->channels,
                              sheet->pixels);
}

/* ---- answers ---- */

/* What a model makes of test samples, as pictures: input, truth and prediction
 * beside each other. */

enum {
    INPUT,
    TRUTH,
    PREDICTION,
    PANELS,
    GAP = 4,
    COLOURS = 3,
    ANSWERS_WHITE = 255,
    PICTURE_RANK = 3
};

/* Panels of one sample, all as large as the truth, with gaps between. */
typedef struct painter {
    const hu_task *task;
    char *folder;
    int number;            /* of the input's field */
    const hu_field *field; /* of it */
    float *input;          /* [its numbers] */
    uint8_t *panel;        /* [height, width, 3] */
    hu_sheet sheet;        /* all panels */
} painter;

static hu_status make_room(painter *p, const hu_metric_call *sample) {
    int64_t width = sample->width, height = sample->rows / width;
    if (p->panel) return HU_OK; /* all samples have one size */
    p->sheet = (hu_sheet){.rows = 1,
                          .columns = PANELS,
                          .height = height,
                          .width = width,
                          .channels = COLOURS,
                          .gap = GAP};
    hu_status st = HU_NEW_ARRAY(&p->panel, (size_t)(height * width * COLOURS));
    return st == HU_OK ? sheet_create(&p->sheet) : st;
}

/* The nearest pixels of the input, of one channel or three. */
static void paint_input(painter *p, const hu_metric_call *sample) {
    int64_t width = sample->width, height = sample->rows / width;
    const int64_t *from = p->field->extent;
    uint8_t *to = p->panel;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int c = 0; c < COLOURS; c++) {
                int64_t pixel = y * from[0] / height * from[1] + x * from[1] / width;
                int64_t channel = from[2] == COLOURS ? c : 0;
                *to++ = (uint8_t)(p->input[pixel * from[2] + channel] * 255.0f + 0.5f);
            }
}

static const char of_labels[] = "-labels";

/* ending: "" or that of the label map beside it. */
static hu_status path_of(const painter *p, int64_t index, const char *ending, char **path) {
    char name[48];
    snprintf(name, sizeof name, "%02lld%s.png", (long long)index, ending);
    return hu_path_join(p->folder, name, path);
}

/* What an earlier call left: pictures of several calls do not stand beside each other. */
static hu_status remove_earlier(const painter *p) {
    for (int i = 0; i < 2 * HU_ANSWERS_MOST; i++) {
        char *path;
        hu_status st = path_of(p, i / 2, i % 2 ? of_labels : "", &path);
        if (st != HU_OK) return st;
        remove(path);
        hu_free(path);
    }
    return HU_OK;
}

/* What the model says as the numbers of classes, of as many pixels as the samples have. */
static hu_status write_labels(painter *p, int64_t index, const hu_metric_call *sample) {
    char *path;
    if (!p->task->map || !sample->prediction) return HU_OK;
    hu_status st = path_of(p, index, of_labels, &path);
    if (st != HU_OK) return st;
    p->task->map(sample, p->panel);
    st = hu_image_write_png(path, sample->rows / sample->width, sample->width, 1, p->panel);
    hu_free(path);
    return st;
}

/* NaN where a format stopped the pass: the prediction stays white. */
static hu_status write_sample(void *context, int64_t index, const hu_metric_call *sample,
                              const hu_loader *loader) {
    painter *p = context;
    char *path = NULL;
    hu_status st;
    if (index == 0) HU_TRY(remove_earlier(p));
    HU_TRY(make_room(p, sample));
    hu_loader_fill(loader, p->number, HU_READ_UNIT, index, 1, p->input);
    paint_input(p, sample);
    sheet_put(&p->sheet, 0, INPUT, p->panel);
    p->task->paint(sample, true, p->panel);
    sheet_put(&p->sheet, 0, TRUTH, p->panel);
    if (sample->prediction)
        p->task->paint(sample, false, p->panel);
    else
        memset(p->panel, ANSWERS_WHITE, (size_t)(sample->rows * COLOURS));
    sheet_put(&p->sheet, 0, PREDICTION, p->panel);
    HU_TRY(path_of(p, index, "", &path));
    HU_TRY(sheet_write(&p->sheet, path));
    st = write_labels(p, index, sample);
done:
    hu_free(path);
    return st;
}

const char *hu_sample_images_folder(const char *data, char folder[HU_ANSWERS_FOLDER_BYTES]) {
    size_t end = data ? strlen(data) : 0;
    while (end > 0 && (data[end - 1] == '/' || data[end - 1] == ':')) end--;
    size_t begin = end;
    while (begin > 0 && data[begin - 1] != '/' && data[begin - 1] != ':') begin--;
    snprintf(folder, HU_ANSWERS_FOLDER_BYTES, HU_ANSWERS_FOLDER "%s%.*s", end > begin ? "-" : "",
             (int)(end - begin), data ? data + begin : "");
    return folder;
}

hu_status hu_sample_images_write(hu_trainer *trainer, const hu_dataset *dataset,
                                 const char *directory, const char *folder, int64_t count,
                                 int64_t *written) {
    hu_status st;
    painter p = {.task = hu_trainer_task(trainer)};
    *written = 0;
    if (!p.task->paint) return HU_OK;
    if (count > HU_ANSWERS_MOST) count = HU_ANSWERS_MOST;
    if (count > dataset->test.count) count = dataset->test.count;
    p.number = hu_dataset_find(dataset, p.task->field[0].field);
    p.field = &hu_dataset_fields(dataset, HU_SPLIT_TEST)[p.number];
    /* What programs make themselves may be any numbers. */
    if (p.field->type != HU_FIELD_U8 || p.field->rank != PICTURE_RANK) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&p.input, (size_t)hu_field_elements(p.field)));
    HU_TRY(hu_path_join(directory, folder, &p.folder));
    HU_TRY(hu_directory_add(p.folder));
    HU_TRY(hu_trainer_show(trainer, count, write_sample, &p));
    *written = count;
done:
    hu_free(p.folder);
    hu_free(p.input);
    hu_free(p.panel);
    sheet_free(&p.sheet);
    return st;
}

/* ---- pictures ---- */

/* What a model makes of the first pictures that it is judged by, drawn while
 * it learns. */

/* Pixels around and between the pictures, and between two pairs of rows; of a sheet's width, where
 * more than one picture has room: what pages show without making it smaller. */
enum { PICTURES_GAP = 2, PAIR_GAP = 6, WIDE = 1000, REAL = 0, MADE, ROWS };

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
        sheet_put(s, p / s->columns * ROWS + row, p % s->columns, picture);
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
                  .gap = PICTURES_GAP,
                  .border = PICTURES_GAP,
                  .group = ROWS,
                  .group_gap = PAIR_GAP};
    int64_t most_pairs =
        (HU_IMAGE_WRITE_MOST - PICTURES_GAP) / (ROWS * (s.height + PICTURES_GAP) + PAIR_GAP);
    s.columns = at_most(*count, (WIDE - PICTURES_GAP) / (s.width + PICTURES_GAP));
    *count = at_most(*count, s.columns * at_most(most_pairs, most_pairs));
    int64_t pairs = (*count + s.columns - 1) / s.columns;
    s.columns = (*count + pairs - 1) / pairs; /* the last is as full as can be */
    s.rows = pairs * ROWS;
    return s;
}

/* Of so many samples, or all that there are, or as many as a picture holds. */
static hu_status draw_sheet(hu_trainer *trainer, hu_split_kind half, int64_t wanted,
                            const char *path) {
    hu_status st = HU_OK;
    int64_t samples = hu_trainer_samples(trainer, half);
    const hu_shape *shape = hu_trainer_picture(trainer);
    float *real = NULL, *made = NULL;
    int64_t count = wanted < samples ? wanted : samples;
    hu_sheet s = lay_out(shape, &count);
    size_t numbers = (size_t)(count * hu_shape_elements(shape));
    HU_TRY(HU_NEW_ARRAY(&real, numbers));
    HU_TRY(HU_NEW_ARRAY(&made, numbers));
    HU_TRY(hu_trainer_draw(trainer, half, count, real, made));
    HU_TRY(sheet_create(&s));
    HU_TRY(put_rows(&s, REAL, count, real));
    HU_TRY(put_rows(&s, MADE, count, made));
    st = sheet_write(&s, path);
done:
    sheet_free(&s);
    hu_free(real);
    hu_free(made);
    return st;
}

/* Has the task pictures, of one or three channels? */
static bool can_draw(const hu_trainer *trainer) {
    const hu_shape *shape = hu_trainer_picture(trainer);
    return shape && (shape->extent[2] == 1 || shape->extent[2] == 3);
}

hu_status hu_session_pictures_at(hu_trainer *trainer, hu_split_kind half, int64_t count,
                                 const char *path) {
    enum { MOST = 64 };
    if (!can_draw(trainer))
        return hu_fail(HU_ERR_ARGUMENT,
                       "pictures: the task %s has no pictures of one or three channels to draw",
                       hu_trainer_task(trainer)->name);
    return draw_sheet(trainer, half, count < MOST ? count : MOST, path);
}

hu_status hu_session_pictures(const hu_config *config, hu_trainer *trainer, hu_split_kind half,
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
