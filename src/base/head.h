/* base/head.h - the beginning of a file, so that what it says of itself is known before the whole
 * is read. */
#ifndef HU_BASE_HEAD_H
#define HU_BASE_HEAD_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* At most `most` bytes from the beginning of a file as they stand on the disk. *got: how many there
 * are; *file_bytes: its whole size. Both are 0 of what is no regular file, which is not opened.
 * HU_ERR_MISSING, HU_ERR_IO. */
hu_status hu_file_head(const char *path, void *head, size_t most, size_t *got,
                       uint64_t *file_bytes);

/* The same of the contents that hu_file_read gives: a gzip stream is inflated, as far as it is
 * sound. */
hu_status hu_file_head_inflated(const char *path, void *head, size_t most, size_t *got);

#endif
