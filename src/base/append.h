/* base/append.h - a file that grows by whole pieces: the lines of a history, the records of a log.
 *
 * A piece is made in memory and written by one call. When that fails (a full disk, a broken one),
 * the file is cut back to the pieces before it, and nothing more is written: no reader ever meets a
 * part of a piece, but after a loss of power. */
#ifndef HU_BASE_APPEND_H
#define HU_BASE_APPEND_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_append hu_append;

/* Opens the file for appending, or makes it. What it holds counts as whole. Owner closes; *append
 * NULL on failure. HU_ERR_IO, HU_ERR_MISSING (the directory), HU_ERR_MEMORY. */
hu_status hu_append_open(const char *path, hu_append **append);

/* Adds to the piece that is being made; that there was no memory for it, hu_append_end tells. */
void hu_append_bytes(hu_append *append, const void *data, size_t bytes);
void hu_append_text(hu_append *append, const char *text);
void hu_append_format(hu_append *append, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the piece, if anything was added. HU_ERR_IO, HU_ERR_MEMORY: the file ends as before it,
 * and all later pieces fail. */
hu_status hu_append_end(hu_append *append);

/* Drops what is behind so many bytes of the file. HU_ERR_IO. */
hu_status hu_append_cut(hu_append *append, uint64_t bytes);

/* Waits until all that was written is on the disk. HU_ERR_IO. */
hu_status hu_append_sync(hu_append *append);

/* Bytes of the file, the piece being made not counted; its path. Borrowed: until it is closed. */
uint64_t hu_append_size(const hu_append *append);
const char *hu_append_path(const hu_append *append);

/* Closes and frees; a piece that was not ended is dropped. NULL is allowed. */
void hu_append_close(hu_append *append);

#endif
