#include "settings/dataset.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "data/fields.h"
#include "media/boxes.h"
#include "model/model.h"
#include "model/network_file.h"
#include "precision/rules.h"
#include "settings/options.h"

/* ---- assumed rows ---- */

/* The texts, sentences and sounds that plan assumes where the user names
 * none. */

/* Rows of a sample; numbers of a row of a sound, or words of the language that is translated from;
 * different tokens, or characters and the blank. */
typedef struct assumed_rows {
    const char *model; /* a glob pattern; the first that matches counts */
    int64_t length, bins, sources, classes;
} assumed_rows;

/* Ten seconds of 16 kHz, and 1.6 of 8 kHz, with English letters, blank, apostrophe and the blank of
 * CTC; English and French of Multi30k, and as many words as Micikevicius et al. 2018 had; words of
 * WikiText-103, -2 and One Billion Words, and of the test text of WikiText-2 that it has three
 * times; pieces of BERT. */
static const assumed_rows usual[] = {
    {"deepspeech2", 1000, 161, 0, 29},
    {"deepspeech2-mandarin", 1000, 161, 0, 6000},
    {"ds2-s", 160, 81, 0, 27},
    {"biglstm", 20, 0, 0, 793470},
    {"biglstm-s", 20, 0, 0, 7266},
    {"lstm-lm", 35, 0, 0, 33278},
    {"lstm-lm-s", 32, 0, 0, 7266},
    {"seq2seq-s", 32, 0, 5898, 6434},
    {"seq2seq*", 32, 0, 100000, 40000},
    {"bert-tiny-s", 64, 0, 0, 7270},
    {"bert*", 128, 0, 0, 30522},
    {"transformer-lm", 3072, 0, 0, 267744},
    {"*", 64, 0, 0, 7266},
};

/* NULL: the model neither reads nor hears. */
static const assumed_rows *find(const char *name) {
    const hu_model *model;
    const assumed_rows *row = usual;
    if (hu_model_find(name, &model) != HU_OK) return NULL;
    if (strcmp(model->task, hu_task_transcribe.name) != 0 &&
        strcmp(model->task, hu_task_pretrain.name) != 0 &&
        strcmp(model->task, hu_task_translate.name) != 0 &&
        strcmp(model->task, hu_task_language.name) != 0)
        return NULL;
    while (!hu_glob_match(row->model, name)) row++;
    return row;
}

/* The samples of a batch stand side by side in a text. */
static void set_text(int64_t length, int64_t words, hu_dataset *assumed) {
    hu_text_fields(length, words, assumed);
    assumed->streams = assumed->test.count;
}

/* Frames of 10 ms; nobody says more than a character in four of them. */
static int64_t most_letters(int64_t frames) {
    enum { FRAMES_OF_A_CHARACTER = 4 };
    return (frames + FRAMES_OF_A_CHARACTER - 1) / FRAMES_OF_A_CHARACTER;
}

/* Replaces the fields of an assumed data set by those of the texts, sentences or sounds that a
 * model is made for: as long as data.length (tokens) or data.frames say, of data.classes different
 * tokens or characters (of sentences: of the language that is translated to), else of the model's
 * usual ones. Other models: nothing happens. */
static hu_status assumed_dataset_rows(const hu_config *config, const char *model,
                                      hu_dataset *assumed) {
    int64_t length, classes;
    hu_status st = HU_OK;
    const assumed_rows *row = find(model);
    if (!row) return HU_OK;
    HU_TRY(hu_config_i64(config, row->bins ? "data.frames" : "data.length", &length));
    HU_TRY(hu_config_i64(config, "data.classes", &classes));
    if (length == 0) length = row->length;
    if (classes == 0) classes = row->classes;
    if (row->bins)
        hu_sound_fields(length, row->bins, most_letters(length), classes, assumed);
    else if (row->sources)
        hu_sentence_fields(length, row->sources, classes, assumed);
    else if (hu_glob_match("bert*", model))
        hu_segment_fields(length, classes, assumed);
    else
        set_text(length, classes, assumed);
done:
    return st;
}

/* The keys that say otherwise, NULL for other models: "data.length=N data.classes=N". Borrowed:
 * valid forever. */
static const char *assumed_dataset_rows_keys(const char *model) {
    const assumed_rows *row = find(model);
    if (!row) return NULL;
    return row->bins ? "data.frames=N data.classes=N" : "data.length=N data.classes=N";
}

/* ---- The data that plan and bench assume where the user names none ---- */

enum { GREEN = 1 };

enum { GREY_SIDE = 28, COLOUR_SIDE = 32, COLOURS = 3, CLASSES = 10 };

/* Models for pictures of digits and clothes. */
static bool is_grey(const char *name) {
    const hu_model *model;
    bool is_known = hu_model_find(name, &model) == HU_OK;
    return strcmp(name, "cnn-s") == 0 || strcmp(name, "dcgan-s") == 0 ||
           (is_known && model->side == GREY_SIDE);
}

/* Of the images that the model is made for. */
static int64_t side_of(const char *name) {
    const hu_model *model;
    if (hu_model_find(name, &model) == HU_OK && model->side > 0) return model->side;
    return is_grey(name) ? GREY_SIDE : COLOUR_SIDE;
}

/* Pictures that are wider than high. Faster-RCNN's have 600 pixels along the shorter side and at
 * most 1000 along the other (Ren et al. 2015, 3.3); the small forms see cells (BCCD) and streets
 * (CamVid) in 160x120. */
static const struct {
    const char *name;
    int64_t width, height;
} wide[] = {{"faster-rcnn", 5, 3}, {"faster-rcnn-s", 4, 3}, {"ssd-s", 4, 3}, {"fcn-s", 4, 3}};

/* Pixels of a row of pictures with that many rows. */
static int64_t width_of(const char *name, int64_t side) {
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(name, wide[i].name) == 0) return side * wide[i].width / wide[i].height;
    return side;
}

/* Networks for ILSVRC's images that take small ones as well. */
static bool is_of_ilsvrc(const char *name) {
    static const char *const names[] = {"resnet18", "resnet50", "squeezenet", "shufflenet-v2",
                                        "mobilenet-v2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* ILSVRC's where they are as large as its images, and those of Cityscapes in large label maps. */
static int64_t classes_of(const char *name) {
    enum { LARGE_SIDE = 200, LARGE_CLASSES = 1000, STREET_CLASSES = 19 };
    const hu_model *model;
    bool is_large = hu_model_find(name, &model) == HU_OK && model->side >= LARGE_SIDE;
    if (is_large && strcmp(model->task, "segment") == 0) return STREET_CLASSES;
    return is_large ? LARGE_CLASSES : CLASSES;
}

/* The image as a small one, and one that is four times as wide and high. */
static void add_pair(hu_dataset *assumed) {
    enum { SCALE = 4 };
    static const char *const names[] = {"small", "large"};
    for (int f = 0; f < 2; f++) {
        hu_field *field = &assumed->field[assumed->field_count++];
        *field = assumed->field[HU_FIELD_IMAGE];
        strcpy(field->name, names[f]);
        field->is_spatial = false; /* nothing is cut or turned: other tasks have none of these */
        for (int i = 0; f && i < 2; i++) field->extent[i] *= SCALE;
    }
}

static hu_dataset assume(const char *model, int64_t batch, int64_t side, int64_t width,
                         int64_t classes) {
    enum { SAMPLES = 50000 };
    int64_t batches = SAMPLES / batch;
    static char name[] = "assumed"; /* never freed: this data set is not closed */
    enum { MASK = HU_FIELD_LABEL + 1, BOXES, FIELDS, MOST_BOXES = 32, VOC_CLASSES = 20 };
    hu_dataset assumed = {.name = name,
                          .train = {.count = batch * (batches ? batches : 1)},
                          .test = {.count = batch}};
    hu_dataset_set_images(&assumed, side, width, is_grey(model) ? 1 : COLOURS, classes);
    for (int c = 0; c < HU_CHANNELS_MAX; c++) {
        assumed.field[HU_FIELD_IMAGE].mean[c] = 0.5f;
        assumed.field[HU_FIELD_IMAGE].std[c] = 0.25f;
    }
    assumed.field[MASK] = (hu_field){.name = "mask",
                                     .type = HU_FIELD_U8,
                                     .rank = 2,
                                     .extent = {side, width},
                                     .is_spatial = true,
                                     .classes = classes};
    assumed.field[BOXES] = (hu_field){.name = "boxes",
                                      .type = HU_FIELD_F32,
                                      .rank = 2,
                                      .extent = {MOST_BOXES, HU_BOX_NUMBERS},
                                      .is_ragged = true,
                                      .is_boxes = true,
                                      .classes = VOC_CLASSES};
    assumed.field_count = FIELDS;
    add_pair(&assumed);
    return assumed;
}

/* ---- Networks of files ---- */

/* Small models learn such a task from data that everybody has. */
static hu_status small_model(const char *task, const char **model) {
    for (int i = 0; i < hu_model_count; i++) {
        const hu_model *row = &hu_model_table[i];
        if (!hu_glob_match("*-s", row->name) || strcmp(row->task, task) != 0) continue;
        *model = row->name;
        return HU_OK;
    }
    return HU_OK; /* the task itself is refused by who reads it */
}

/* The built-in model whose data are assumed: model.name; of a network file its recipe, else the
 * first small model of its task. */
static hu_status find_model(hu_config *config, const char **model) {
    hu_status st = HU_OK;
    const hu_keys *file;
    const char *task;
    hu_network_heading heading;
    HU_TRY(hu_recipe_model(config, model));
    HU_TRY(hu_config_network(config, &file));
    if (!file) return HU_OK;
    HU_TRY(hu_network_read_heading(file, &heading));
    if (heading.recipe) return HU_OK;
    HU_TRY(hu_config_text(config, "task.name", &task));
    if (hu_config_is_auto(config, "task.name")) task = heading.task ? heading.task : "classify";
    st = small_model(task, model);
done:
    return st;
}

enum { IMAGE_RANK = 3 };

/* "inputs: {input: [32, 32, 3]}": pictures of these extents, unless a key says otherwise. */
static hu_status find_extents(hu_config *config, int64_t extent[IMAGE_RANK], bool *is_found) {
    hu_status st = HU_OK;
    const hu_keys *file, *inputs = NULL;
    bool is_said = hu_config_given(config, "data.size") || hu_config_given(config, "data.crop");
    *is_found = false;
    HU_TRY(hu_config_network(config, &file));
    if (file) inputs = hu_keys_find(file, "inputs");
    /* What is written wrongly is refused by who reads the network. */
    if (is_said || !inputs || hu_keys_kind_of(inputs) != HU_KEYS_MAP) return HU_OK;
    for (size_t k = 0; k < hu_keys_count(inputs) && !*is_found; k++) {
        const hu_keys *list = hu_keys_at(inputs, k);
        if (hu_keys_kind_of(list) != HU_KEYS_LIST || hu_keys_count(list) != IMAGE_RANK) continue;
        for (size_t i = 0; i < IMAGE_RANK; i++)
            HU_TRY(hu_keys_as_i64(hu_keys_at(list, i), &extent[i]));
        *is_found = extent[0] > 0 && extent[1] > 0 && extent[2] > 0 && extent[2] <= HU_CHANNELS_MAX;
    }
done:
    return st;
}

static hu_status take_extents(hu_config *config, hu_dataset *assumed) {
    hu_field *image = &assumed->field[HU_FIELD_IMAGE];
    int64_t extent[IMAGE_RANK];
    bool is_found;
    hu_status st = find_extents(config, extent, &is_found);
    if (st == HU_OK && is_found && image->type == HU_FIELD_U8)
        memcpy(image->extent, extent, sizeof extent);
    return st;
}

/* Shapes without pixels: images of the extents that the model is made for (faster-rcnn: 600x1000,
 * ssd-s, faster-rcnn-s and fcn-s: 120x160), else 32x32x3, 28x28x1 for cnn-s; 10 classes, 1000 of
 * large images, 19 of large label maps, 20 of boxes. The number of samples is a multiple of batch.
 * To plan with, never to be read or closed. */
static hu_dataset assumed_dataset_dataset(const char *model, int64_t batch) {
    int64_t side = side_of(model);
    return assume(model, batch, side, width_of(model, side), classes_of(model));
}

hu_status hu_assumed_dataset_read(hu_config *config, int64_t batch, hu_dataset *assumed) {
    int64_t size, crop, classes;
    const char *model;
    hu_status st = HU_OK;
    HU_TRY(find_model(config, &model));
    HU_TRY(hu_config_i64(config, "data.size", &size));
    HU_TRY(hu_config_i64(config, "data.crop", &crop));
    HU_TRY(hu_config_i64(config, "data.classes", &classes));
    int64_t side = crop > 0 ? crop : size > 0 ? size : side_of(model);
    *assumed = assume(model, batch, side, crop > 0 ? crop : width_of(model, side),
                      classes > 0 ? classes : classes_of(model));
    HU_TRY(assumed_dataset_rows(config, model, assumed));
    HU_TRY(take_extents(config, assumed));
done:
    return st;
}

const char *hu_assumed_dataset_text(hu_config *config, char text[HU_ASSUMED_TEXT_BYTES]) {
    const char *model = "";
    int64_t extent[IMAGE_RANK];
    bool is_sized = false;
    (void)find_model(config, &model); /* the file has been read */
    (void)find_extents(config, extent, &is_sized);
    is_sized |= hu_config_given(config, "data.size") || hu_config_given(config, "data.crop");
    bool is_counted = hu_config_given(config, "data.classes");
    const char *unsaid = is_sized && is_counted ? "the number of samples is"
                         : is_sized             ? "the number of classes is"
                         : is_counted           ? "the size of the images is"
                                                : "image size and classes are";
    const char *of_rows = assumed_dataset_rows_keys(model);
    if (of_rows) {
        snprintf(text, HU_ASSUMED_TEXT_BYTES,
                 "no data=: lengths and classes that are not said are assumed; %s say otherwise",
                 of_rows);
        return text;
    }
    const char *keys = is_of_ilsvrc(model) ? "data.size=224 data.classes=1000 for ImageNet's"
                                           : "data.size=N data.classes=N say otherwise";
    snprintf(text, HU_ASSUMED_TEXT_BYTES, "no data=: %s assumed%s%s", unsaid,
             is_sized && is_counted ? "" : "; ", is_sized && is_counted ? "" : keys);
    return text;
}

/* from, to: height, width, channels. Moves the middle of one channel of every image to the front of
 * the pixels, place by place: none is overwritten before it is read. */
static void take_middle(const int64_t *from, const int64_t *to, int64_t count, uint8_t *pixels) {
    int64_t top = (from[0] - to[0]) / 2, left = (from[1] - to[1]) / 2;
    uint8_t *next = pixels;
    for (int64_t i = 0; i < count; i++)
        for (int64_t y = 0; y < to[0]; y++)
            for (int64_t x = 0; x < to[1]; x++) {
                int64_t place = (i * from[0] + top + y) * from[1] + left + x;
                *next++ = pixels[place * from[2] + GREEN];
            }
}

/* Fills a field of a sample: random classes, the largest number of rows as "length", and other
 * numbers between -1 and 1. context: the fields. */
static hu_status fill_randomly(void *context, int f, int64_t epoch, int64_t index, float *row) {
    const hu_field *field = (const hu_field *)context + f, *rows = context;
    const hu_random_key key = {0, hu_stream_id("assumed", field->name), (uint64_t)epoch};
    int64_t n = hu_field_elements(field), first = index * n;
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(&key, (uint64_t)(first + i));
        /* Class 0 may be a blank, which no label has. */
        row[i] = field->classes > 0 ? (float)(1 + hu_word_below(word, field->classes - 1))
                 : field->rank == 0 ? (float)rows->extent[0]
                                    : (float)(2.0 * hu_word_share(word) - 1.0);
    }
    return HU_OK;
}

/* Sequences that nobody has said or written. */
static hu_status open_sequences(const hu_dataset *assumed, const hu_data_limits *limits,
                                hu_dataset **dataset) {
    hu_sample_source train = {
        .size = sizeof train, .samples = limits->train, .fill = fill_randomly};
    hu_sample_source test = train;
    test.samples = limits->test;
    hu_status st =
        hu_dataset_of_sources(assumed->field, assumed->field_count, &train, &test, dataset);
    if (st != HU_OK) return st;
    (*dataset)->train.source.context = (*dataset)->test.source.context = (*dataset)->field;
    (*dataset)->streams = assumed->streams;
    return HU_OK;
}

hu_status hu_assumed_dataset_open(hu_config *config, const hu_data_limits *limits,
                                  hu_dataset **dataset) {
    hu_status st = HU_OK;
    int64_t batch;
    const char *model;
    HU_TRY(find_model(config, &model));
    HU_TRY(hu_config_i64(config, "run.batch", &batch));
    hu_dataset assumed = assumed_dataset_dataset(model, batch);
    HU_TRY(assumed_dataset_rows(config, model, &assumed));
    HU_TRY(take_extents(config, &assumed));
    if (assumed.field[0].type != HU_FIELD_U8) return open_sequences(&assumed, limits, dataset);
    HU_TRY(hu_dataset_open("glyphs", limits, dataset));
    hu_dataset *opened = *dataset;
    int64_t *from = opened->field[HU_FIELD_IMAGE].extent;
    const int64_t *to = assumed.field[HU_FIELD_IMAGE].extent;
    if (from[2] == to[2] || to[0] > from[0] || to[1] > from[1]) return HU_OK;
    take_middle(from, to, opened->train.count, opened->owned[0]);
    take_middle(from, to, opened->test.count, opened->owned[2]);
    memcpy(from, to, sizeof opened->field[HU_FIELD_IMAGE].extent);
done:
    return st;
}
