/* data/class_names.h - what the files of a data set call its classes. */
#ifndef HU_DATA_CLASS_NAMES_H
#define HU_DATA_CLASS_NAMES_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* In the folder of a run: what the numbers of its classes mean. */
#define HU_CLASS_NAMES_FILE "classes.txt"

/* Names one after the other, each with its final zero, as hu_dataset_class_name reads them; owner
 * frees *text with hu_free. */
hu_status hu_class_names_join(const char *const *names, size_t count, char **text);

/* A copy of count names. Owner frees *text with hu_free. */
hu_status hu_class_names_copy(const char *names, int64_t count, char **text);

/* Those of DIR/classes.txt: a line for each class from 0 on, in UTF-8; lines after these belong to
 * numbers that mean unlabelled. A byte-order mark before them is no part of the first. NULL where
 * there is no such file. HU_ERR_CORRUPT: a name is empty, there are fewer than classes, or one is
 * not UTF-8, with its line and byte. Proof: tests/unit/data_dense_test.c. */
hu_status hu_class_names_read(const char *directory, int64_t classes, char **text);

/* The same of a file of any name, which is present. */
hu_status hu_class_names_read_file(const char *path, int64_t classes, char **text);

/* Number of a class among count names; -1: it is none of them. */
int64_t hu_class_names_find(const char *names, int64_t count, const char *name);

/* The same; HU_ERR_CORRUPT with where it was found and the nearest names, if a model whose classes
 * these are does not know it. */
hu_status hu_class_names_expect(const char *names, int64_t count, const char *where,
                                const char *name, int64_t *number);

/* Names that are found fast, where many are asked for. Borrows them. Owner frees with
 * hu_class_index_free, also on failure. HU_ERR_MEMORY. */
typedef struct hu_class_index {
    const char *names;
    int64_t count;
    struct hu_class_place *place; /* [count] by name */
} hu_class_index;
hu_status hu_class_index_create(const char *names, int64_t count, hu_class_index *index);
void hu_class_index_free(hu_class_index *index);

/* As hu_class_names_expect. */
hu_status hu_class_index_expect(const hu_class_index *index, const char *where, const char *name,
                                int64_t *number);

/* HU_ERR_CORRUPT where DIR/classes.txt, if it is present, calls a class otherwise than count names.
 */
hu_status hu_class_names_compare(const char *directory, const char *names, int64_t count);

/* Writes or replaces a file of names, and reads it back: *names NULL where it is missing. Nothing
 * is written of names that a line cannot hold, or that are empty. Owner frees *names. */
hu_status hu_class_names_write(const char *path, const char *names, int64_t count);
hu_status hu_class_names_recall(const char *path, char **names, int64_t *count);

#endif
