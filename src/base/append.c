#include "base/append.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"

/* What one printf-like call is tried with before its length is known. */
enum { FORMAT_BYTES = 256 };

struct hu_append {
    int descriptor;
    char *path;
    hu_byte_writer piece;
    uint64_t size;    /* of all whole pieces */
    hu_status failed; /* of the piece being made, or for ever */
};

hu_status hu_append_open(const char *path, hu_append **append) {
    struct stat info;
    hu_status st = HU_NEW(append);
    if (st != HU_OK) return st;
    hu_append *made = *append;
    made->descriptor = -1;
    HU_TRY(hu_strdup(path, &made->path));
    HU_TRY(hu_io_open(path, O_WRONLY | O_CREAT | O_APPEND, &made->descriptor));
    if (fstat(made->descriptor, &info) == 0 && info.st_size > 0)
        made->size = (uint64_t)info.st_size;
    return HU_OK;
done:
    hu_append_close(made);
    *append = NULL;
    return st;
}

void hu_append_bytes(hu_append *append, const void *data, size_t bytes) {
    if (append->failed == HU_OK) append->failed = hu_write_bytes(&append->piece, data, bytes);
}

void hu_append_text(hu_append *append, const char *text) {
    hu_append_bytes(append, text, strlen(text));
}

/* Into the free room of the piece, which a second try makes large enough. */
static int print(hu_append *append, const char *format, va_list args) {
    hu_byte_writer *piece = &append->piece;
    size_t room = piece->capacity - piece->size;
    return vsnprintf((char *)piece->data + piece->size, room, format, args);
}

void hu_append_format(hu_append *append, const char *format, ...) {
    va_list args;
    size_t wanted = FORMAT_BYTES;
    for (int turn = 0; turn < 2 && append->failed == HU_OK; turn++) {
        append->failed = hu_writer_reserve(&append->piece, wanted);
        if (append->failed != HU_OK) return;
        va_start(args, format);
        int bytes = print(append, format, args);
        va_end(args);
        /* printf ends what it writes by a zero, which is no part of the piece. */
        if (bytes < 0) append->failed = HU_ERR_MEMORY;
        if (bytes < 0) return;
        wanted = (size_t)bytes + 1;
        if (wanted > append->piece.capacity - append->piece.size) continue;
        append->piece.size += (size_t)bytes;
        return;
    }
}

/* Back to the whole pieces; what cannot be cut stays behind the last of them, and nothing follows.
 */
static hu_status fail(hu_append *append, hu_status st) {
    char reason[1024];
    append->failed = st;
    snprintf(reason, sizeof reason, "%s", hu_last_error());
    (void)hu_io_cut(append->descriptor, append->path, append->size);
    return hu_fail(st, "%s", reason);
}

hu_status hu_append_end(hu_append *append) {
    hu_byte_writer *piece = &append->piece;
    size_t bytes = piece->size;
    piece->size = 0;
    if (append->failed == HU_ERR_MEMORY)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory for the next line", append->path);
    if (append->failed != HU_OK)
        return hu_fail(append->failed, "%s: cannot write: a write before failed", append->path);
    if (bytes == 0) return HU_OK;
    hu_status st = hu_io_write(append->descriptor, append->path, piece->data, bytes);
    if (st != HU_OK) return fail(append, st);
    append->size += bytes;
    return HU_OK;
}

hu_status hu_append_cut(hu_append *append, uint64_t bytes) {
    hu_status st = hu_io_cut(append->descriptor, append->path, bytes);
    if (st == HU_OK) append->size = bytes;
    return st;
}

hu_status hu_append_sync(hu_append *append) {
    return hu_io_sync_data(append->descriptor, append->path);
}

uint64_t hu_append_size(const hu_append *append) {
    return append->size;
}

const char *hu_append_path(const hu_append *append) {
    return append->path;
}

void hu_append_close(hu_append *append) {
    if (!append) return;
    if (append->descriptor >= 0) close(append->descriptor);
    hu_writer_free(&append->piece);
    hu_free(append->path);
    hu_free(append);
}
