#include "session/answers.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_files.h"
#include "session/sheet.h"

enum { INPUT, TRUTH, PREDICTION, PANELS, GAP = 4, COLOURS = 3, WHITE = 255, PICTURE_RANK = 3 };

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
    return st == HU_OK ? hu_sheet_create(&p->sheet) : st;
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
    hu_sheet_put(&p->sheet, 0, INPUT, p->panel);
    p->task->paint(sample, true, p->panel);
    hu_sheet_put(&p->sheet, 0, TRUTH, p->panel);
    if (sample->prediction)
        p->task->paint(sample, false, p->panel);
    else
        memset(p->panel, WHITE, (size_t)(sample->rows * COLOURS));
    hu_sheet_put(&p->sheet, 0, PREDICTION, p->panel);
    HU_TRY(path_of(p, index, "", &path));
    HU_TRY(hu_sheet_write(&p->sheet, path));
    st = write_labels(p, index, sample);
done:
    hu_free(path);
    return st;
}

const char *hu_answers_folder(const char *data, char folder[HU_ANSWERS_FOLDER_BYTES]) {
    size_t end = data ? strlen(data) : 0;
    while (end > 0 && (data[end - 1] == '/' || data[end - 1] == ':')) end--;
    size_t begin = end;
    while (begin > 0 && data[begin - 1] != '/' && data[begin - 1] != ':') begin--;
    snprintf(folder, HU_ANSWERS_FOLDER_BYTES, HU_ANSWERS_FOLDER "%s%.*s", end > begin ? "-" : "",
             (int)(end - begin), data ? data + begin : "");
    return folder;
}

hu_status hu_answers_write(hu_trainer *trainer, const hu_dataset *dataset, const char *directory,
                           const char *folder, int64_t count, int64_t *written) {
    hu_status st;
    painter p = {.task = hu_trainer_task(trainer)};
    *written = 0;
    if (!p.task->paint) return HU_OK;
    if (count > HU_ANSWERS_MOST) count = HU_ANSWERS_MOST;
    if (count > dataset->test.count) count = dataset->test.count;
    p.number = hu_dataset_find(dataset, p.task->field[0].field);
    p.field = &hu_dataset_fields(dataset, HU_HALF_TEST)[p.number];
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
    hu_sheet_free(&p.sheet);
    return st;
}
