/* halfulp/data.h - data sets of named fields: opening them and filling batches.
 * A data set is read-only once opened and may be shared by threads.
 */
#ifndef HALFULP_DATA_H
#define HALFULP_DATA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HU_CHANNELS_MAX = 3, HU_FIELDS_MAX = 8, HU_FIELD_RANK_MAX = 4, HU_FIELD_NAME_BYTES = 24 };

/* A class number that means "not counted": what lies outside a label map, pixels that nobody has
 * labelled. In label maps of bytes it is stored as HU_UNLABELLED_BYTE. */
enum { HU_UNLABELLED = -1, HU_UNLABELLED_BYTE = 255, HU_LABELS_MAX = 255 };

/* What the tokens of a text are. */
typedef enum hu_text_unit {
    HU_TEXT_BYTES,
    HU_TEXT_CHARACTERS,
    HU_TEXT_WORDS,
    HU_TEXT_PIECES /* of words, that a vocabulary has */
} hu_text_unit;

/* Random changes of a training sample, applied in this order. All zero: none. Spatial fields of one
 * sample move together. */
typedef struct hu_augment {
    int64_t pad; /* border in pixels, out of which an image of the old size is cut: what is stored
                    around the image; what lies beyond, reflect says */
    bool flip;   /* mirrored left to right with probability 1/2 */
    bool turn;   /* one of the eight ways in which a square can lie, each as likely: mirrored left
                    to right, upside down, rows and columns exchanged; without pad and cutout */
    int64_t cutout; /* side in pixels of a square inside the image set to 0 after normalisation;
                       only fields that are read as HU_READ_NORMALISED lose it */
    bool reflect;   /* beyond what is stored lies its mirror image, without the outermost pixels
                       (numpy's "reflect"); else black */
    double area;    /* above 0: instead of that image, a random rectangle of at least this share of
                       the file's picture, resized; only where hu_image_choice asked for it */
    double least_scale, most_scale; /* above 0: picture and label map larger or smaller by a random
                       ratio between the two, of which a random window is cut; likewise */

    bool box_samples; /* random windows of pictures with boxes, as SSD has them; likewise */

    /* Of fields that are read as HU_READ_NORMALISED, in this order, with their published names. */
    double randaugment, randaugment_std; /* strength 0..10 of RandAugment, and its deviation: bytes
                                            of three channels; 0: none */
    double erase;                        /* probability that a rectangle becomes noise */
    double mixup, cutmix; /* the A of Beta(A, A), 0: not; only of data with hu_dataset_mix */
    double mix_switch;    /* probability of cutmix where both are on */
} hu_augment;

typedef enum hu_field_type { HU_FIELD_U8, HU_FIELD_I32, HU_FIELD_F32 } hu_field_type;

/* One named array that every sample has: "image", "label", "mask". */
typedef struct hu_field {
    char name[HU_FIELD_NAME_BYTES];
    hu_field_type type;
    int rank;                          /* 0: one number */
    int64_t extent[HU_FIELD_RANK_MAX]; /* of one sample; of the longest one where ragged */
    bool is_ragged;                    /* the first extent differs from sample to sample */
    bool is_spatial;                   /* [height, width, ...]: random crops and flips move it */
    bool is_boxes;   /* [boxes, 5]: x1 y1 x2 y2 as shares of the spatial fields, then the class;
                        moved with them. Class HU_UNLABELLED: there is no box, or not any more;
                        below, but in training: -2 - class, a box that is difficult, which
                        evaluations neither ask for nor count as wrong */
    int64_t classes; /* above 0: whole numbers 0..classes-1, or unlabelled. 0: quantities */
    bool is_mix;     /* [2]: class of the sample that a sample is mixed with, and its weight */
    int64_t margin;  /* pixels stored around each sample, of which only random crops see some */
    float mean[HU_CHANNELS_MAX],
        std[HU_CHANNELS_MAX]; /* of bytes / 255, per channel; std 0: none */
} hu_field;

/* Samples that a program makes itself, as a function of (epoch, index) alone: so resuming and
 * threads stay invisible. */
typedef struct hu_sample_source {
    size_t size;     /* sizeof(hu_sample_source) */
    int64_t samples; /* of an epoch */
    void *context;   /* given to fill */
    /* Writes one field of a sample: row [extents of the field]. Called by several threads at once;
     * a status that is not HU_OK ends the training. */
    hu_status (*fill)(void *context, int field, int64_t epoch, int64_t index, float *row);
} hu_sample_source;

/* One part of a data set. Borrowed: valid until the data set is closed. */
typedef struct hu_split {
    int64_t count;
    const hu_field *field;   /* [fields] where samples of this part have other extents than the data
                                set's fields say, but for these the same; NULL: they have not */
    hu_sample_source source; /* fill NULL: the samples are in rows */
    const void
        *rows[HU_FIELDS_MAX]; /* [samples, extent + 2 margin in the first two, ...] by field */
    const int32_t *length[HU_FIELDS_MAX]; /* [samples] of ragged fields, else NULL */
    struct hu_reader *reader; /* private: reads fields that are not in rows; NULL: there are none */
    struct hu_reader *files;  /* private: of samples that were read and are in rows, who knows their
                                 files; else NULL */
    const uint32_t *index; /* [count] ascending: the samples of this part among those in rows or of
                              the source; NULL: all of them */
    const int32_t *rows_taken; /* [samples] rows that the longest sequence of a sample has; NULL:
                                  those of its first ragged field, or all have as many */
} hu_split;

/* What is told of the sounds of a half. */
typedef struct hu_sounds_told {
    int64_t cut;       /* longer than a sample: their end is not heard */
    int64_t resampled; /* from another rate than the data set's */
    int64_t silent;    /* nowhere louder than a ten-thousandth of full scale */
    int64_t left_out;  /* other files beside them */
} hu_sounds_told;

/* What is told of the boxes of a half. */
typedef struct hu_boxes_told {
    int64_t boxes;   /* that its files have */
    int64_t cut;     /* end beyond their picture: cut to it */
    int64_t empty;   /* outside of it, or without an area: left out */
    int64_t turned;  /* xmin above xmax, or ymin above ymax: left out */
    int64_t renamed; /* pictures whose annotation names another one */
} hu_boxes_told;

/* A data set, in the type of its fields: in memory, or read from its files while it is used. */
typedef struct hu_dataset {
    char *name; /* the spec it was opened by */
    hu_field field[HU_FIELDS_MAX];
    int field_count;
    hu_augment augment; /* usual for this data */
    hu_split train, test;
    hu_split validation; /* held out of train by hu_dataset_hold_out; count 0: nothing is */
    void *owned[2 * HU_FIELDS_MAX]; /* private: memory after the splits */
    uint32_t *parted;               /* private: the indices of train and validation */
    char *class_names; /* private: each with its final zero; NULL: classes have numbers alone */
    int64_t class_name_count; /* private: names in class_names */
    char *source_names;       /* private: the same of the field "source"; NULL: it has no words */
    int64_t source_name_count;
    bool only_test;      /* samples of the training half are those of testing */
    bool lacks_truth;    /* nobody has said what is true of test samples */
    bool holds_test;     /* test samples were drawn out of the only part that there is */
    hu_text_unit unit;   /* of the fields "tokens" and "targets" of a text */
    int64_t left_out[2]; /* pairs of sentences of the training and the test files that are no
                            samples: too long, or with an empty line; pictures that are damaged */
    char *note; /* private: in words, what of its files is no sample or may not be meant so; NULL:
                   nothing */
    hu_boxes_told boxes[2];   /* of the training and the test files that have boxes */
    hu_sounds_told sounds[2]; /* of the training and the test files that are sounds */
    int64_t streams; /* above 0: so many samples that stand side by side go on in the next so many;
                        they are never shuffled */
} hu_dataset;

/* Adds the field "mix" to labelled images, so that loaders can mix them (hu_augment.mixup and
 * cutmix); of loaders that do not, its weights are 0. HU_ERR_ARGUMENT where the data are no
 * labelled images. */
HU_API hu_status hu_dataset_mix(hu_dataset *dataset);

/* Number of the field of a name, -1 if the data set has none. */
HU_API int hu_dataset_find(const hu_dataset *dataset, const char *name);

/* Name of a class of the data, from 0 on, as its files say; NULL where they say none, and for
 * numbers that are no class of theirs. Borrowed: valid until the data set is closed. */
HU_API const char *hu_dataset_class_name(const hu_dataset *dataset, int64_t class_number);

/* The same for the numbers of the field "source". Borrowed: valid until the data set is closed. */
HU_API const char *hu_dataset_source_name(const hu_dataset *dataset, int64_t number);

/* Numbers of one sample of a field, without margins; INT64_MAX: more than that. */
HU_API int64_t hu_field_elements(const hu_field *field);

/* The fields of labelled images: bytes "image" [height, width, channels] as number 0 and class
 * numbers "label" as number 1. */
enum { HU_FIELD_IMAGE, HU_FIELD_LABEL };
HU_API void hu_dataset_set_images(hu_dataset *dataset, int64_t height, int64_t width,
                                  int64_t channels, int64_t classes);

/* How many samples of each half to use, from the front; 0 = all, larger than there are = all. */
typedef struct hu_data_limits {
    int64_t train, test;
} hu_data_limits;

/* Opens a data set by name.
 *
 *   spec     fashion-mnist | idx:DIR | cifar10:DIR | cifar100:DIR | glyphs | contacts |
 *            folder:DIR | dense:DIR | boxes:DIR | pairs:DIR | speech:DIR | sounds:DIR | ink:SPEC |
 *            text:FILE | parallel:DIR | segments:FILE. Without ":DIR" the files of a named set are
 *            sought in the folder of its name under $HALFULP_DATA, or under /usr/share/datasets if
 *            that is not set
 *   limits   NULL for everything
 *   dataset  owner frees with hu_dataset_close; NULL on failure
 *
 * HU_ERR_UNKNOWN with the nearest names; HU_ERR_MISSING with advice; HU_ERR_CORRUPT naming file,
 * offset, field, found and expected; HU_ERR_ARGUMENT for a DIR that is missing or out of place and
 * for negative limits; HU_ERR_IO, HU_ERR_LIMIT, HU_ERR_MEMORY.
 * Proof: tests/unit/data_idx_test.c, data_cifar_test.c, data_glyphs_test.c,
 * data_contacts_test.c. */
HU_API hu_status hu_dataset_open(const char *spec, const hu_data_limits *limits,
                                 hu_dataset **dataset);

/* What is made of a text. All zero: the usual. */
typedef struct hu_text_choice {
    hu_text_unit unit;
    int64_t least_count;    /* words, or characters, that the training text has less often become
                               <unk>; 0: 1, of parallel 2 */
    int64_t length;         /* tokens of a sample; 0: 64, of parallel 32 */
    int64_t streams;        /* above 0: the text is cut into so many pieces of one length, which are
                               read side by side; 0: samples are windows, in any order */
    const char *valid;      /* file of the test text; NULL: the last tenth of the tokens */
    const char *vocabulary; /* file of the words, a line for each; NULL: those of the training text
                               (data/vocabulary.h) */

    /* Of parallel: LANG of files NAME.LANG; NULL: none, which is refused. */
    const char *source, *target;
    const char *test;              /* NAME of the test files; NULL: test, or val */
    const char *source_vocabulary; /* as vocabulary, which is that of the target */
} hu_text_choice;

/* What a trained model knows of its data, where it is to look at others or at its own again. All
 * zero: nothing. Of speech:DIR classes are the blank, whose name is empty, and the alphabet, also
 * where the training half is read. */
typedef struct hu_data_known {
    bool only_test; /* of parallel:DIR with both vocabularies, folder:DIR, dense:DIR, boxes:DIR and
                       speech:DIR: the training half is not read, and need not be there: that of
                       testing stands for it. Classes are then these: */
    const char *class_names;  /* each with its final zero; NULL: they have numbers alone */
    int64_t classes;          /* how many there are */
    int64_t height, width;    /* that pictures with boxes get; 0: those of the first one. Of sounds
                                 frames and frequencies */
    int64_t boxes;            /* the most of a picture; test pictures may still have more */
    bool needs_no_truth;      /* pictures with boxes may lack their annotation, and have then none;
                                 what is said in sounds may be unknown */
    int64_t letters;          /* of the longest text of sounds; test sounds may still have more */
    const char *const *files; /* [file_count] pictures or sounds that stand for the samples of a
                                 model of folder:DIR, boxes:DIR, data sets of square coloured
                                 pictures of one size, or of speech:DIR; no other file is read, and
                                 nobody says what is true of them. NULL: there are none. Borrowed */
    size_t file_count;
    bool prompts; /* text:FILE is not read: each half is one sample, whose tokens somebody writes
                     (data/text.h) and whose targets are unlabelled */
} hu_data_known;

/* What is made of a folder of images, and which of its classes and training images are used. All
 * zero: the usual. */
typedef struct hu_image_choice {
    int64_t size;    /* shorter side after resizing, in pixels; 0: of a folder 64, else as it is */
    int64_t crop;    /* side of the square that a network sees, of dense in training; 0: size */
    int64_t classes; /* number of classes drawn at random; 0: all */
    int64_t part, parts; /* part 1..parts of each class's training images; parts 0: all */
    uint64_t seed;       /* of classes and parts */
    uint64_t memory;     /* most bytes that decoded images may take; 0: 1 GiB */
    double area;         /* least share of an image in a random crop of training; 0: none */
    double held;         /* of folder:DIR without test images: the share of the images of each class
                            (below 1), or how many of all, that are drawn by seed to test with; 0:
                            none, which is an error there */
    bool skips_damaged;  /* of folder: files that cannot be decoded are left out, as if they were
                            missing, and counted; all are read once for that */
    int64_t
        unlabelled; /* 1 + the number in label maps that means unlabelled, beside 255; 0: none */
    uint8_t labels[HU_LABELS_MAX]; /* [label_count] the numbers in label maps that mean class 0, 1,
                                      ..; others but those that mean unlabelled are errors */
    int label_count;               /* 0: numbers are the classes, but for 255 */
    int64_t scale;                 /* of pairs: large sides over small ones, 2 to 16; 0: 4 */
    int64_t crops; /* of pairs: training samples of an epoch; 0: 50 for each picture */
    double least_scale, most_scale; /* of dense: random ratio in training, 0.1 to 10; 0: 1 */
    bool box_samples;               /* of boxes: training sees random windows (data/box_sample.h) */
    int64_t frames; /* of speech and sounds: frames of a sample, to which sounds are cut or filled
                       up; 0: 160, of sounds 100 */
    int64_t rate;   /* of the same: moments of a second, to which sounds are resampled; 0: those of
                       the first training sound */
    bool of_sounds; /* classes hold sounds, not pictures: set for sounds:DIR */
    hu_text_choice text; /* of text */
    hu_data_known known;

    /* Hears how many files of a half are listed so far, after every class; NULL: nobody. */
    void (*told)(void *context, const char *directory, int64_t files);
    void *context; /* given to told */
} hu_image_choice;

/* hu_dataset_open with a choice (NULL: the usual), for a spec of images in files:
 *
 *   folder:DIR  DIR/train/CLASS/FILE and DIR/val/CLASS/FILE (or DIR/test), files ending in .jpg,
 * .jpeg, .jfif, .png or .webp in any case, turned upright as their EXIF says. Where there is
 * neither val nor test, choice->held draws some to test with out of DIR/train, or, without that
 * either, out of DIR/CLASS/FILE. Classes are numbered in the order of their names; samples take
 * turns: the first of each class by name, then the second, and so on
 *
 *   dense:DIR   DIR/train/NAME.jpg with the label map DIR/trainannot/NAME.png, and the same of test
 * (or val). Field "mask" [height, width] holds class numbers. All pictures have one size, or get
 * that of the first; a label map has its picture's size, and is resized without mixing numbers
 *
 *   boxes:DIR   the layout of PASCAL VOC: DIR/ImageSets/Main/train.txt and test.txt (or val.txt)
 * name pictures in DIR/JPEGImages with XML in DIR/Annotations. Ragged field "boxes" [most, 5], see
 * hu_field; classes are numbered in the order of their names. Boxes without area are left out.
 * Sizes of pictures are as those of dense:DIR
 *
 *   pairs:DIR   pictures in DIR/train and DIR/test (or val). Fields "small" and "large": the
 * picture, and what hu_image_choice.scale makes of it (bicubic, as Pillow). Training samples are
 * crops, of small sides crop (24), at fixed places: which ones, a formula says
 * (data/super_resolution.c), not a seed. Test samples are whole pictures of one size
 *
 *   speech:DIR  DIR/train/NAME.wav (or .flac, .ogg and others) and the same of test (or val), of
 * any coding, channels and rate, with DIR/train/transcripts.txt: NAME, a tab and what is said.
 * Without such a file names begin with a digit and "_", and mean that digit. Fields: ragged
 * "features" [frames, bins, 1], a spectrogram (media/audio.h) cut to choice->frames;
 * "length", its frames; ragged "label" [most], class numbers of the characters: 0 is the blank,
 * which no text has, 1 to 26 are a to z
 *
 *   sounds:DIR  sounds in folders of classes, as folder:DIR has pictures. Fields: "image" [frames,
 * bins, 1], their spectrograms as those of speech:DIR, of choice->frames (100), and "label"
 *
 *   text:FILE   fields "tokens" and "targets" [length]: numbers of tokens, and of the token after
 * each. Windows do not overlap; what is left after the last whole one is not used. Of bytes there
 * are 256; words and characters have names (hu_dataset_class_name)
 *
 *   parallel:DIR  DIR/train.LANG and DIR/test.LANG (or val), plain or with .gz after, a sentence a
 * line, the same one in each language. Fields, of rows of choice->text.length: "source", numbers of
 * the words and 0 after them, "source_length", "tokens", 1 (<bos>), the numbers of the other
 * language's words and 0 after them, "targets", these words, 2 (<eos>) and unlabelled after it,
 * "target_length", words and <eos>. Pairs that do not fit are left out. Words are made by
 * data/tokenizer.h; those of the target are hu_dataset_class_name, of the source
 * hu_dataset_source_name
 *
 *   segments:FILE  the text as pairs of segments of its documents, which headings (lines that
 * begin and end with "=") part; new words of them are hidden in every epoch, as data/masked_text.c
 * says. Fields "tokens" and "segments" [length], "places" of hidden words and "targets", which are
 * the words themselves [15 of 100 of the length], "label", 0 where the second segment follows the
 * first, else 1, and "length", the tokens that are present
 *
 * An image of a folder becomes 3 (size)^2 bytes. Grey ones get three equal channels, CMYK is
 * converted, 16 bits become 8, transparency is dropped; the shorter side is resized to size
 * (bilinear, over all pixels that a target pixel covers) and the middle kept. JPEGs of more than
 * twice that are decoded at 1/2, 1/4 or 1/8 of their size. Where all images fit into
 * choice->memory, they are decoded now and kept; else they are decoded ahead of whoever wants them
 * (hu_loader_want), with the same bits.
 *
 * As hu_dataset_open; HU_ERR_CORRUPT names the first file that is damaged (of images that are not
 * kept: hu_loader_want), HU_ERR_ARGUMENT a choice that does not fit the data.
 * Proof: tests/unit/data_image_test.c, data_folder_test.c, data_ahead_test.c. */
HU_API hu_status hu_dataset_open_images(const char *spec, const hu_data_limits *limits,
                                        const hu_image_choice *choice, hu_dataset **dataset);

/* Makes a data set of samples that a program gives.
 *
 *   fields       [count] what fill writes, as float32; copied. Type, margin, mean and std are
 *                ignored: numbers are taken as they come, without augmentation
 *   train, test  copied; their contexts are borrowed and must outlive the data set
 *   dataset      owner frees with hu_dataset_close; NULL on failure
 *
 * HU_ERR_ARGUMENT: no field or more than HU_FIELDS_MAX, a field without a name, with that of
 * another or with an extent below 1, more numbers than can be addressed, no fill, no samples, a
 * source of another size. HU_ERR_MEMORY. Proof: tests/unit/data_source_test.c. */
HU_API hu_status hu_dataset_of_sources(const hu_field *fields, int count,
                                       const hu_sample_source *train, const hu_sample_source *test,
                                       hu_dataset **dataset);

/* Samples that are in memory: rows by field, float32. */
typedef struct hu_sample_rows {
    size_t size;               /* sizeof(hu_sample_rows) */
    int64_t samples;           /* of an epoch */
    const float *const *field; /* [fields][samples, extents of the field]; NULL: there are none, and
                                  hu_training_push brings those of each step */
} hu_sample_rows;

/* The same of samples in memory, which are borrowed and must outlive the data set.
 *
 *   train, test  who reads a half without rows fails with HU_ERR_MISSING. Its number of samples
 *                says how long an epoch is
 *
 * As hu_dataset_of_sources. Proof: tests/unit/data_source_test.c. */
HU_API hu_status hu_dataset_of_rows(const hu_field *fields, int count, const hu_sample_rows *train,
                                    const hu_sample_rows *test, hu_dataset **dataset);

/* Takes samples out of the training part; they become the validation part. Which ones is a function
 * of (seed, training samples, amount) alone: the first of the permutation of key {seed,
 * "validation", 0}. Both parts keep the order of the data set.
 *
 *   amount  below 1: that share of the training samples, to the nearest; else their number, whole
 *
 * HU_ERR_ARGUMENT: an amount that is none of these; one that leaves either part without a sample,
 * or the training part without a sample of a class that it has; parts that were made before.
 * HU_ERR_MEMORY. The data set is unchanged after a failure.
 * Proof: tests/unit/data_validation_test.c. */
HU_API hu_status hu_dataset_hold_out(hu_dataset *dataset, double amount, uint64_t seed);

/* Frees a data set; NULL is allowed. */
HU_API void hu_dataset_close(hu_dataset *dataset);

/* Whether the files of a spec are present (not whether they are sound). False for unknown names. */
HU_API bool hu_dataset_available(const char *spec);

/* Kind number index as it is written in a spec ("cifar10:DIR") and what it is, in one line; NULL
 * after the last. Borrowed: valid forever. */
HU_API const char *hu_data_kind_name(size_t index);
HU_API const char *hu_data_kind_help(size_t index);

/* The parts of a data set. Validation is present only if it was held out. */
typedef enum hu_split_kind { HU_SPLIT_TRAIN, HU_SPLIT_TEST, HU_SPLIT_VALIDATION } hu_split_kind;

/* The fields as the samples of a part have them. Borrowed: valid until the data set is closed. */
HU_API const hu_field *hu_dataset_fields(const hu_dataset *dataset, hu_split_kind half);

typedef struct hu_loader_settings {
    uint64_t seed;
    bool shuffle;
    int64_t sorted_epochs;  /* epochs 0 .. come by their length instead (hu_split), the shortest
                               first and equal ones in file order */
    const int64_t *buckets; /* [bucket_count] ascending lengths: samples up to the same one, or
                               longer than all, come in whole batches of their own; what is left of
                               all buckets, shorter ones first, is cut into batches too. These
                               follow each other in file order, or in a random one where shuffle
                               is on, but for the last one that is not whole. Borrowed: needed
                               while the loader is made. NULL: there are none */
    size_t bucket_count;
    int64_t batch; /* samples of a batch, at least 1 where there are buckets */
    hu_augment augment;

    /* Of data that are read from their files while they are used; others have no need of them. */
    int64_t window; /* most samples that are wanted at once; 0: 1 */
    int threads;    /* that read ahead; 0: 1 */
    int fillers;    /* most threads that call hu_loader_fill at once; 0: 1. Others wait */
    bool goes_on;   /* with the first samples of the next epoch after the last of one */
} hu_loader_settings;

/* Gives the samples of one part of a data set, epoch by epoch, in a fixed or a shuffled order.
 * Sample number p of epoch e is a function of (data set, settings, e, p) alone: batch size, calls
 * and threads do not matter. */
typedef struct hu_loader hu_loader;

/* Makes a loader, standing at epoch 0. The data set must outlive it.
 *
 *   loader  owner frees with hu_loader_close; NULL on failure
 *
 * HU_ERR_ARGUMENT if pad is negative or above 4,096, cutout does not fit into the smallest spatial
 * field, spatial fields of different sizes are to be shifted or cut, those that are not square to
 * be turned, area is set for data that are not read for
 * it, samples without lengths or in streams are to be sorted or put into buckets, samples of a
 * window do not fit into the memory, or the part has no sample; HU_ERR_MEMORY. The only call that
 * allocates, but for what reading a file needs while it is read. Proof:
 * tests/unit/data_loader_test.c. */
HU_API hu_status hu_loader_create(const hu_dataset *dataset, hu_split_kind half,
                                  const hu_loader_settings *settings, hu_loader **loader);

/* Frees a loader; NULL is allowed. */
HU_API void hu_loader_close(hu_loader *loader);

/* Samples of an epoch. */
HU_API int64_t hu_loader_count(const hu_loader *loader);

/* Puts the samples into the order of an epoch (>= 0): the permutation of key {seed, "shuffle",
 * epoch}, or file order without shuffle, or the order of their lengths. HU_ERR_ARGUMENT if epoch <
 * 0. Not while another thread fills. */
HU_API hu_status hu_loader_begin_epoch(hu_loader *loader, int64_t epoch);

/* Which of the samples in the split's rows (or of its source) is number position (0..count-1) of
 * this epoch. */
HU_API int64_t hu_loader_index(const hu_loader *loader, int64_t position);

/* Waits until samples first .. first+count-1 of this epoch can be filled. Those that come next are
 * read meanwhile, by threads of the loader. Nothing happens where the data are in memory; elsewhere
 * it must be called before every fill of other samples. The samples of a call are present until the
 * next one. Any sequence of calls is right; ascending ones do not wait long.
 *
 * HU_ERR_CORRUPT and others name the file of the first sample that cannot be read; HU_ERR_ARGUMENT
 * for more samples than settings.window. By one thread, not while another fills.
 * Proof: tests/unit/data_ahead_test.c. */
HU_API hu_status hu_loader_want(hu_loader *loader, int64_t first, int64_t count);

/* Seconds that hu_loader_want has waited so far. */
HU_API double hu_loader_waited(const hu_loader *loader);

/* How the numbers of a field are read. */
typedef enum hu_reading {
    HU_READ_PLAIN,      /* as they are; unlabelled bytes become HU_UNLABELLED */
    HU_READ_NORMALISED, /* bytes: (byte / 255 - mean) / std of the channel */
    HU_READ_UNIT,       /* bytes: byte / 255 */
    HU_READ_SIGNED      /* bytes: byte / 127.5 - 1, from -1 to 1 */
} hu_reading;

/* Fills one field of samples first..first+count-1 of this epoch (inside 0..hu_loader_count).
 *
 *   field  its number in the data set
 *   rows   [count, extents of the field], after augmentation of spatial fields
 *
 * Safe from several threads at once. Never allocates. Augmentation of a sample is a function of
 * (seed, epoch, index in the split), the same for all its fields. Ragged samples are followed by
 * zeros, class numbers by HU_UNLABELLED. */
HU_API void hu_loader_fill(const hu_loader *loader, int field, hu_reading reading, int64_t first,
                           int64_t count, float *rows);

/* HU_OK, or the failure of a source: the first sample that it could not fill, whose row is zero.
 * Only data sets of sources have failures. */
HU_API hu_status hu_loader_status(const hu_loader *loader);

/* Length of sample number position of a ragged field; its first extent otherwise. */
HU_API int64_t hu_loader_length(const hu_loader *loader, int field, int64_t position);

#ifdef __cplusplus
}
#endif

#endif
