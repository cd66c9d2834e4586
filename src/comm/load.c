/* dladdr is no part of POSIX. */
#define _GNU_SOURCE 1
#include "comm/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"

enum { PATH_BYTES = 4096, VARIABLES = 3 };

/* A module halfulp-<name>.so, and what its launchers put into the environment. */
typedef struct module {
    const char *name;
    const char *variable[VARIABLES], *size[VARIABLES];
} module;

/* PMIx tells no number of processes; SLURM, which may have started it, does. */
static const module modules[] = {
    {"openmpi",
     {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"},
     {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}},
    {"mpich", {"PMI_SIZE", "PMI_RANK"}, {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}}};
enum { MODULES = sizeof modules / sizeof *modules };

/* Processes that the launcher started; 0: it does not tell. */
static int32_t processes_of(const module *m) {
    for (size_t v = 0; v < VARIABLES && m->size[v]; v++) {
        const char *text = getenv(m->size[v]);
        long count = text ? strtol(text, NULL, 10) : 0;
        if (count > 0 && count <= INT32_MAX) return (int32_t)count;
    }
    return 0;
}

const char *hu_transport_of_launcher(int32_t *processes) {
    *processes = 1;
    for (size_t m = 0; m < MODULES; m++)
        for (size_t v = 0; v < VARIABLES && modules[m].variable[v]; v++) {
            if (!getenv(modules[m].variable[v])) continue;
            *processes = processes_of(&modules[m]);
            return modules[m].name;
        }
    return NULL;
}

static hu_status check_name(const char *name) {
    const char *names[MODULES];
    char nearest[128];
    for (size_t m = 0; m < MODULES; m++) {
        names[m] = modules[m].name;
        if (strcmp(name, names[m]) == 0) return HU_OK;
    }
    hu_nearest(name, names, MODULES, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "transport '%.100s': expected one of %s", name, nearest);
}

/* Folder of the program or library that this code is in. */
static void own_folder(char *folder, size_t capacity) {
    Dl_info info = {0};
    const char *file = dladdr((const void *)modules, &info) != 0 ? info.dli_fname : NULL;
    char *real = file ? realpath(strchr(file, '/') ? file : "/proc/self/exe", NULL) : NULL;
    snprintf(folder, capacity, "%s", real ? real : ".");
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    free(real);
}

/* Where a module may lie, seen from there: in a build, in an installation, from its library. */
static const char *const places[] = {".", HALFULP_MODULES_FROM_PROGRAM, "halfulp"};

/* A module that lies nowhere is looked for in the paths of the system last. */
static void find(const char *name, const char *folder, char *path) {
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        int length = snprintf(path, PATH_BYTES, "%s/%s/halfulp-%s.so", folder, places[p], name);
        if (length < PATH_BYTES && hu_file_exists(path)) return;
    }
    path[0] = '\0';
}

/* The libraries of an MPI look for each other's symbols: RTLD_GLOBAL. It is never closed: MPI
 * leaves threads and handlers behind. */
static hu_status load(const char *name, hu_transport_open_function **open_module) {
    char folder[PATH_BYTES / 2], path[PATH_BYTES];
    own_folder(folder, sizeof folder);
    find(name, folder, path);
    if (!*path)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "transport %s: found no halfulp-%s.so in %s, %s/%s or %s/%s; expected a "
                       "build that found the compiler wrapper of that MPI",
                       name, name, folder, folder, places[1], folder, places[2]);
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void *symbol = handle ? dlsym(handle, HU_TRANSPORT_OPEN) : NULL;
    if (!symbol)
        return hu_fail(HU_ERR_UNSUPPORTED, "transport %s: cannot load %s: %s", name, path,
                       dlerror());
    memcpy(open_module, &symbol, sizeof symbol);
    return HU_OK;
}

hu_status hu_transport_open(const char *name, hu_transport **transport) {
    hu_transport_open_function *open_module;
    char error[HU_TRANSPORT_ERROR] = "";
    *transport = NULL;
    hu_status st = check_name(name);
    if (st == HU_OK) st = load(name, &open_module);
    if (st != HU_OK) return st;
    if (open_module(HU_TRANSPORT_VERSION, transport, error) == 0) return HU_OK;
    return hu_fail(HU_ERR_PEER, "transport %s: %s", name, error);
}
