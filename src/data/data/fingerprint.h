/* data/fingerprint.h - fingerprints of data, and what has changed between two of them. */
#ifndef HU_DATA_FINGERPRINT_H
#define HU_DATA_FINGERPRINT_H
#include <halfulp/data.h>

/* Room for the first differences of two data sets in words. */
enum { HU_FINGERPRINT_BYTES = 640 };

/* The fingerprint of a data set:
 *
 *   data: SPEC                         for people, compared by nobody
 *   class 0: NAME                      of up to 1,000 classes; of more, and of the words of texts,
 *                                      "names: COUNT HASH" ("source names" of those of parallel)
 *   train samples: COUNT               and the same of test; those held out count as training
 *   train rows FIELD: BYTES HASH       of arrays in memory: those of IDX and CIFAR, tokens, labels,
 *                                      boxes. Pictures and sounds that were decoded from files have
 *                                      none, as decoders differ:
 *   train file NAME: BYTES HASH        NAME below the folder of the data. HASH is "-" where the
 *                                      files of the part have more than 256 MiB in all
 *   train folder NAME: COUNT BYTES HASH   instead, of parts with more than 65,536 files
 *
 * HASH is XXH64 (seed 0) in hexadecimal digits. Control characters of names are escaped.
 *   text   owner frees with hu_free; NULL on failure
 * HU_ERR_IO, HU_ERR_MISSING of a file that cannot be read; HU_ERR_MEMORY; HU_ERR_INTERRUPTED.
 * Proof: tests/unit/data_fingerprint_test.c. */
hu_status hu_fingerprint_make(const hu_dataset *dataset, char **text);

/* Says what has changed: the first three differences and how many more there are; "" if there is
 * none. only_names: classes and words alone are looked at. what: HU_FINGERPRINT_BYTES.
 * HU_ERR_MEMORY. */
hu_status hu_fingerprint_compare(const char *kept, const char *found, bool only_names, char *what);

/* The same data set in fewer lines, for processes that compare theirs: files of a part in one line
 * "train files: COUNT HASH", without the first line. text: owner frees; NULL on failure.
 * HU_ERR_MEMORY. */
hu_status hu_fingerprint_sum(const char *fingerprint, char **text);

#endif
