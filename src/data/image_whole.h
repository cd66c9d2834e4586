/* data/image_whole.h - which pictures of a folder can be decoded. */
#ifndef HU_DATA_IMAGE_WHOLE_H
#define HU_DATA_IMAGE_WHOLE_H
#include "data/file_names.h"

/* Reads all files of a folder, on all threads, JPEGs at an eighth of their size, and keeps the
 * names of those that can be decoded. *damaged: how many others there were; first: the path of the
 * first of them, NULL where there is none; owner frees. HU_ERR_IO and others where a file cannot be
 * opened; HU_ERR_INTERRUPTED, HU_ERR_MEMORY. */
hu_status hu_image_names_keep_whole(const char *folder, hu_file_names *names, int64_t *damaged,
                                    char **first);

/* Whether a failure is of a picture's bytes, so that others can go on without it. */
bool hu_image_is_unreadable(hu_status status);

#endif
