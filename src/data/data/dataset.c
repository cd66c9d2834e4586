#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/class_names.h"
#include "data/kinds.h"
#include "data/reader.h"

/* Where the system's packages put data sets; HALFULP_DATA names another place. */
#define SHARED_ROOT "/usr/share/datasets"

/* Means and deviations: per channel over the training half, as the published recipes state them. */
static const hu_data_kind kinds[] = {
    {.name = "fashion-mnist",
     .usage = "fashion-mnist",
     .help = "Fashion-MNIST, 60,000 + 10,000 images 28x28x1, 10 classes",
     .advice = "install the package dataset-fashion-mnist (apt install dataset-fashion-mnist), or "
               "set HALFULP_DATA to the folder that holds fashion-mnist/",
     .classes = 10,
     .names =
         "T-shirt/top\0Trouser\0Pullover\0Dress\0Coat\0Sandal\0Shirt\0Sneaker\0Bag\0Ankle boot",
     .height = 28,
     .width = 28,
     .mean = {0.2860f},
     .std = {0.3530f},
     .traits = HU_DATA_HAS_DIRECTORY,
     .available = hu_idx_available,
     .open = hu_idx_open},
    {.name = "idx",
     .usage = "idx:DIR",
     .help = "images and labels in IDX files, plain or .gz (MNIST and its relatives)",
     .advice = "the folder must hold train-images-idx3-ubyte, train-labels-idx1-ubyte and the same "
               "of t10k- or test-, plain or .gz",
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_READS_NAMES,
     .available = hu_idx_available,
     .open = hu_idx_open},
    {.name = "cifar10",
     .usage = "cifar10:DIR",
     .help = "CIFAR-10, binary version, 50,000 + 10,000 images 32x32x3, 10 classes",
     .advice = "get the binary version and give its folder as cifar10:DIR",
     .classes = 10,
     .height = 32,
     .width = 32,
     .mean = {0.4914f, 0.4822f, 0.4465f},
     .std = {0.2023f, 0.1994f, 0.2010f},
     .augment = {.pad = 4, .flip = true},
     .traits = HU_DATA_HAS_DIRECTORY,
     .available = hu_cifar_available,
     .open = hu_cifar_open},
    {.name = "cifar100",
     .usage = "cifar100:DIR",
     .help = "CIFAR-100, binary version, fine labels, 50,000 + 10,000 images 32x32x3, 100 classes",
     .advice = "get the binary version and give its folder as cifar100:DIR",
     .classes = 100,
     .height = 32,
     .width = 32,
     .mean = {0.5074f, 0.4867f, 0.4411f},
     .std = {0.2011f, 0.1987f, 0.2025f},
     .augment = {.pad = 4, .flip = true},
     .traits = HU_DATA_HAS_DIRECTORY,
     .available = hu_cifar_available,
     .open = hu_cifar_open},
    {.name = "glyphs",
     .usage = "glyphs",
     .help = "drawn digits, 10,000 + 2,000 images 32x32x3, 10 classes; needs no files",
     .advice = "",
     .classes = 10,
     .height = 32,
     .width = 32,
     .mean = {0.5f, 0.5f, 0.5f},
     .std = {0.25f, 0.25f, 0.25f},
     .open = hu_glyphs_open},
    {.name = "contacts",
     .usage = "contacts",
     .help = "which points of a folding chain touch, 20,000 + 4,000 black and white maps 28x28x1 "
             "without classes; needs no files",
     .advice = "",
     .height = 28,
     .width = 28,
     .open = hu_contacts_open},
    {.name = "scenes",
     .usage = "scenes",
     .help = "drawn discs, boxes and crosses with a rectangle around each, 4,000 + 500 images "
             "64x64x3; needs no files",
     .advice = "",
     .mean = {0.5f, 0.5f, 0.5f},
     .std = {0.25f, 0.25f, 0.25f},
     .augment = {.flip = true},
     .open = hu_scenes_open},
    {.name = "tones",
     .usage = "tones",
     .help = "melodies of eight chords in noise as spectrograms of 64 frames and 24 bins, 4,000 + "
             "500, of which the chords are to be told in order; needs no files",
     .advice = "",
     .std = {1.0f},
     .open = hu_tones_open},
    {.name = "grammar",
     .usage = "grammar",
     .help = "a text of a written grammar in words, 40,000 + 2,000 sentences, whose entropy is "
             "known; needs no files; see data.length and data.streams",
     .advice = "",
     .traits = HU_DATA_TAKES_TEXT,
     .open = hu_grammar_open},
    {.name = "folder",
     .usage = "folder:DIR",
     .help = "JPEG, PNG and WebP images in DIR/train/CLASS and DIR/val/CLASS, or in DIR/CLASS with "
             "data.validation=0.2; see data.size to data.class_seed",
     .advice =
         "the folder must hold train/CLASS/*.jpg (.jpeg, .png, .webp) and the same in val or test, "
         "or CLASS/*.jpg with data.validation=0.2",
     .mean = {0.485f, 0.456f, 0.406f},
     .std = {0.229f, 0.224f, 0.225f},
     .augment = {.flip = true},
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_SIZE | HU_DATA_TAKES_CROP |
               HU_DATA_TAKES_PARTS | HU_DATA_TAKES_KNOWN | HU_DATA_TAKES_FILES,
     .available = hu_folder_available,
     .open = hu_folder_open},
    {.name = "dense",
     .usage = "dense:DIR",
     .help = "images with a label map each: DIR/train/NAME.jpg with DIR/trainannot/NAME.png, and "
             "the same of test or val; see data.size, data.crop, data.scales, "
             "data.unlabelled and data.memory",
     .advice = "the folder must hold train, trainannot, and test and testannot (or val, valannot)",
     .fields = "mask",
     .mean = {0.485f, 0.456f, 0.406f},
     .std = {0.229f, 0.224f, 0.225f},
     .augment = {.flip = true},
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_SIZE | HU_DATA_TAKES_CROP |
               HU_DATA_TAKES_SCALES | HU_DATA_TAKES_UNLABELLED | HU_DATA_TAKES_KNOWN,
     .available = hu_dense_available,
     .open = hu_dense_open},
    {.name = "boxes",
     .usage = "boxes:DIR",
     .help = "images with boxes in the layout of PASCAL VOC: ImageSets/Main/train.txt and test.txt "
             "(or val.txt), JPEGImages, Annotations; see data.size and data.memory",
     .advice = "the folder must hold ImageSets/Main/train.txt, test.txt (or val.txt) beside it, "
               "JPEGImages and Annotations",
     .fields = "boxes",
     .mean = {0.485f, 0.456f, 0.406f},
     .std = {0.229f, 0.224f, 0.225f},
     .augment = {.flip = true},
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_SIZE | HU_DATA_TAKES_SAMPLES |
               HU_DATA_TAKES_KNOWN | HU_DATA_TAKES_FILES,
     .available = hu_boxes_available,
     .open = hu_boxes_open},
    {.name = "pairs",
     .usage = "pairs:DIR",
     .help = "images in DIR/train and DIR/test (or val), each with a small one made of it, to be "
             "enlarged; see data.scale, data.crop, data.crops and data.memory",
     .advice = "the folder must hold train and test (or val) with .jpg, .jpeg or .png files",
     .fields = "small large",
     .std = {1.0f, 1.0f, 1.0f},
     .augment = {.turn = true},
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_CROP | HU_DATA_TAKES_PAIRS,
     .available = hu_pairs_available,
     .open = hu_pairs_open},
    {.name = "speech",
     .usage = "speech:DIR",
     .help = "sounds DIR/train/NAME.wav (.flac, .ogg, ...) and the same of test or val, with what "
             "is said in them in "
             "transcripts.txt beside them; see data.frames and data.rate",
     .advice =
         "the folder must hold train and test (or val) with .wav files (.flac, .ogg, .aiff, .mp3)",
     .fields = "features length",
     .std = {1.0f},
     .traits =
         HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_FRAMES | HU_DATA_TAKES_KNOWN | HU_DATA_TAKES_FILES,
     .available = hu_speech_available,
     .open = hu_speech_open},
    {.name = "sounds",
     .usage = "sounds:DIR",
     .help = "sounds in DIR/train/CLASS and DIR/val/CLASS, or in DIR/CLASS with "
             "data.validation=0.2, as spectrograms; see data.frames and data.rate",
     .advice = "the folder must hold train/CLASS/*.wav (.flac, .ogg, .aiff, .mp3) and the same in "
               "val or test, or CLASS/*.wav with data.validation=0.2",
     .std = {1.0f},
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_PARTS | HU_DATA_TAKES_FRAMES |
               HU_DATA_TAKES_KNOWN | HU_DATA_TAKES_FILES,
     .available = hu_sounds_available,
     .open = hu_sounds_open},
    {.name = "text",
     .usage = "text:FILE",
     .help = "a text as bytes, characters or words, each to be told from those before it; see "
             "data.unit, data.valid, data.length, data.min_count, data.vocabulary and "
             "data.streams",
     .advice = "give a file of text",
     .fields = "tokens targets",
     .traits =
         HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_TEXT | HU_DATA_READS_BYTES | HU_DATA_TAKES_KNOWN,
     .available = hu_text_available,
     .open = hu_text_open},
    {.name = "parallel",
     .usage = "parallel:DIR",
     .help = "sentences DIR/train.LANG and DIR/test.LANG (or val), plain or .gz, the same line in "
             "two languages; see data.source, data.target, data.test, data.length, data.min_count, "
             "data.vocabulary and data.source_vocabulary",
     .advice = "the folder must hold train.LANG and test.LANG (or val, or data.test) of both "
               "languages, plain or .gz",
     .fields = "source source_length target_length",
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_PARALLEL | HU_DATA_TAKES_KNOWN,
     .available = hu_parallel_available,
     .open = hu_parallel_open},
    {.name = "segments",
     .usage = "segments:FILE",
     .help = "a text with headings as pairs of segments: hidden words are to be told, and whether "
             "the second segment follows the first; see data.valid, data.length, data.min_count "
             "and data.vocabulary",
     .advice = "give a file of text",
     .fields = "segments places",
     .traits = HU_DATA_NEEDS_DIRECTORY | HU_DATA_TAKES_TEXT,
     .available = hu_text_available,
     .open = hu_segments_open},
    {.name = "ink",
     .usage = "ink:SPEC",
     .help = "the grey images of another data set with a label map each: ground, or ink of class "
             "1 + label",
     .advice = "",
     .traits = HU_DATA_NEEDS_DIRECTORY,
     .available = hu_ink_available,
     .open = hu_ink_open},
};

enum {
    KINDS = sizeof kinds / sizeof kinds[0],
    OWNED = sizeof((hu_dataset *)0)->owned / sizeof(void *),
    PLACE_BYTES = 512
};

const char *hu_data_kind_name(size_t index) {
    return index < KINDS ? kinds[index].usage : NULL;
}

const char *hu_data_kind_help(size_t index) {
    return index < KINDS ? kinds[index].help : NULL;
}

/* A whole word of the list. */
static bool names(const char *list, const char *word) {
    size_t length = strlen(word);
    for (; list; list = strchr(list, ' ') ? strchr(list, ' ') + 1 : NULL)
        if (strncmp(list, word, length) == 0 && (list[length] == ' ' || !list[length])) return true;
    return false;
}

const char *hu_data_kind_with(const char *const *field, int count) {
    const char *usage = NULL;
    int most = 0;
    for (size_t i = 0; i < KINDS; i++) {
        int own = 0;
        for (int f = 0; f < count; f++) own += names(kinds[i].fields, field[f]);
        if (own < most || own == 0) continue;
        most = own;
        usage = kinds[i].usage;
    }
    return usage;
}

/* Number i of names that end with a zero each; NULL where there are not so many. */
static const char *name_at(const char *name, int64_t count, int64_t i) {
    if (i < 0 || i >= count) return NULL;
    for (int64_t c = 0; c < i; c++) name += strlen(name) + 1;
    return name;
}

const char *hu_dataset_class_name(const hu_dataset *dataset, int64_t class_number) {
    if (!dataset) return NULL;
    return name_at(dataset->class_names, dataset->class_name_count, class_number);
}

const char *hu_dataset_source_name(const hu_dataset *dataset, int64_t number) {
    if (!dataset) return NULL;
    return name_at(dataset->source_names, dataset->source_name_count, number);
}

int hu_dataset_find(const hu_dataset *dataset, const char *name) {
    if (!dataset || !name) return -1;
    for (int f = 0; f < dataset->field_count; f++)
        if (strcmp(dataset->field[f].name, name) == 0) return f;
    return -1;
}

int64_t hu_field_elements(const hu_field *field) {
    if (!field) return 0;
    int64_t elements = 1;
    for (int i = 0; i < field->rank; i++)
        if (!hu_mul_i64(elements, field->extent[i], &elements)) return INT64_MAX;
    return elements;
}

void hu_dataset_set_images(hu_dataset *dataset, int64_t height, int64_t width, int64_t channels,
                           int64_t classes) {
    if (!dataset) return;
    dataset->field[HU_FIELD_IMAGE] = (hu_field){.name = "image",
                                                .type = HU_FIELD_U8,
                                                .rank = 3,
                                                .extent = {height, width, channels},
                                                .is_spatial = true};
    dataset->field[HU_FIELD_LABEL] =
        (hu_field){.name = "label", .type = HU_FIELD_I32, .classes = classes};
    dataset->field_count = HU_FIELD_LABEL + 1;
}

/* The kind before the colon; HU_ERR_UNKNOWN with the nearest kinds. */
static hu_status find_kind(const char *spec, const hu_data_kind **kind) {
    size_t length = strcspn(spec, ":");
    *kind = NULL;
    for (size_t i = 0; i < KINDS; i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, spec, length) == 0)
            *kind = &kinds[i];
    if (*kind) return HU_OK;
    return hu_data_kind_unknown(spec, kinds, KINDS);
}

/* The folder of a spec in a new string; NULL for a kind without files. */
static hu_status find_directory(const hu_data_kind *kind, const char *spec, char **directory) {
    const char *colon = strchr(spec, ':');
    *directory = NULL;
    if (colon && !hu_data_kind_has(kind, HU_DATA_HAS_DIRECTORY))
        return hu_fail(HU_ERR_ARGUMENT, "data: found '%s', expected '%s'", spec, kind->usage);
    if ((colon && !colon[1]) || (!colon && hu_data_kind_has(kind, HU_DATA_NEEDS_DIRECTORY)))
        return hu_fail(HU_ERR_ARGUMENT, "data: found '%s', expected '%s%s'", spec, kind->usage,
                       strchr(kind->usage, ':') ? "" : ":DIR");
    if (!hu_data_kind_has(kind, HU_DATA_HAS_DIRECTORY)) return HU_OK;
    if (colon) return hu_strdup(colon + 1, directory);
    const char *root = getenv("HALFULP_DATA");
    return hu_path_join(root && root[0] ? root : SHARED_ROOT, kind->name, directory);
}

bool hu_dataset_available(const char *spec) {
    if (!spec) return false;
    const hu_data_kind *kind;
    char *directory = NULL;
    bool available = find_kind(spec, &kind) == HU_OK &&
                     find_directory(kind, spec, &directory) == HU_OK &&
                     (!kind->available || kind->available(kind, directory));
    hu_free(directory);
    return available;
}

/* Mean and deviation per channel from exact integer sums over the training half. */
static void measure(hu_dataset *dataset) {
    hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    const uint8_t *bytes = dataset->train.rows[HU_FIELD_IMAGE];
    size_t channels = (size_t)image->extent[2];
    size_t pixels = (size_t)(dataset->train.count * image->extent[0] * image->extent[1]);
    for (size_t c = 0; c < channels; c++) {
        uint64_t sum = 0, squares = 0;
        for (size_t i = 0; i < pixels; i++) {
            uint64_t value = bytes[i * channels + c];
            sum += value;
            squares += value * value;
        }
        double mean = (double)sum / (double)pixels;
        double variance = (double)squares / (double)pixels - mean * mean;
        image->mean[c] = (float)(mean / 255);
        image->std[c] = variance > 0 ? (float)(sqrt(variance) / 255) : 1.0f;
    }
}

/* Published constants, or measured ones where the kind has none. */
static void take_constants(const hu_data_kind *kind, hu_dataset *dataset) {
    hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    if (hu_data_kind_has(kind, HU_DATA_TAKES_TEXT) ||
        hu_data_kind_has(kind, HU_DATA_TAKES_PARALLEL))
        return;                       /* they have no images */
    if (image->std[0] > 0.0f) return; /* a kind made of another kind has taken them over */
    memcpy(image->mean, kind->mean, sizeof kind->mean);
    memcpy(image->std, kind->std, sizeof kind->std);
    hu_augment own = dataset->augment;
    dataset->augment = kind->augment;
    if (own.pad || own.area > 0.0) dataset->augment.pad = own.pad;
    dataset->augment.area = own.area;
    dataset->augment.least_scale = own.least_scale;
    dataset->augment.most_scale = own.most_scale;
    dataset->augment.box_samples = own.box_samples;
    if (kind->std[0] == 0.0f) measure(dataset);
}

/* Coloured pictures of one size, which files can be made to. */
static bool has_squares(const hu_data_kind *kind) {
    return kind->std[HU_CHANNELS_MAX - 1] > 0.0f && kind->height > 0 && kind->height == kind->width;
}

/* Pictures that somebody has, in the size of those that a model of the kind has seen. */
static hu_status open_squares(const hu_data_kind *kind, const hu_image_choice *choice,
                              hu_dataset *dataset) {
    hu_image_choice of_files = {
        .size = kind->height, .memory = choice->memory, .known = choice->known};
    if (of_files.known.classes == 0) of_files.known.classes = kind->classes;
    return hu_folder_open(kind, NULL, NULL, &of_files, dataset);
}

static hu_status check_files(const hu_data_kind *kind, const hu_data_known *known,
                             const char *name) {
    if (!known->files || hu_data_kind_has(kind, HU_DATA_TAKES_FILES) || has_squares(kind))
        return HU_OK;
    if (hu_data_kind_has(kind, HU_DATA_TAKES_TEXT) ||
        hu_data_kind_has(kind, HU_DATA_TAKES_PARALLEL))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found '%.100s' for a model of %s, expected text='%.100s': words to go on "
                       "with or to translate",
                       known->files[0], name, known->files[0]);
    return hu_fail(
        HU_ERR_ARGUMENT,
        "found the file %s for a model of %s, expected one of folder:DIR, boxes:DIR, "
        "cifar10, cifar100 or glyphs, which take pictures, or of speech:DIR or sounds:DIR, which "
        "take sounds; other models take data=KIND:DIR",
        known->files[0], name);
}

/* What a folder of labelled pictures, or everybody, calls its classes. */
static hu_status name_classes(const hu_data_kind *kind, const char *directory,
                              hu_dataset *dataset) {
    hu_status st = HU_OK;
    int64_t classes = dataset->field[HU_FIELD_LABEL].classes;
    if (hu_data_kind_has(kind, HU_DATA_READS_NAMES))
        HU_TRY(hu_class_names_read(directory, classes, &dataset->class_names));
    if (!dataset->class_names && kind->names)
        HU_TRY(hu_class_names_copy(kind->names, classes, &dataset->class_names));
    if (dataset->class_names && (hu_data_kind_has(kind, HU_DATA_READS_NAMES) || kind->names))
        dataset->class_name_count = classes;
done:
    return st;
}

static hu_status open_kind(const hu_data_kind *kind, const char *directory,
                           const hu_data_limits *limits, const hu_image_choice *choice,
                           hu_dataset *dataset) {
    hu_status st = hu_data_kind_check(kind, choice, dataset->name);
    if (st == HU_OK) st = check_files(kind, &choice->known, dataset->name);
    if (st != HU_OK) return st;
    if (choice->known.files && has_squares(kind)) return open_squares(kind, choice, dataset);
    st = kind->open(kind, directory, limits, choice, dataset);
    if (st == HU_OK) st = name_classes(kind, directory, dataset);
    bool is_folder = choice->known.file_count == 0; /* files of predict stand anywhere */
    if (st == HU_ERR_MISSING && kind->advice[0] && is_folder)
        return hu_fail(st, "data %s: %s; %s", dataset->name, hu_last_error(), kind->advice);
    return st;
}

/* " in '/home/me'": where a path was looked for that does not say so itself; "" of others. */
static const char *where(const char *path, char text[PLACE_BYTES]) {
    char here[PLACE_BYTES - sizeof " in ''"];
    text[0] = '\0';
    if (path[0] != '/' && getcwd(here, sizeof here)) snprintf(text, PLACE_BYTES, " in '%s'", here);
    return text;
}

/* A path that is not there at all is told as such, before any file in it is. */
static hu_status check_there(const hu_data_kind *kind, const char *spec, const char *directory,
                             const hu_image_choice *choice) {
    bool is_path = directory && kind->advice[0] && choice->known.file_count == 0;
    bool is_present = true;
    char place[PLACE_BYTES];
    if (!is_path || choice->known.prompts) return HU_OK;
    hu_status st = hu_file_find(directory, &is_present);
    if (st != HU_OK || is_present) return st;
    return hu_fail(HU_ERR_MISSING, "data %s: found no file or folder '%s'%s; %s", spec, directory,
                   where(directory, place), kind->advice);
}

hu_status hu_dataset_open(const char *spec, const hu_data_limits *limits, hu_dataset **dataset) {
    HU_GIVEN(dataset);
    *dataset = NULL;
    HU_GIVEN(spec);
    return hu_dataset_open_images(spec, limits, NULL, dataset);
}

hu_status hu_dataset_open_images(const char *spec, const hu_data_limits *limits,
                                 const hu_image_choice *choice, hu_dataset **dataset) {
    HU_GIVEN(dataset);
    *dataset = NULL;
    HU_GIVEN(spec);
    static const hu_data_limits all = {0, 0};
    static const hu_image_choice usual = {.size = 0};
    hu_status st = HU_OK;
    const hu_data_kind *kind;
    char *directory = NULL;
    void *block = NULL;
    if (!limits) limits = &all;
    if (!choice) choice = &usual;
    if (limits->train < 0 || limits->test < 0)
        return hu_fail(HU_ERR_ARGUMENT, "data limit: found %lld, expected 0 or more",
                       (long long)(limits->train < 0 ? limits->train : limits->test));
    HU_TRY(find_kind(spec, &kind));
    HU_TRY(find_directory(kind, spec, &directory));
    HU_TRY(check_there(kind, spec, directory, choice));
    HU_TRY(hu_alloc(sizeof **dataset, &block));
    hu_dataset *opened = block;
    HU_TRY(hu_strdup(spec, &opened->name));
    HU_TRY(open_kind(kind, directory, limits, choice, opened));
    opened->only_test = choice->known.files ||
                        (hu_data_kind_has(kind, HU_DATA_TAKES_KNOWN) && choice->known.only_test);
    /* Data counts under its own role, so that the ledger of a run can be checked without it. */
    for (size_t i = 0; i < OWNED; i++) hu_memory_assign(opened->owned[i], HU_MEMORY_DATA);
    take_constants(kind, opened);
    *dataset = opened;
    block = NULL;
done:
    hu_dataset_close(block);
    hu_free(directory);
    return st;
}

void hu_dataset_close(hu_dataset *dataset) {
    if (!dataset) return;
    for (size_t i = 0; i < OWNED; i++) hu_free(dataset->owned[i]);
    hu_reader *const reader[] = {dataset->train.reader, dataset->train.files, dataset->test.reader,
                                 dataset->test.files};
    for (size_t i = 0; i < sizeof reader / sizeof *reader; i++)
        if (reader[i]) reader[i]->close(reader[i]);
    hu_free(dataset->parted);
    hu_free(dataset->class_names);
    hu_free(dataset->source_names);
    hu_free(dataset->name);
    hu_free(dataset->note);
    hu_free(dataset);
}
