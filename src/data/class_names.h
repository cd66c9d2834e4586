/* data/class_names.h - what the files of a data set call its classes. */
#ifndef HU_DATA_CLASS_NAMES_H
#define HU_DATA_CLASS_NAMES_H
#include <stddef.h>

#include <halfulp/status.h>

/* Names one behind the other, each with its final zero, as hu_dataset_class_name reads them; owner
 * frees *text with hu_free. */
hu_status hu_class_names_join(const char *const *names, size_t count, char **text);

#endif
