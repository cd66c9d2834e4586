#include "data/class_names.h"

#include <string.h>

#include "base/memory.h"

hu_status hu_class_names_join(const char *const *names, size_t count, char **text) {
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < count; i++) bytes += strlen(names[i]) + 1;
    hu_status st = HU_NEW_ARRAY(text, bytes);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < count; at += strlen(names[i++]) + 1) strcpy(*text + at, names[i]);
    return HU_OK;
}
