#include "base/ending.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"

/* ".html, .svg or .pdf" */
static void list(const char *const *endings, char *text, size_t capacity) {
    size_t used = 0;
    for (size_t i = 0; endings[i] && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s.%s",
                                 i == 0           ? ""
                                 : endings[i + 1] ? ", "
                                                  : " or ",
                                 endings[i]);
}

hu_status hu_ending_find(const char *path, const char *const *endings, int *which) {
    char known[256];
    const char *name = hu_path_name(path), *dot = strrchr(name, '.');
    *which = 0;
    if (!dot || dot == name || !dot[1]) return HU_OK;
    for (int i = 0; endings[i]; i++) {
        *which = i;
        if (strcasecmp(dot + 1, endings[i]) == 0) return HU_OK;
    }
    list(endings, known, sizeof known);
    return hu_fail(HU_ERR_ARGUMENT, "%s: found the ending '%.20s', expected %s", path, dot, known);
}
