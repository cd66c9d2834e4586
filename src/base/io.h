/* base/io.h - the system's calls on files, as everybody here wants them: repeated when a signal
 * interrupts them, continued where they did only a part, and told with path and reason. */
#ifndef HU_BASE_IO_H
#define HU_BASE_IO_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <halfulp/status.h>

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

#endif
