/* tests/faults/fail_files.c - a library to preload that stands between a program and the files of
 * one folder: it counts the calls that change or look up files there, lets one of them (or all from
 * it on) fail, and writes down what became of the files, so that a test can tell what a disk may
 * hold after a loss of power at any of them.
 *
 *   FAULTS_FOLDER   calls on this path, given as the program gives it, and on what is below
 *   FAULTS_CALLS    a file: for every call a line "write run/metrics.csv"
 *   FAULTS_AT       the number of the call that fails, from 1; 0: none
 *   FAULTS_KIND     what it fails with: the number of an error, or "short": a write takes the first
 *                   half of its bytes, "nothing": it takes none, without an error
 *   FAULTS_LAST     "on": all later calls of that name fail, too
 *   FAULTS_STDOUT   so many writes to descriptor 1 are interrupted by a signal before they begin
 *   FAULTS_RECORD   a file: what was done, as records of a letter, two lengths and two texts:
 *                   c path (created), w path bytes (appended), t path number (cut), s path
 * (synced), r path path (renamed), u path (unlinked), m path (folder made)
 */
#define _GNU_SOURCE 1 /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 1024, PATH_BYTES = 512, KIND_SHORT = -1, KIND_NOTHING = -2 };

static char paths[FILES][PATH_BYTES]; /* of the descriptors that are watched; "": not */
static long count;                    /* calls so far */
static char failed_call[16];          /* with FAULTS_LAST: the name that fails from now on */

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

/* The C library's own function. */
static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static int real_open(const char *path, int flags, mode_t mode) {
    int (*call)(const char *, int, ...) = (int (*)(const char *, int, ...))next("open");
    return call(path, flags, mode);
}

static ssize_t real_write(int descriptor, const void *data, size_t bytes) {
    ssize_t (*call)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))next("write");
    return call(descriptor, data, bytes);
}

static bool is_watched(const char *path) {
    const char *folder = variable("FAULTS_FOLDER");
    size_t length = strlen(folder);
    return length > 0 && strncmp(path, folder, length) == 0 &&
           (path[length] == '\0' || path[length] == '/') && strlen(path) < PATH_BYTES;
}

static const char *path_of(int descriptor) {
    return descriptor >= 0 && descriptor < FILES ? paths[descriptor] : "";
}

/* Appends to the file that a variable names, if it does. */
static void append(const char *name, const void *data, size_t bytes) {
    static int descriptor[2] = {-1, -1};
    const char *file = variable(name);
    int *kept = &descriptor[strcmp(name, "FAULTS_CALLS") == 0];
    if (!*file) return;
    if (*kept < 0) *kept = real_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (real_write(*kept, data, bytes) != (ssize_t)bytes) abort();
}

static void record(char letter, const char *path, const void *data, size_t bytes) {
    uint64_t lengths[2] = {strlen(path), bytes};
    if (!*variable("FAULTS_RECORD") || !*path) return;
    append("FAULTS_RECORD", &letter, 1);
    append("FAULTS_RECORD", lengths, sizeof lengths);
    append("FAULTS_RECORD", path, strlen(path));
    append("FAULTS_RECORD", data, bytes);
}

/* What this call is to fail with, 0: it is not. */
static int fault(const char *call, const char *path) {
    char line[PATH_BYTES + 32];
    const char *kind = variable("FAULTS_KIND");
    if (!*path) return 0;
    int bytes = snprintf(line, sizeof line, "%s %s\n", call, path);
    append("FAULTS_CALLS", line, (size_t)bytes);
    bool is_it = ++count == atol(variable("FAULTS_AT"));
    if (is_it && *variable("FAULTS_LAST")) snprintf(failed_call, sizeof failed_call, "%s", call);
    if (!is_it && strcmp(call, failed_call) != 0) return 0;
    if (strcmp(kind, "short") == 0) return KIND_SHORT;
    return strcmp(kind, "nothing") == 0 ? KIND_NOTHING : atoi(kind);
}

/* Whether the call fails; errno is set then. */
static bool fails(const char *call, const char *path) {
    int error = fault(call, path);
    if (error > 0) errno = error;
    return error > 0;
}

static int watch(int descriptor, const char *path, int flags, bool is_new) {
    if (descriptor < 0 || descriptor >= FILES) return descriptor;
    snprintf(paths[descriptor], PATH_BYTES, "%s", is_watched(path) ? path : "");
    if ((flags & O_CREAT) && is_new) record('c', path_of(descriptor), NULL, 0);
    return descriptor;
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    if (is_watched(path) && fails("open", path)) return -1;
    bool is_new = access(path, F_OK) != 0;
    return watch(real_open(path, flags, mode), path, flags, is_new);
}

/* Under _FORTIFY_SOURCE: without a mode. */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) {
    return open(path, flags);
}

/* Of the first writes to stdout. */
static bool is_interrupted(int descriptor) {
    static int interrupted;
    if (descriptor != STDOUT_FILENO || interrupted >= atoi(variable("FAULTS_STDOUT"))) return false;
    interrupted++;
    errno = EINTR;
    return true;
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
    if (is_interrupted(descriptor)) return -1;
    int error = fault("write", path_of(descriptor));
    if (error > 0) errno = error;
    if (error > 0) return -1;
    if (error == KIND_NOTHING) return 0;
    if (error == KIND_SHORT && bytes > 1) bytes /= 2;
    ssize_t put = real_write(descriptor, data, bytes);
    if (put > 0) record('w', path_of(descriptor), data, (size_t)put);
    return put;
}

static int sync_by(const char *name, int descriptor) {
    int (*call)(int) = (int (*)(int))next(name);
    if (fails(name, path_of(descriptor))) return -1;
    record('s', path_of(descriptor), NULL, 0);
    return call(descriptor);
}

int fsync(int descriptor) {
    return sync_by("fsync", descriptor);
}

int fdatasync(int descriptor) {
    return sync_by("fdatasync", descriptor);
}

int ftruncate(int descriptor, off_t bytes) {
    int (*call)(int, off_t) = (int (*)(int, off_t))next("ftruncate");
    char text[32];
    if (fails("ftruncate", path_of(descriptor))) return -1;
    int length = snprintf(text, sizeof text, "%lld", (long long)bytes);
    record('t', path_of(descriptor), text, (size_t)length);
    return call(descriptor, bytes);
}

int close(int descriptor) {
    int (*call)(int) = (int (*)(int))next("close");
    bool has_failed = fails("close", path_of(descriptor));
    int error = errno;
    if (descriptor >= 0 && descriptor < FILES) paths[descriptor][0] = '\0';
    int closed = call(descriptor); /* it is gone either way */
    if (has_failed) errno = error;
    return has_failed ? -1 : closed;
}

int fchmod(int descriptor, mode_t mode) {
    int (*call)(int, mode_t) = (int (*)(int, mode_t))next("fchmod");
    return fails("fchmod", path_of(descriptor)) ? -1 : call(descriptor, mode);
}

int rename(const char *from, const char *to) {
    int (*call)(const char *, const char *) = (int (*)(const char *, const char *))next("rename");
    if (is_watched(to) && fails("rename", to)) return -1;
    int done = call(from, to);
    if (done == 0 && is_watched(to)) record('r', from, to, strlen(to));
    return done;
}

int unlink(const char *path) {
    int (*call)(const char *) = (int (*)(const char *))next("unlink");
    if (is_watched(path) && fails("unlink", path)) return -1;
    int done = call(path);
    if (done == 0 && is_watched(path)) record('u', path, NULL, 0);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    int (*call)(const char *, mode_t) = (int (*)(const char *, mode_t))next("mkdir");
    if (is_watched(path) && fails("mkdir", path)) return -1;
    int done = call(path, mode);
    if (done == 0 && is_watched(path)) record('m', path, NULL, 0);
    return done;
}

int stat(const char *restrict path, struct stat *restrict info) {
    int (*call)(const char *, struct stat *) = (int (*)(const char *, struct stat *))next("stat");
    return is_watched(path) && fails("stat", path) ? -1 : call(path, info);
}

ssize_t pread(int descriptor, void *data, size_t bytes, off_t offset) {
    ssize_t (*call)(int, void *, size_t, off_t) =
        (ssize_t(*)(int, void *, size_t, off_t))next("pread");
    return fails("pread", path_of(descriptor)) ? -1 : call(descriptor, data, bytes, offset);
}
