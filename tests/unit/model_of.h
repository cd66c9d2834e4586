/* Every model of the table with the task that its head is made for. */
#ifndef TEST_MODEL_OF_H
#define TEST_MODEL_OF_H
#include <stdio.h>
#include <string.h>

#include "model/model.h"

/* Images that a model is made for: coloured, of 32 pixels where any will do. */
static inline hu_shape image_for(const hu_model *model) {
    int64_t side = model->side ? model->side : 32;
    return (hu_shape){3, {side, side, 3}};
}

/* Sentences of 6 words with translations of 8, of different words. */
static inline hu_dataset sentences(int64_t source_words, int64_t words) {
    static const char *const names[] = {"source", "tokens", "targets", "source_length",
                                        "target_length"};
    static char name[] = "sentences";
    hu_dataset made = {.name = name, .field_count = sizeof names / sizeof *names};
    for (int f = 0; f < made.field_count; f++) {
        made.field[f] = (hu_field){.type = HU_FIELD_I32,
                                   .rank = f < 3,
                                   .extent = {f ? 8 : 6},
                                   .classes = f ? words : source_words};
        snprintf(made.field[f].name, sizeof made.field[f].name, "%s", names[f]);
    }
    return made;
}

/* A graph for images, labels, label maps and boxes of the given classes, windows of 8 tokens, or
 * sentences, with sizes of its own. asked: own, dropout, drop_path; choice: what it learns. */
static inline hu_graph *model_as(const char *name, double width, const hu_shape *image,
                                 int64_t classes, const hu_model_sizes *sizes,
                                 const hu_model_options *asked, hu_task_choice *chosen) {
    enum { MASK = HU_FIELD_LABEL + 1, BOXES, FIELDS };
    const int64_t *side = image->extent;
    hu_dataset data = {.name = NULL};
    hu_graph *graph = NULL;
    hu_dataset_set_images(&data, side[0], side[1], side[2], classes);
    data.field[MASK] = (hu_field){.name = "mask",
                                  .type = HU_FIELD_U8,
                                  .rank = 2,
                                  .extent = {side[0], side[1]},
                                  .is_spatial = true,
                                  .classes = classes};
    data.field[BOXES] = (hu_field){.name = "boxes",
                                   .type = HU_FIELD_F32,
                                   .rank = 2,
                                   .extent = {8, 5},
                                   .is_ragged = true,
                                   .is_boxes = true,
                                   .classes = classes};
    for (int f = 0; f < 2; f++) {
        int64_t scale = f ? 4 : 1;
        hu_field *field = &data.field[FIELDS + f];
        *field = data.field[HU_FIELD_IMAGE];
        snprintf(field->name, sizeof field->name, "%s", f ? "large" : "small");
        field->extent[0] *= scale;
        field->extent[1] *= scale;
    }
    data.field[FIELDS + 2] = (hu_field){
        .name = "features", .type = HU_FIELD_F32, .rank = 3, .extent = {side[0], side[1], 1}};
    data.field[FIELDS + 3] = (hu_field){.name = "length", .type = HU_FIELD_I32};
    data.field_count = FIELDS + 4;
    hu_dataset text = {.field_count = 2};
    for (int f = 0; f < 2; f++) {
        text.field[f] =
            (hu_field){.type = HU_FIELD_I32, .rank = 1, .extent = {8}, .classes = classes};
        snprintf(text.field[f].name, sizeof text.field[f].name, "%s", f ? "targets" : "tokens");
    }
    for (int f = 0; f < 4; f++) { /* of pairs of segments, of which all words are hidden */
        static const char *const names[] = {"segments", "places", "label", "length"};
        hu_field *field = &text.field[text.field_count++];
        *field = (hu_field){.type = HU_FIELD_F32, .rank = f < 2, .extent = {8}};
        field->classes = f % 2 ? 0 : 2;
        snprintf(field->name, sizeof field->name, "%s", names[f]);
    }
    const hu_model *model;
    bool is_present = hu_model_find(name, &model) == HU_OK;
    if (is_present && strcmp(model->task, "translate") == 0) data = sentences(classes, classes);
    bool reads_text = is_present && (strcmp(model->task, "language") == 0 ||
                                     strcmp(model->task, "pretrain") == 0);
    if (is_present && strcmp(model->task, "transcribe") == 0) {
        data.field[HU_FIELD_LABEL].rank = 1; /* what is said, in place of labels */
        data.field[HU_FIELD_LABEL].extent[0] = 3;
    }
    hu_model_options options = *asked;
    options.name = name;
    options.width = width;
    options.sizes = *sizes;
    options.choice = chosen;
    if (hu_model_choose(name, NULL, NULL, reads_text ? &text : &data, chosen) != HU_OK ||
        hu_model_widen(sizes, chosen) != HU_OK || hu_model_build(&options, &graph) != HU_OK)
        fail_msg("%s: %s", name, hu_last_error());
    return graph;
}

static inline hu_graph *model_sized(const char *name, double width, const hu_shape *image,
                                    int64_t classes, const hu_model_sizes *sizes) {
    const hu_model_options usual = {.name = name};
    hu_task_choice choice;
    return model_as(name, width, image, classes, sizes, &usual, &choice);
}

/* The same with the model's own sizes. */
static inline hu_graph *model_of(const char *name, double width, const hu_shape *image,
                                 int64_t classes) {
    const hu_model_sizes own = {.bands = 0};
    return model_sized(name, width, image, classes, &own);
}

#endif
