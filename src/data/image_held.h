/* data/image_held.h - the images of a folder without a test half that are drawn to test with, as
 * a text by which the same folder is known again. */
#ifndef HU_DATA_IMAGE_HELD_H
#define HU_DATA_IMAGE_HELD_H
#include <halfulp/data.h>

#define HU_HELD_FILE "held-out.txt" /* in the folder of a run */

/* The directory of a spec folder:DIR or sounds:DIR; NULL: of another kind. Borrowed: valid as spec
 * is. */
const char *hu_image_held_directory(const char *spec);

/* A line "BYTES CLASS/FILE" for each image that choice->held draws by choice->seed, in the order of
 * the test half: a folder is the same one, whatever its path, if and only if the same images of the
 * same sizes are drawn from it. NULL: it has a test half of its own, or nothing is to be drawn.
 * Owner frees. Fails as hu_image_list_make does. */
hu_status hu_image_held_list(const char *directory, const hu_image_choice *choice, char **text);

/* Whether the folder is there and has neither a folder val nor test. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_image_held_is_flat(const char *directory, bool *is_flat);

#endif
