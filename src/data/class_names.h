/* data/class_names.h - what the files of a data set call its classes. */
#ifndef HU_DATA_CLASS_NAMES_H
#define HU_DATA_CLASS_NAMES_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Names one behind the other, each with its final zero, as hu_dataset_class_name reads them; owner
 * frees *text with hu_free. */
hu_status hu_class_names_join(const char *const *names, size_t count, char **text);

/* Those of DIR/classes.txt: a line for each class from 0 on, in UTF-8; lines behind these belong to
 * numbers that mean unlabelled. A byte-order mark before them is no part of the first. NULL where
 * there is no such file. HU_ERR_CORRUPT: a name is empty, there are fewer than classes, or one is
 * not UTF-8, with its line and byte. Proof: tests/unit/data_dense_test.c. */
hu_status hu_class_names_read(const char *directory, int64_t classes, char **text);

#endif
