/* data/reader.h - samples that stay in their files and are read when they are wanted. */
#ifndef HU_DATA_READER_H
#define HU_DATA_READER_H
#include <halfulp/data.h>

#include "media/image.h"

/* What the random part of reading depends on; of a sample that is not changed, area and scales are
 * 0. */
typedef struct hu_reading_change {
    uint64_t seed;
    int64_t epoch;
    double area;                    /* hu_augment.area */
    double least_scale, most_scale; /* of hu_augment */
    bool samples;                   /* hu_augment.box_samples */
} hu_reading_change;

/* Where a sample comes from. */
typedef struct hu_sample_file {
    char *path;            /* NULL: from no file of its own; owner frees with hu_free */
    int64_t width, height; /* of its picture, where boxes are told; else 0 */
} hu_sample_file;

/* One part of a data set in files. Read-only once made, but for drop; read is called by several
 * threads. */
typedef struct hu_reader {
    size_t sample_bytes;       /* of all fields that are read, one after the other */
    size_t memory_bytes;       /* most that all loaders of the data set may hold of them */
    _Atomic size_t kept_bytes; /* what it keeps in memory: off what its own half may hold */
    size_t start[HU_FIELDS_MAX];
    bool reads[HU_FIELDS_MAX]; /* which fields; the others are in rows */

    /* Writes the bytes of a sample [sample_bytes]: a function of (change, index) alone. room: of
     * the calling thread. */
    hu_status (*read)(const struct hu_reader *reader, const hu_reading_change *change,
                      int64_t index, hu_image_scratch *room, uint8_t *sample);
    /* Writes what of the boxes [count, 5] of a sample is seen, each in its place, as shares of the
     * picture that read makes; those that are not seen are of class HU_UNLABELLED. Where change
     * asks for windows. NULL: there are no boxes. */
    void (*move_boxes)(const struct hu_reader *reader, const hu_reading_change *change,
                       int64_t index, int64_t count, float *moved);
    /* Tells the file of a sample. NULL: samples have none of their own. */
    hu_status (*tell)(const struct hu_reader *reader, int64_t index, hu_sample_file *file);
    /* Path of number i of the files that samples are made of, pictures and what is said of them;
     * *path NULL after the last. Owner frees. NULL: there are none that nobody else tells of. */
    hu_status (*list)(const struct hu_reader *reader, int64_t i, char **path);
    /* Gives up what it keeps, also while others read: kept_bytes is then 0, and samples are made of
     * their files, of the same bytes. NULL where kept_bytes is never above 0. */
    void (*drop)(struct hu_reader *reader);
    void (*close)(struct hu_reader *reader); /* frees the reader too */
} hu_reader;

/* The file of sample `index` of a part, whether it was read or will be. Owner frees file->path. */
hu_status hu_split_file(const hu_split *split, int64_t index, hu_sample_file *file);

#endif
