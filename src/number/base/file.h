/* base/file.h - files: the system's calls on them, folders, first bytes, whole files read and
 * replaced. */
#ifndef HU_BASE_FILE_H
#define HU_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <halfulp/status.h>

#include "base/memory.h"

/* ---- io ---- */

/* The system's calls on files, as everybody here wants them: repeated when a signal
 * interrupts them, continued where they did only a part, and told with path and reason. */

/* "PATH: WHAT: reason" of a system's error number ("no space: " before it when the disk or the
 * quota is full). HU_ERR_MISSING if the path names nothing or goes through what is no directory,
 * HU_ERR_ARGUMENT if it is a folder where a file is wanted, HU_ERR_MEMORY if the system had none
 * for it, else HU_ERR_IO. */
hu_status hu_io_fail(const char *path, const char *what, int error);

/* "pipe", "socket" or "device": what is neither a file nor a folder (stat(2)'s st_mode). */
const char *hu_io_kind(mode_t mode);

/* open(2) with O_CLOEXEC and permissions 0666 less the umask. *descriptor: -1 on failure; owner
 * closes. What is opened for reading is a file or a folder, and is never waited for; a pipe or a
 * device only where the user gave it: on the command line, or as a descriptor of a shell
 * (/dev/stdin, <(...)). HU_ERR_CORRUPT: another one. Proof: tests/program/hostile_test.py. */
hu_status hu_io_open(const char *path, int flags, int *descriptor);

/* All the bytes; a write that takes none of them is a failure. On failure some may be written. */
hu_status hu_io_write(int descriptor, const char *path, const void *data, size_t bytes);

/* At most `bytes` from the place `offset` on; *got is less only at the end of the file. */
hu_status hu_io_read_at(int descriptor, const char *path, uint64_t offset, void *data, size_t bytes,
                        size_t *got);

/* fsync(2) of a file or directory; fdatasync(2), which waits for contents and length alone. What
 * has no disk (a pipe, a device) and file systems that are only read are fine. */
hu_status hu_io_sync(int descriptor, const char *path);
hu_status hu_io_sync_data(int descriptor, const char *path);

/* ftruncate(2) to so many bytes. */
hu_status hu_io_cut(int descriptor, const char *path, uint64_t bytes);

/* ---- The three files that every process is given ---- */

/* Opens /dev/null for those of descriptors 0, 1 and 2 that are closed, so that no file of ours gets
 * their number, into which libraries print. As on a closed descriptor, reading from such a 0 and
 * writing to such a 1 or 2 fail. Before any other file is opened. */
void hu_descriptors_fill(void);

/* ---- head ---- */

/* The beginning of a file, so that what it says of itself is known before the whole
 * is read. */

/* At most `most` bytes from the beginning of a file as they stand on the disk. *got: how many there
 * are; *file_bytes: its whole size. Both are 0 of what is no regular file, which is not opened.
 * HU_ERR_MISSING, HU_ERR_IO. */
hu_status hu_file_head(const char *path, void *head, size_t most, size_t *got,
                       uint64_t *file_bytes);

/* The same of the contents that hu_file_read gives: a gzip stream is inflated, as far as it is
 * sound. */
hu_status hu_file_head_inflated(const char *path, void *head, size_t most, size_t *got);

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
hu_status hu_file_read_room(const char *path, size_t limit_bytes, hu_scratch *room, size_t *bytes);

/* Whether path names something that exists (of any kind); false also where the system cannot tell.
 * For advice; what is done otherwise without the file asks hu_file_find. */
bool hu_file_exists(const char *path);

/* The same where it matters why: *exists false if there is no such name, or can be none; HU_ERR_IO
 * if the system cannot tell. */
hu_status hu_file_find(const char *path, bool *exists);

/* HU_ERR_ARGUMENT where the path names a pipe, a socket or a device, and the file would be read
 * more than once: why, as ": WHY" ends the message. Of other paths those who read say more. Proof:
 * tests/unit/format_table_test.c. */
hu_status hu_file_check_regular(const char *path, const char *why);

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

/* What stands after the last slash. Borrowed: valid as path is. */
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
 * present but no file, a pipe or a device, is opened and written to. */
hu_status hu_file_replace(const char *path, const void *data, size_t bytes);

/* A piece of a file to write. */
typedef struct hu_file_part {
    const void *data; /* may be NULL if bytes is 0 */
    size_t bytes;
} hu_file_part;

/* As hu_file_replace, with the contents given as count pieces one after the other. */
hu_status hu_file_replace_parts(const char *path, const hu_file_part *parts, size_t count);

/* ---- Folders below one that is present ---- */

/* Makes a directory in a folder that is present, and syncs its name; one that exists is fine.
 * Unlike hu_directory_create it makes no parents: a folder that was moved or removed meanwhile must
 * not come to be a second time. HU_ERR_IO. */
hu_status hu_directory_add(const char *path);

/* ---- What the ending of a file's name says is to be written into it ---- */

/* Which of the endings (NULL after the last; "html") a path has: its place among them. 0 for a
 * name without an ending, which says nothing: "page", "/dev/stdout", ".hidden". HU_ERR_ARGUMENT
 * that names them all for another ending. */
hu_status hu_ending_find(const char *path, const char *const *endings, int *which);

#endif
