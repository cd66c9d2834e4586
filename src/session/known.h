/* session/known.h - what a run knows of its data when it is opened again. */
#ifndef HU_SESSION_KNOWN_H
#define HU_SESSION_KNOWN_H
#include <halfulp/data.h>

/* Reads the names of classes and the shapes of a run's folder. has_other_data: the samples are to
 * be others than the run's, of which only the test half is then looked at; unless the folder, of an
 * older version, tells of no classes. Owner frees known->class_names with hu_free, also on failure:
 * HU_ERR_CORRUPT, HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_known_read(const char *directory, bool has_other_data, hu_data_known *known,
                        char **class_names);

/* Leaves the names of the classes in a run's folder, where the data have names for them; words of
 * texts and sentences are a vocabulary (data/vocabulary.h), or two. */
hu_status hu_known_write(const char *directory, const hu_dataset *dataset);

#endif
