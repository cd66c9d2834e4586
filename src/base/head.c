#include "base/head.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/error.h"
#include "base/io.h"

/* Opens what stands on a disk; *descriptor -1 of pipes and devices, whose beginning would be gone
 * for those who read them behind us. */
static hu_status open_regular(const char *path, int *descriptor, uint64_t *bytes) {
    struct stat info;
    *descriptor = -1;
    *bytes = 0;
    if (stat(path, &info) != 0) return hu_io_fail(path, "cannot open", errno);
    if (!S_ISREG(info.st_mode)) return HU_OK;
    hu_status st = hu_io_open(path, O_RDONLY, descriptor);
    if (st == HU_OK && fstat(*descriptor, &info) == 0) *bytes = (uint64_t)info.st_size;
    return st;
}

hu_status hu_file_head(const char *path, void *head, size_t most, size_t *got,
                       uint64_t *file_bytes) {
    int descriptor;
    *got = 0;
    hu_status st = open_regular(path, &descriptor, file_bytes);
    if (descriptor < 0) return st;
    st = hu_io_read_at(descriptor, path, 0, head, most, got);
    close(descriptor);
    return st;
}

hu_status hu_file_head_inflated(const char *path, void *head, size_t most, size_t *got) {
    int descriptor;
    uint64_t file_bytes;
    *got = 0;
    hu_status st = open_regular(path, &descriptor, &file_bytes);
    if (descriptor < 0) return st;
    gzFile stream = gzdopen(descriptor, "rb");
    if (!stream) {
        close(descriptor);
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to read it", path);
    }
    /* What is no gzip stream is read as it stands. */
    int bytes = gzread(stream, head, most < INT_MAX ? (unsigned)most : INT_MAX);
    *got = bytes > 0 ? (size_t)bytes : 0;
    int error = Z_OK;
    gzerror(stream, &error);
    gzclose_r(stream); /* closes the descriptor too */
    if (bytes < 0 && error == Z_MEM_ERROR)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to inflate", path);
    return HU_OK;
}
