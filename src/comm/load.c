#include "comm/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/module.h"
#include "base/text.h"

enum { VARIABLES = 3 };

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

/* It is never closed: MPI leaves threads and handlers behind. */
static hu_status load(const char *name, hu_transport_open_function **open_module) {
    char what[120];
    snprintf(what, sizeof what, "transport %.100s", name);
    return hu_module_load(name, HU_TRANSPORT_OPEN, what,
                          "a build that found the compiler wrapper of that MPI", open_module);
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
