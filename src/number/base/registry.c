#include "base/registry.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

enum { MAX_KINDS = 32 };

/* Whole names only, and exactly as the table has them. */
hu_status hu_registry_parse(const char *what, const hu_kind *kinds, size_t count, const char *name,
                            size_t *index) {
    const char *names[MAX_KINDS];
    char near[256];
    *index = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kinds[i].name, name) != 0) continue;
        *index = i;
        return HU_OK;
    }
    if (count > MAX_KINDS) count = MAX_KINDS;
    for (size_t i = 0; i < count; i++) names[i] = kinds[i].name;
    hu_nearest(name, names, count, near, sizeof near);
    return hu_fail(HU_ERR_UNKNOWN, "%s: found '%s', expected %s", what, name, near);
}

/* NaN is in no range. */
hu_status hu_require_range(const char *key, double value, double low, double high,
                           const char *expected) {
    if (value >= low && value < high) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found %g, expected %s", key, value, expected);
}
