/* base/file.h - whole files in and out: read with a limit (plain or gzip), replace atomically. */
#ifndef HU_BASE_FILE_H
#define HU_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/memory.h"

/* Reads a whole file. A name ending in ".gz", or contents that start with the gzip magic, are
 * inflated (all members); *bytes is then the inflated size.
 *
 *   limit_bytes  most bytes that the file, and then *data, may have
 *   data, bytes  the contents; owner frees with hu_free; NULL and 0 on failure
 *
 * HU_ERR_MISSING if there is no such file, HU_ERR_ARGUMENT if it is a folder, HU_ERR_IO if it
 * cannot be read, HU_ERR_LIMIT if it is larger than the limit, HU_ERR_CORRUPT (file, offset in the
 * compressed file, found, expected) if the gzip stream is damaged, truncated or followed by other
 * bytes, HU_ERR_MEMORY. */
hu_status hu_file_read(const char *path, size_t limit_bytes, uint8_t **data, size_t *bytes);

/* The same without inflating: the contents as they stand on the disk, whatever they begin with. */
hu_status hu_file_read_plain(const char *path, size_t limit_bytes, uint8_t **data, size_t *bytes);

/* The same into a room that is used again: its first *bytes are the file's; 0 on failure. */
hu_status hu_file_read_room(const char *path, size_t limit_bytes, hu_room *room, size_t *bytes);

/* Whether path names something that exists (of any kind); false also where the system cannot tell.
 * For advice; what is done otherwise without the file asks hu_file_find. */
bool hu_file_exists(const char *path);

/* The same where it matters why: *exists false if there is no such name, or can be none; HU_ERR_IO
 * if the system cannot tell. */
hu_status hu_file_find(const char *path, bool *exists);

/* Size in bytes of the file as it stands on the disk. HU_ERR_MISSING, HU_ERR_IO. */
hu_status hu_file_size(const char *path, uint64_t *bytes);

/* Makes a directory and its missing parents; one that exists is fine. The names of those that it
 * makes are synced. HU_ERR_IO otherwise. */
hu_status hu_directory_create(const char *path);

/* Syncs the directory that the path's last name lies in: a name that was made, renamed or removed
 * lasts through a crash only then. HU_ERR_IO. */
hu_status hu_directory_sync_of(const char *path);

#define HU_DAMAGED ".damaged" /* ending of files that were set aside */

/* Renames a file that cannot be read to NAME.damaged, over one that has that name already, so that
 * it can be begun anew; adds a line to note [capacity] that says so. HU_ERR_IO. */
hu_status hu_file_set_aside(const char *path, char *note, size_t capacity);

/* "directory/name" in a new string (no second slash); owner frees with hu_free. */
hu_status hu_path_join(const char *directory, const char *name, char **path);

/* What stands behind the last slash. Borrowed: valid as path is. */
const char *hu_path_name(const char *path);

/* Puts bytes into the file at path so that a reader, or a crash at any moment, sees the old or the
 * new contents and nothing between: temporary file in the same directory (created exclusively),
 * write, fsync, rename, fsync of the directory. The permissions of an existing file are kept, a new
 * one follows the umask. On failure the temporary file is gone, the old contents stand
 * (the new ones if only the directory could not be synced), and HU_ERR_IO names path and reason
 * (the words "no space" when the disk or the quota is full); HU_ERR_MISSING if the directory does
 * not exist, HU_ERR_ARGUMENT if path is one itself.
 *
 * Only regular files are replaced: of a symbolic link its target, where that lies, and what is
 * there but no file, a pipe or a device, is opened and written to. */
hu_status hu_file_replace(const char *path, const void *data, size_t bytes);

/* A piece of a file to write. */
typedef struct hu_file_part {
    const void *data; /* may be NULL if bytes is 0 */
    size_t bytes;
} hu_file_part;

/* As hu_file_replace, with the contents given as count pieces one after the other. */
hu_status hu_file_replace_parts(const char *path, const hu_file_part *parts, size_t count);

#endif
