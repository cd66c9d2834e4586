#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Most bytes of one call, whose counts may have 32 bits. */
enum { IO_BYTES = 1 << 30 };

/* The path names nothing, or goes through what is no directory. */
static bool means_missing(int error) {
    return error == ENOENT || error == ENOTDIR;
}

hu_status hu_io_fail(const char *path, const char *what, int error) {
    char reason[256] = "";
    if (strerror_r(error, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", error);
    hu_status status = means_missing(error) ? HU_ERR_MISSING : HU_ERR_IO;
    if (error == ENOMEM) status = HU_ERR_MEMORY;
    bool full = error == ENOSPC || error == EDQUOT;
    if (error == EISDIR)
        status = hu_fail(HU_ERR_ARGUMENT, "%s: found a folder, expected a file", path);
    else
        hu_fail(status, "%s: %s: %s%s", path, what, full ? "no space: " : "", reason);
    errno = error;
    return status;
}

hu_status hu_io_open(const char *path, int flags, int *descriptor) {
    do *descriptor = open(path, flags | O_CLOEXEC, 0666);
    while (*descriptor < 0 && errno == EINTR);
    return *descriptor < 0 ? hu_io_fail(path, "cannot open", errno) : HU_OK;
}

hu_status hu_io_write(int descriptor, const char *path, const void *data, size_t bytes) {
    const uint8_t *at = data;
    while (bytes > 0) {
        ssize_t put = write(descriptor, at, bytes < IO_BYTES ? bytes : IO_BYTES);
        if (put < 0 && errno == EINTR) continue;
        /* Nothing taken and no reason: repeating would never end. */
        if (put <= 0) return hu_io_fail(path, "cannot write", put < 0 ? errno : EIO);
        at += put;
        bytes -= (size_t)put;
    }
    return HU_OK;
}

hu_status hu_io_read_at(int descriptor, const char *path, uint64_t offset, void *data, size_t bytes,
                        size_t *got) {
    *got = 0;
    while (*got < bytes) {
        size_t left = bytes - *got;
        ssize_t part = pread(descriptor, (uint8_t *)data + *got, left < IO_BYTES ? left : IO_BYTES,
                             (off_t)(offset + *got));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) return hu_io_fail(path, "cannot read", errno);
        if (part == 0) break;
        *got += (size_t)part;
    }
    return HU_OK;
}

static hu_status sync_by(int (*call)(int), int descriptor, const char *path) {
    while (call(descriptor) != 0) {
        if (errno == EINTR) continue;
        if (errno == EINVAL || errno == EROFS) break;
        return hu_io_fail(path, "cannot sync", errno);
    }
    return HU_OK;
}

hu_status hu_io_sync(int descriptor, const char *path) {
    return sync_by(fsync, descriptor, path);
}

hu_status hu_io_sync_data(int descriptor, const char *path) {
    return sync_by(fdatasync, descriptor, path);
}

hu_status hu_io_cut(int descriptor, const char *path, uint64_t bytes) {
    while (ftruncate(descriptor, (off_t)bytes) != 0)
        if (errno != EINTR) return hu_io_fail(path, "cannot cut", errno);
    return HU_OK;
}
