#include "product/onednn_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

hu_dnn_functions hu_dnn_lib;

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static bool is_open;

static const char file[] = HU_DNN_FILE;

/* libstdc++, which comes with oneDNN, asks for its variables of this thread in its destructors; the
 * loader ends the process where there is no memory for them then. Have them made now. */
static void make_cxx_variables(void *library) {
    void *(*make)(void);
    *(void **)&make = dlsym(library, "__cxa_get_globals");
    if (make) make();
}

/* HALFULP_DNNL_FOLDER: of a oneDNN that is not the system's, else empty. It is never closed. */
static void open_library(void) {
#define NAME(name) "dnnl_" #name,
    static const char *const wanted[] = {HU_DNN_OF_BOTH(NAME) HU_DNN_OF_VERSION(NAME)};
    char path[sizeof HALFULP_DNNL_FOLDER + sizeof file];
    snprintf(path, sizeof path, "%s%s", HALFULP_DNNL_FOLDER, file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *function = dlsym(library, wanted[i]);
        if (!function) return;
        memcpy((char *)&hu_dnn_lib + i * sizeof function, &function, sizeof function);
    }
    is_open = hu_dnn_lib.version()->major == DNNL_VERSION_MAJOR;
    make_cxx_variables(library);
}

bool hu_dnn_open(void) {
    pthread_once(&open_once, open_library);
    return is_open;
}
