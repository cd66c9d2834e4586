/* dladdr is no part of POSIX. */
#define _GNU_SOURCE 1
#include "base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

enum { PATH_BYTES = 4096 };

/* Where a module may lie, seen from there: in a build, in an installation, from its library. */
static const char *const places[] = {".", HALFULP_MODULES_FROM_PROGRAM, "halfulp"};

/* Folder of the program or library that this code is in. */
static void own_folder(char *folder, size_t capacity) {
    Dl_info info = {0};
    const char *file = dladdr((const void *)places, &info) != 0 ? info.dli_fname : NULL;
    char *real = file ? realpath(strchr(file, '/') ? file : "/proc/self/exe", NULL) : NULL;
    snprintf(folder, capacity, "%s", real ? real : ".");
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    free(real);
}

static void find(const char *name, const char *folder, char *path) {
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        int length = snprintf(path, PATH_BYTES, "%s/%s/halfulp-%s.so", folder, places[p], name);
        if (length < PATH_BYTES && hu_file_exists(path)) return;
    }
    path[0] = '\0';
}

/* RTLD_GLOBAL: the libraries of an MPI look for each other's symbols. */
hu_status hu_module_load(const char *name, const char *symbol, const char *what,
                         const char *expected, void *function) {
    char folder[PATH_BYTES / 2], path[PATH_BYTES];
    own_folder(folder, sizeof folder);
    find(name, folder, path);
    if (!*path)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "%s: found no halfulp-%s.so in %s, %s/%s or %s/%s; expected %s", what, name,
                       folder, folder, places[1], folder, places[2], expected);
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void *found = handle ? dlsym(handle, symbol) : NULL;
    if (!found) return hu_fail(HU_ERR_UNSUPPORTED, "%s: cannot load %s: %s", what, path, dlerror());
    memcpy(function, &found, sizeof found);
    return HU_OK;
}
