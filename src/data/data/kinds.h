/* data/kinds.h - the kinds of data sets, found by the word before the colon. */
#ifndef HU_DATA_KINDS_H
#define HU_DATA_KINDS_H
#include <halfulp/data.h>

/* What a kind has, and which wishes of hu_image_choice it takes; traits are sums of these. */
enum {
    HU_DATA_HAS_DIRECTORY = 1 << 0,
    HU_DATA_NEEDS_DIRECTORY = 1 << 1 | HU_DATA_HAS_DIRECTORY,
    HU_DATA_READS_NAMES = 1 << 2, /* DIR/classes.txt has a name of a class in each line, if any */
    HU_DATA_TAKES_SIZE = 1 << 3,
    HU_DATA_TAKES_CROP = 1 << 4,
    HU_DATA_TAKES_SCALES = 1 << 5,
    HU_DATA_TAKES_UNLABELLED = 1 << 6,
    HU_DATA_TAKES_SAMPLES = 1 << 7, /* box_samples */
    HU_DATA_TAKES_PARTS = 1 << 8,   /* classes and parts; area too, of sizes */
    HU_DATA_TAKES_PAIRS = 1 << 9,   /* scale and crops */
    HU_DATA_TAKES_FRAMES = 1 << 10, /* frames and rate */
    HU_DATA_TAKES_TEXT = 1 << 11,
    HU_DATA_READS_BYTES = 1 << 12,    /* if no unit is asked for */
    HU_DATA_TAKES_PARALLEL = 1 << 13, /* languages of a text */
    HU_DATA_TAKES_KNOWN = 1 << 14,    /* what a model knows */
    HU_DATA_TAKES_FILES = 1 << 15
};

typedef struct hu_data_kind {
    const char *name;  /* in a spec, before the colon */
    const char *usage; /* in the help */
    const char *help;
    const char *advice; /* what to do if its files are missing, "" if nothing is known */
    const char *fields; /* those that most kinds do not have, with blanks between them; NULL */
    unsigned traits;
    int64_t classes;       /* 0: taken from the labels */
    const char *names;     /* [classes] without classes.txt, each with its final zero; NULL */
    int64_t height, width; /* 0: taken from the files */
    float mean[HU_CHANNELS_MAX], std[HU_CHANNELS_MAX]; /* std 0: computed from the training half */
    hu_augment augment;

    /* Whether the files are in directory; NULL: there are none to miss. */
    bool (*available)(const struct hu_data_kind *kind, const char *directory);

    /* Fills dimensions, classes, splits and owned of a dataset that is zero but for its name. What
     * was put into owned is freed by the caller, also on failure. */
    hu_status (*open)(const struct hu_data_kind *kind, const char *directory,
                      const hu_data_limits *limits, const hu_image_choice *choice,
                      hu_dataset *dataset);
} hu_data_kind;

static inline bool hu_data_kind_has(const hu_data_kind *kind, unsigned trait) {
    return (kind->traits & trait) == trait;
}

/* HU_ERR_ARGUMENT where a choice asks for what the kind cannot give; names the key and the kinds
 * that can. name: of the data set. */
hu_status hu_data_kind_check(const hu_data_kind *kind, const hu_image_choice *choice,
                             const char *name);

/* HU_ERR_UNKNOWN for a spec of none of the kinds [count]: what it looks like, and how that is
 * written. */
hu_status hu_data_kind_unknown(const char *spec, const hu_data_kind *kinds, size_t count);

/* How data that have the fields [count] are asked for ("boxes:DIR"): those of the kind whose own
 * fields most of them are, the last of such kinds; NULL where none is a kind's own. Borrowed: valid
 * forever. */
const char *hu_data_kind_with(const char *const *field, int count);

/* The smaller of count and limit, 0 being no limit. */
static inline int64_t hu_limited(int64_t count, int64_t limit) {
    return limit > 0 && limit < count ? limit : count;
}

/* Every kind of files has one of each; glyphs, contacts, grammar,
 * tones and scenes are never missing. */
#define HU_DATA_KIND_PROTOTYPES(name)                                                              \
    bool hu_##name##_available(const hu_data_kind *kind, const char *directory);                   \
    hu_status hu_##name##_open(const hu_data_kind *kind, const char *directory,                    \
                               const hu_data_limits *limits, const hu_image_choice *choice,        \
                               hu_dataset *dataset);
HU_DATA_KIND_PROTOTYPES(idx)
HU_DATA_KIND_PROTOTYPES(cifar)
HU_DATA_KIND_PROTOTYPES(glyphs)
HU_DATA_KIND_PROTOTYPES(contacts)
HU_DATA_KIND_PROTOTYPES(grammar)
HU_DATA_KIND_PROTOTYPES(tones)
HU_DATA_KIND_PROTOTYPES(scenes)
HU_DATA_KIND_PROTOTYPES(ink)
HU_DATA_KIND_PROTOTYPES(folder)
HU_DATA_KIND_PROTOTYPES(dense)
HU_DATA_KIND_PROTOTYPES(boxes)
HU_DATA_KIND_PROTOTYPES(pairs)
HU_DATA_KIND_PROTOTYPES(speech)
HU_DATA_KIND_PROTOTYPES(sounds)
HU_DATA_KIND_PROTOTYPES(text)
HU_DATA_KIND_PROTOTYPES(parallel)
HU_DATA_KIND_PROTOTYPES(segments)

#endif
