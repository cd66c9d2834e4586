/* store/checkpoint.h - checkpoint files in a directory: DIRECTORY/step-000000012000.hulp.
 *
 * A file is present whole or not at all (store/container.h has its bytes); the newest is found by
 * looking at the directory, there is no link that could dangle. */
#ifndef HU_STORE_CHECKPOINT_H
#define HU_STORE_CHECKPOINT_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

enum { HU_CHECKPOINT_KEEP = 2 }; /* files kept by default */

typedef struct hu_checkpoint_writer hu_checkpoint_writer;

/* An empty checkpoint of a step >= 0; owner frees with hu_checkpoint_writer_free. */
hu_status hu_checkpoint_begin(int64_t step, hu_checkpoint_writer **writer);

/* Adds a section. name is copied (1..63 printable characters, unique, checked by finish); data is
 * not: it must stay as it is until finish. */
hu_status hu_checkpoint_add(hu_checkpoint_writer *writer, const char *name, const void *data,
                            size_t bytes);

/* The same for bytes that lie apart, one row after the other in the file: row [count] of `bytes`
 * each. The rows must stay as they are until finish; the array of their addresses is copied. */
hu_status hu_checkpoint_add_rows(hu_checkpoint_writer *writer, const char *name,
                                 const void *const *row, size_t count, size_t bytes);

/* Writes the file (durably: temporary file, fsync, rename, fsync of the directory) and only then
 * removes older ones: of the files whose step is not above the written one, the keep newest stay
 * (keep < 2 counts as 2). Files of later steps are never removed, and a removal that fails is tried
 * again at the next save. The directory is made if it alone is missing. On failure nothing old is
 * lost and no temporary file stays: HU_ERR_IO (with "no space" when the disk is full),
 * HU_ERR_ARGUMENT for sections that cannot be, HU_ERR_MEMORY. */
hu_status hu_checkpoint_finish(const hu_checkpoint_writer *writer, const char *directory, int keep);

/* Puts the file of a step into another directory too, which is made if it alone is missing, and
 * removes older ones there as finish does with the least keep. The bytes are on the disk once: the
 * file has two names, of which either may be removed. HU_ERR_IO where the file system has no such
 * names. */
hu_status hu_checkpoint_share(const char *directory, int64_t step, const char *other);

/* Removes the files of later steps: they are of a training that was left. A directory that is
 * missing has none. */
void hu_checkpoint_drop_after(const char *directory, int64_t step);

/* At least the bytes of the file that finish would write, and few more (a bound of the header). */
size_t hu_checkpoint_bytes(const hu_checkpoint_writer *writer);

/* NULL is allowed. Data of sections stays the caller's. */
void hu_checkpoint_writer_free(hu_checkpoint_writer *writer);

/* Saves and removes a dummy of so many bytes, so that a full disk or missing rights show before the
 * first step and not after hours; also removes what interrupted saves left. Makes the directory.
 * HU_ERR_IO. */
hu_status hu_checkpoint_probe(const char *directory, size_t bytes);

/* A checkpoint in memory, checked in full. */
typedef struct hu_checkpoint hu_checkpoint;

/* HU_ERR_CORRUPT (file, offset, field, found, expected), HU_ERR_VERSION, HU_ERR_MISSING, HU_ERR_IO,
 * HU_ERR_MEMORY. The file is only read. Owner frees with hu_checkpoint_free. */
hu_status hu_checkpoint_open(const char *path, hu_checkpoint **checkpoint);

/* Opens the file of the latest step that is sound, and removes what interrupted saves left.
 *
 *   warning  [capacity] "" or, if later files had to be passed over, which and why
 *
 * HU_ERR_MISSING if the directory holds no checkpoint; the status and message of the newest file if
 * none is sound. */
hu_status hu_checkpoint_open_newest(const char *directory, hu_checkpoint **checkpoint,
                                    char *warning, size_t capacity);

/* The same among those of step `last` and before it. */
hu_status hu_checkpoint_open_before(const char *directory, int64_t last, hu_checkpoint **checkpoint,
                                    char *warning, size_t capacity);
void hu_checkpoint_free(hu_checkpoint *checkpoint);

/* Borrowed: valid until the checkpoint is freed. */
const char *hu_checkpoint_path(const hu_checkpoint *checkpoint);
int64_t hu_checkpoint_step(const hu_checkpoint *checkpoint);
size_t hu_checkpoint_sections(const hu_checkpoint *checkpoint);
const char *hu_checkpoint_section_name(const hu_checkpoint *checkpoint, size_t index);

/* The bytes of a section, aligned to 64 bytes. HU_ERR_MISSING (with the file) if there is none of
 * that name; data and bytes are then NULL and 0. Borrowed: valid until the checkpoint is freed. */
hu_status hu_checkpoint_section(const hu_checkpoint *checkpoint, const char *name,
                                const void **data, size_t *bytes);

#endif
