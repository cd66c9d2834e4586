/* data/kinds.h - the kinds of data sets, found by the word before the colon. */
#ifndef HU_DATA_KINDS_H
#define HU_DATA_KINDS_H
#include <halfulp/data.h>

typedef struct hu_data_kind {
    const char *name;  /* in a spec, before the colon */
    const char *usage; /* in the help */
    const char *help;
    const char *advice; /* what to do if its files are missing, "" if nothing is known */
    const char
        *fields; /* names of those that most kinds have not, with blanks between them; NULL */
    bool needs_directory, has_directory;
    int64_t classes;   /* 0: taken from the labels */
    bool reads_names;  /* DIR/classes.txt has a name of a class in each line, where it is there */
    const char *names; /* [classes] where that is not there, each with its final zero; NULL */
    int64_t height, width;                             /* 0: taken from the files */
    float mean[HU_CHANNELS_MAX], std[HU_CHANNELS_MAX]; /* std 0: computed from the training half */
    hu_augment augment;
    bool takes_size, takes_crop, takes_scales, takes_unlabelled; /* those of hu_image_choice */
    bool takes_samples;                                          /* its box_samples */
    bool takes_parts;    /* its classes and parts; area too, of sizes */
    bool takes_pairs;    /* its scale and crops */
    bool takes_frames;   /* its frames and rate */
    bool takes_text;     /* its text */
    bool reads_bytes;    /* where no unit is asked for */
    bool takes_parallel; /* its text's languages */
    bool takes_known;    /* what a model knows */
    bool takes_files;    /* its files */

    /* Whether the files are in directory; NULL: there are none to miss. */
    bool (*available)(const struct hu_data_kind *kind, const char *directory);

    /* Fills dimensions, classes, splits and owned of a dataset that is zero but for its name. What
     * was put into owned is freed by the caller, also on failure. */
    hu_status (*open)(const struct hu_data_kind *kind, const char *directory,
                      const hu_data_limits *limits, hu_dataset *dataset);

    /* Instead of open: of kinds that hu_image_choice is for. */
    hu_status (*open_images)(const char *directory, const hu_data_limits *limits,
                             const hu_image_choice *choice, hu_dataset *dataset);
} hu_data_kind;

/* HU_ERR_ARGUMENT where a choice asks for what the kind cannot give; names the key and the kinds
 * that can. name: of the data set. */
hu_status hu_data_kind_check(const hu_data_kind *kind, const hu_image_choice *choice,
                             const char *name);

/* HU_ERR_UNKNOWN for a spec of none of the kinds [count]: what it looks like, and how that is
 * written. */
hu_status hu_data_kind_unknown(const char *spec, const hu_data_kind *kinds, size_t count);

/* How data that have the fields [count] are asked for ("boxes:DIR"): those of the kind whose own
 * fields most of them are, the last of such kinds; NULL where none is a kind's own. Borrowed: valid
 * for ever. */
const char *hu_data_kind_with(const char *const *field, int count);

/* The smaller of count and limit, 0 being no limit. */
static inline int64_t hu_limited(int64_t count, int64_t limit) {
    return limit > 0 && limit < count ? limit : count;
}

bool hu_idx_available(const hu_data_kind *kind, const char *directory);
hu_status hu_idx_open(const hu_data_kind *kind, const char *directory, const hu_data_limits *limits,
                      hu_dataset *dataset);

bool hu_cifar_available(const hu_data_kind *kind, const char *directory);
hu_status hu_cifar_open(const hu_data_kind *kind, const char *directory,
                        const hu_data_limits *limits, hu_dataset *dataset);

hu_status hu_glyphs_open(const hu_data_kind *kind, const char *directory,
                         const hu_data_limits *limits, hu_dataset *dataset);

hu_status hu_contacts_open(const hu_data_kind *kind, const char *directory,
                           const hu_data_limits *limits, hu_dataset *dataset);

bool hu_ink_available(const hu_data_kind *kind, const char *spec);
hu_status hu_ink_open(const hu_data_kind *kind, const char *spec, const hu_data_limits *limits,
                      hu_dataset *dataset);

bool hu_folder_available(const hu_data_kind *kind, const char *directory);
bool hu_boxes_available(const hu_data_kind *kind, const char *directory);
hu_status hu_boxes_open(const char *directory, const hu_data_limits *limits,
                        const hu_image_choice *choice, hu_dataset *dataset);

bool hu_pairs_available(const hu_data_kind *kind, const char *directory);
hu_status hu_pairs_open(const char *directory, const hu_data_limits *limits,
                        const hu_image_choice *choice, hu_dataset *dataset);

bool hu_speech_available(const hu_data_kind *kind, const char *directory);
hu_status hu_speech_open(const char *directory, const hu_data_limits *limits,
                         const hu_image_choice *choice, hu_dataset *dataset);

bool hu_sounds_available(const hu_data_kind *kind, const char *directory);
hu_status hu_sounds_open(const char *directory, const hu_data_limits *limits,
                         const hu_image_choice *choice, hu_dataset *dataset);

bool hu_text_available(const hu_data_kind *kind, const char *path);
hu_status hu_segments_open(const char *path, const hu_data_limits *limits,
                           const hu_image_choice *choice, hu_dataset *dataset);
hu_status hu_text_open(const char *path, const hu_data_limits *limits,
                       const hu_image_choice *choice, hu_dataset *dataset);

bool hu_parallel_available(const hu_data_kind *kind, const char *directory);
hu_status hu_parallel_open(const char *directory, const hu_data_limits *limits,
                           const hu_image_choice *choice, hu_dataset *dataset);

bool hu_dense_available(const hu_data_kind *kind, const char *directory);
hu_status hu_dense_open(const char *directory, const hu_data_limits *limits,
                        const hu_image_choice *choice, hu_dataset *dataset);

hu_status hu_folder_open(const char *directory, const hu_data_limits *limits,
                         const hu_image_choice *choice, hu_dataset *dataset);

#endif
