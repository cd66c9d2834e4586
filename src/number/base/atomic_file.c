#include "base/atomic_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

/* Names to try for a temporary file; bytes that its ending may take; links in a row that the system
 * follows, too. */
enum { TEMPORARY_NAMES = 1000, ENDING_BYTES = 48, LINKS = 40, LINK_BYTES = 4096 };

struct hu_atomic_file {
    char *path;      /* the file after all links */
    char *temporary; /* "": path itself is written to, or the renaming is done */
    int descriptor;
};

hu_status hu_directory_sync_of(const char *path) {
    char *directory;
    int descriptor;
    hu_status st = hu_strdup(path, &directory);
    if (st != HU_OK) return st;
    char *slash = strrchr(directory, '/');
    if (slash) slash[slash == directory] = '\0';
    const char *opened = slash ? directory : ".";
    st = hu_io_open(opened, O_RDONLY | O_DIRECTORY, &descriptor);
    /* One that may be entered and not be read cannot be synced, and is no failure. */
    bool is_closed = st != HU_OK && errno == EACCES;
    if (st == HU_OK) st = hu_io_sync(descriptor, opened);
    if (is_closed) st = HU_OK;
    if (st != HU_OK) st = hu_fail_within(HU_ERR_IO, "%s: cannot sync the directory: ", path);
    if (descriptor >= 0) close(descriptor);
    hu_free(directory);
    return st;
}

/* Where a symbolic link points, from the directory that it lies in; takes the old path. */
static hu_status follow(char **path) {
    char target[LINK_BYTES], *next = NULL;
    ssize_t length = readlink(*path, target, sizeof target - 1);
    if (length < 0) return hu_io_fail(*path, "cannot follow the link", errno);
    target[length] = '\0';
    char *slash = strrchr(*path, '/');
    if (slash && target[0] != '/') slash[1] = '\0';
    hu_status st = hu_path_join(slash && target[0] != '/' ? *path : "", target, &next);
    if (st != HU_OK) return st;
    hu_free(*path);
    *path = next;
    return HU_OK;
}

/* Follows links until something else, or nothing, has the name. */
static hu_status resolve(char **path) {
    struct stat info;
    hu_status st = HU_OK;
    for (int i = 0; i < LINKS; i++) {
        if (lstat(*path, &info) != 0)
            return errno == ENOENT ? HU_OK : hu_io_fail(*path, "cannot open", errno);
        if (!S_ISLNK(info.st_mode)) return HU_OK;
        HU_TRY(follow(path));
    }
    st = hu_io_fail(*path, "cannot follow the link", ELOOP);
done:
    return st;
}

/* Opens a file that did not exist. Permissions follow the umask because the kernel applies it. */
static hu_status create_temporary(hu_atomic_file *r) {
    void *block;
    size_t capacity = strlen(r->path) + ENDING_BYTES;
    hu_status st = hu_alloc(capacity, &block);
    if (st != HU_OK) return st;
    char *name = r->temporary = block;
    for (int i = 0; i < TEMPORARY_NAMES; i++) {
        snprintf(name, capacity, "%s.%ld-%d.tmp", r->path, (long)getpid(), i);
        st = hu_io_open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, &r->descriptor);
        if (st == HU_OK) return HU_OK;
        if (errno != EEXIST) break;
    }
    name[0] = '\0';
    return hu_io_fail(r->path, "cannot create a temporary file beside it", errno);
}

/* What is present decides how it is written: info is of what stands after all links. */
static hu_status open_target(hu_atomic_file *r) {
    struct stat info;
    hu_status st = HU_OK;
    bool is_present = stat(r->path, &info) == 0;
    if (!is_present && errno != ENOENT) return hu_io_fail(r->path, "cannot open", errno);
    if (is_present && !S_ISREG(info.st_mode))
        return hu_io_open(r->path, O_WRONLY | O_NOCTTY, &r->descriptor);
    HU_TRY(resolve(&r->path));
    HU_TRY(create_temporary(r));
    if (is_present && fchmod(r->descriptor, info.st_mode & 0777) != 0)
        st = hu_io_fail(r->path, "cannot keep the permissions", errno);
done:
    return st;
}

/* The process that a temporary file, NAME.PID-N.tmp, is of; 0: it is no such file. */
static long maker_of(const char *name) {
    static const char ending[] = ".tmp";
    size_t length = strlen(name);
    char *end;
    if (length < sizeof ending || strcmp(name + length - sizeof ending + 1, ending) != 0) return 0;
    const char *number = name + length - sizeof ending;
    while (number > name && isdigit((unsigned char)*number)) number--;
    if (*number != '-') return 0;
    const char *dot = number;
    while (dot > name && *dot != '.') dot--;
    long process = strtol(dot + 1, &end, 10);
    return end == number && process > 0 ? process : 0;
}

void hu_atomic_file_sweep(const char *directory) {
    DIR *stream = opendir(directory);
    char *path;
    if (!stream) return;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        long process = maker_of(entry->d_name);
        bool is_gone = process == (long)getpid() ||
                       (process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH);
        if (!is_gone || hu_path_join(directory, entry->d_name, &path) != HU_OK) continue;
        (void)unlink(path);
        hu_free(path);
    }
    closedir(stream);
}

hu_status hu_atomic_file_open(const char *path, hu_atomic_file **made) {
    hu_status st = HU_NEW(made);
    if (st != HU_OK) return st;
    (*made)->descriptor = -1;
    st = hu_strdup(path, &(*made)->path);
    if (st == HU_OK) st = open_target(*made);
    if (st == HU_OK) return HU_OK;
    hu_atomic_file_drop(*made);
    *made = NULL;
    return st;
}

hu_status hu_atomic_file_write(hu_atomic_file *made, const void *data, size_t bytes) {
    return hu_io_write(made->descriptor, made->path, data, bytes);
}

hu_status hu_atomic_file_commit(hu_atomic_file *r) {
    hu_status st = HU_OK;
    HU_TRY(hu_io_sync(r->descriptor, r->path));
    /* Some file systems report a failed write only here. The descriptor is gone either way. */
    int closed = close(r->descriptor), error = errno;
    r->descriptor = -1;
    if (closed != 0 && error != EINTR) HU_TRY(hu_io_fail(r->path, "cannot close", error));
    if (!r->temporary) goto done;
    if (rename(r->temporary, r->path) != 0) HU_TRY(hu_io_fail(r->path, "cannot rename", errno));
    /* The name is the target's now: the cleanup must not remove it. */
    r->temporary[0] = '\0';
    st = hu_directory_sync_of(r->path);
done:
    hu_atomic_file_drop(r);
    return st;
}

void hu_atomic_file_drop(hu_atomic_file *r) {
    if (!r) return;
    if (r->descriptor >= 0) close(r->descriptor);
    if (r->temporary && r->temporary[0]) unlink(r->temporary);
    hu_free(r->temporary);
    hu_free(r->path);
    hu_free(r);
}

hu_status hu_file_replace(const char *path, const void *data, size_t bytes) {
    hu_file_part part = {data, bytes};
    return hu_file_replace_parts(path, &part, 1);
}

hu_status hu_file_replace_parts(const char *path, const hu_file_part *parts, size_t count) {
    hu_atomic_file *made;
    hu_status st = hu_atomic_file_open(path, &made);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < count && st == HU_OK; i++)
        st = hu_atomic_file_write(made, parts[i].data, parts[i].bytes);
    if (st == HU_OK) return hu_atomic_file_commit(made);
    hu_atomic_file_drop(made);
    return st;
}
