/* halfulp/data.h - labelled images: opening data sets and filling batches.
 * Layer 3 (depends on base). A data set is read-only once opened and may be shared by threads.
 */
#ifndef HALFULP_DATA_H
#define HALFULP_DATA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

enum { HU_CHANNELS_MAX = 3 };

/* Random changes of a training image, applied in this order. All zero: none. */
typedef struct hu_augment {
    int64_t pad; /* border in pixels, out of which an image of the old size is cut: what is stored
                    around the image, black beyond */
    bool flip;   /* mirrored left to right with probability 1/2 */
    int64_t cutout; /* side in pixels of a square inside the image set to 0 after normalisation */
} hu_augment;

/* One half of a data set. Borrowed: valid until the data set is closed. */
typedef struct hu_split {
    int64_t count;
    const uint8_t *pixels; /* [count, height + 2 margin, width + 2 margin, channels] */
    const int32_t *labels; /* [count], each in 0..classes-1 */
} hu_split;

/* A data set in memory, pixels kept as bytes. */
typedef struct hu_dataset {
    char *name; /* the spec it was opened by */
    int64_t height, width, channels, classes;
    int64_t margin; /* pixels stored around each image, of which only random crops see some */
    float mean[HU_CHANNELS_MAX], std[HU_CHANNELS_MAX]; /* per channel, of pixels in 0..1 */
    hu_augment augment;                                /* usual for this data */
    hu_split train, test;
    void *owned[4]; /* private: memory behind the splits */
} hu_dataset;

/* How many samples of each half to use, from the front; 0 = all, larger than there are = all. */
typedef struct hu_data_limits {
    int64_t train, test;
} hu_data_limits;

/* Opens a data set by name.
 *
 *   spec     fashion-mnist | idx:DIR | cifar10:DIR | cifar100:DIR | glyphs | folder:DIR. Without
 * ":DIR" the files of a named set are sought in the folder of its name under $HALFULP_DATA, or
 *            under /usr/share/datasets if that is not set
 *   limits   NULL for everything
 *   dataset  owner frees with hu_dataset_close; NULL on failure
 *
 * HU_ERR_UNKNOWN with the nearest names; HU_ERR_MISSING with advice; HU_ERR_CORRUPT naming file,
 * offset, field, found and expected; HU_ERR_ARGUMENT for a DIR that is missing or out of place and
 * for negative limits; HU_ERR_IO, HU_ERR_LIMIT, HU_ERR_MEMORY.
 * Proof: tests/unit/data_idx_test.c, data_cifar_test.c, data_glyphs_test.c. */
hu_status hu_dataset_open(const char *spec, const hu_data_limits *limits, hu_dataset **dataset);

/* What is made of a folder of images, and which of its classes and training images are used. All
 * zero: the usual. */
typedef struct hu_image_choice {
    int64_t size;        /* shorter side after resizing, in pixels; 0: 64 */
    int64_t crop;        /* side of the square that a network sees; 0: size */
    int64_t classes;     /* number of classes drawn at random; 0: all */
    int64_t part, parts; /* part 1..parts of each class's training images; parts 0: all */
    uint64_t seed;       /* of classes and parts */
} hu_image_choice;

/* hu_dataset_open with a choice (NULL: the usual), for a spec of images in files:
 *
 *   folder:DIR  DIR/train/CLASS/FILE and DIR/val/CLASS/FILE (or DIR/test), files ending in .jpg,
 * .jpeg or .png in any case. Classes are numbered in the order of their names; samples take turns:
 * the first of each class by name, then the second, and so on
 *
 * Images are decoded once and kept as bytes: 3 (size)^2 per image. Grey ones get three equal
 * channels, CMYK is converted, 16 bits become 8, transparency is dropped; the shorter side is
 * resized to size (bilinear, over all pixels that a target pixel covers) and the middle kept. JPEGs
 * of more than twice that are decoded at 1/2, 1/4 or 1/8 of their size.
 *
 * As hu_dataset_open; HU_ERR_CORRUPT names the first file that is damaged, HU_ERR_MEMORY the need
 * where the images do not fit, HU_ERR_ARGUMENT a choice that does not fit the data.
 * Proof: tests/unit/data_image_test.c, data_folder_test.c. */
hu_status hu_dataset_open_images(const char *spec, const hu_data_limits *limits,
                                 const hu_image_choice *choice, hu_dataset **dataset);

/* Frees a data set; NULL is allowed. */
void hu_dataset_close(hu_dataset *dataset);

/* Whether the files of a spec are there (not whether they are sound). False for unknown names. */
bool hu_dataset_available(const char *spec);

/* Kind number index as it is written in a spec ("cifar10:DIR") and what it is, in one line; NULL
 * behind the last. Borrowed: valid for ever. */
const char *hu_data_kind_name(size_t index);
const char *hu_data_kind_help(size_t index);

typedef enum hu_half { HU_HALF_TRAIN, HU_HALF_TEST } hu_half;

typedef struct hu_loader_settings {
    uint64_t seed;
    bool shuffle;
    hu_augment augment;
} hu_loader_settings;

/* Gives the samples of one half of a data set, epoch by epoch, in a fixed or a shuffled order.
 * Sample number p of epoch e is a function of (data set, settings, e, p) alone: batch size, calls
 * and threads do not matter. */
typedef struct hu_loader hu_loader;

/* Makes a loader, standing at epoch 0. The data set must outlive it.
 *
 *   loader  owner frees with hu_loader_close; NULL on failure
 *
 * HU_ERR_ARGUMENT if pad is negative or above 4,096 or cutout does not fit into the image;
 * HU_ERR_MEMORY. The only call that allocates.
 * Proof: tests/unit/data_loader_test.c. */
hu_status hu_loader_create(const hu_dataset *dataset, hu_half half,
                           const hu_loader_settings *settings, hu_loader **loader);

/* Frees a loader; NULL is allowed. */
void hu_loader_close(hu_loader *loader);

/* Samples of an epoch. */
int64_t hu_loader_count(const hu_loader *loader);

/* Puts the samples into the order of an epoch (>= 0): the permutation of key {seed, "shuffle",
 * epoch}, or file order without shuffle. HU_ERR_ARGUMENT if epoch < 0. Not while another thread
 * fills. */
hu_status hu_loader_begin_epoch(hu_loader *loader, int64_t epoch);

/* Index in the split of sample number position (0..count-1) of this epoch. */
int64_t hu_loader_index(const hu_loader *loader, int64_t position);

/* Fills samples first..first+count-1 of this epoch (inside 0..hu_loader_count).
 *
 *   images  [count, height, width, channels], (pixel/255 - mean)/std after augmentation
 *   labels  [count], class numbers
 *
 * Safe from several threads at once. Never allocates. Augmentation of a sample is a function of
 * (seed, epoch, index in the split). */
void hu_loader_fill(const hu_loader *loader, int64_t first, int64_t count, float *images,
                    float *labels);

#endif
