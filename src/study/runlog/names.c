/* runlog/names.c - names by number: open addressing with linear steps, at most half full. */
#include "runlog/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_SLOTS = 32, MOST_NAMES = 1 << 30 };

/* Where a name stands, or the free place where it would. There is always one. */
static uint32_t slot_of(const hu_names *names, const char *name) {
    uint32_t at = (uint32_t)XXH64(name, strlen(name), 0) & (names->slots - 1);
    while (names->slot[at] && strcmp(names->name[names->slot[at] - 1], name) != 0)
        at = (at + 1) & (names->slots - 1);
    return at;
}

/* Enters all names into a table that is all zero. */
static void fill_slots(hu_names *names) {
    for (uint32_t i = 0; i < names->count; i++) names->slot[slot_of(names, names->name[i])] = i + 1;
}

/* Room for one more name in the table. */
static hu_status grow_slots(hu_names *names) {
    uint32_t slots = names->slots ? 2 * names->slots : FIRST_SLOTS, *grown;
    if (2 * (names->count + 1) <= names->slots) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&grown, slots);
    if (st != HU_OK) return st;
    hu_free(names->slot);
    names->slot = grown;
    names->slots = slots;
    fill_slots(names);
    return HU_OK;
}

uint32_t hu_names_find(const hu_names *names, const char *name) {
    uint32_t found = names->slots ? names->slot[slot_of(names, name)] : 0;
    return found ? found - 1 : HU_NAMES_NONE;
}

static hu_status add(hu_names *names, const char *name) {
    hu_status st = HU_OK;
    size_t capacity = names->capacity;
    void *block = names->name;
    if (names->count == MOST_NAMES)
        return hu_fail(HU_ERR_LIMIT, "found more than %d different names", MOST_NAMES);
    HU_TRY(grow_slots(names));
    HU_TRY(hu_grow(&block, names->count, &capacity, sizeof *names->name));
    names->name = block;
    names->capacity = (uint32_t)capacity;
    HU_TRY(hu_strdup(name, &names->name[names->count]));
    names->slot[slot_of(names, name)] = names->count + 1;
    names->count++;
done:
    return st;
}

hu_status hu_names_intern(hu_names *names, const char *name, uint32_t hint, uint32_t *number) {
    bool is_hinted = hint < names->count && strcmp(names->name[hint], name) == 0;
    *number = is_hinted ? hint : hu_names_find(names, name);
    if (*number != HU_NAMES_NONE) return HU_OK;
    hu_status st = add(names, name);
    if (st == HU_OK) *number = names->count - 1;
    return st;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void hu_names_sort(hu_names *names) {
    if (names->count == 0) return;
    qsort(names->name, names->count, sizeof *names->name, by_bytes);
    memset(names->slot, 0, names->slots * sizeof *names->slot);
    fill_slots(names);
}

void hu_names_free(hu_names *names) {
    for (uint32_t i = 0; i < names->count; i++) hu_free(names->name[i]);
    hu_free(names->name);
    hu_free(names->slot);
}
