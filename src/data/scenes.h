/* data/scenes.h - pictures of one size, each with something that is told of it in a second file. */
#ifndef HU_DATA_SCENES_H
#define HU_DATA_SCENES_H
#include "data/file_names.h"
#include "data/image.h"
#include "data/reader.h"

/* Height and width that all pictures get. */
typedef struct hu_scene_size {
    int64_t height, width;
    bool resizes; /* pictures of other sizes; else they are errors */
    bool upright; /* turned as their EXIF says: nobody has marked anything in the file's pixels */
} hu_scene_size;

/* The size of a first picture; where size is above 0, with its shorter side made so long, and the
 * other in proportion, rounded down. HU_ERR_CORRUPT and others name the file. */
hu_status hu_scene_measure(const char *path, int64_t size, bool upright, hu_scene_size *scene);

/* A picture as bytes [scene->height, scene->width, 3]; file: its own size and orientation. Resized
 * as Pillow does, both sides for themselves. HU_ERR_CORRUPT where the file has another size than
 * the scene, which does not resize. room: of the calling thread. */
hu_status hu_scene_read(const char *path, const hu_scene_size *scene, hu_image_room *room,
                        uint8_t *pixels, hu_image *file);

/* The same made as large as `to`, and of that a part alone: its rows are row_bytes apart. */
hu_status hu_scene_read_part(const char *path, const hu_scene_size *scene, const hu_scene_size *to,
                             const hu_image_cut *part, size_t row_bytes, hu_image_room *room,
                             uint8_t *pixels, hu_image *file);

/* "folder/NAME" with another ending in place of NAME's own. Owner frees. */
hu_status hu_scene_partner(const char *folder, const char *name, const char *ending, char **path);

/* Which halves of a data set are kept in memory: both where they fit into it, else a test half that
 * fits into the quarter that reading it would take. train -1: training cannot be kept. */
typedef struct hu_keeping {
    uint64_t memory; /* bytes that decoded images may take */
    bool keeps_train, keeps_test;
} hu_keeping;
hu_keeping hu_keeping_decide(uint64_t memory, int64_t train, int64_t test, uint64_t sample_bytes);

#endif
