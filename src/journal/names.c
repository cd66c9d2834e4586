#include "journal/names.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

uint32_t hu_names_find(const hu_names *names, const char *name) {
    for (uint32_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0) return i;
    return HU_NAMES_NONE;
}

hu_status hu_names_intern(hu_names *names, const char *name, uint32_t hint, uint32_t *number) {
    hu_status st = HU_OK;
    bool is_hinted = hint < names->count && strcmp(names->name[hint], name) == 0;
    size_t capacity = names->capacity;
    void *block = names->name;
    *number = is_hinted ? hint : hu_names_find(names, name);
    if (*number != HU_NAMES_NONE) return HU_OK;
    HU_TRY(hu_grow(&block, names->count, &capacity, sizeof *names->name));
    names->name = block;
    names->capacity = (uint32_t)capacity;
    HU_TRY(hu_strdup(name, &names->name[names->count]));
    *number = names->count++;
done:
    return st;
}

void hu_names_free(hu_names *names) {
    for (uint32_t i = 0; i < names->count; i++) hu_free(names->name[i]);
    hu_free(names->name);
}
