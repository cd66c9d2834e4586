#include "graph/name_table.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

void hu_name_table_free(hu_name_table *table) {
    hu_free(table->entry);
    *table = (hu_name_table){0};
}

/* The place of a name, or the free one where it belongs; the table must have a free place. */
static hu_name_entry *place_of(const hu_name_table *table, const char *name) {
    size_t mask = table->capacity - 1, i = (size_t)XXH64(name, strlen(name), 0) & mask;
    while (table->entry[i].name && strcmp(table->entry[i].name, name) != 0) i = (i + 1) & mask;
    return &table->entry[i];
}

static hu_status grow(hu_name_table *table) {
    enum { FIRST = 64 };
    hu_name_table larger = {.count = table->count,
                            .capacity = table->capacity ? 2 * table->capacity : FIRST};
    void *block;
    hu_status st = hu_alloc_array(larger.capacity, sizeof *larger.entry, &block);
    if (st != HU_OK) return st;
    larger.entry = block;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entry[i].name) *place_of(&larger, table->entry[i].name) = table->entry[i];
    hu_free(table->entry);
    *table = larger;
    return HU_OK;
}

hu_status hu_name_table_add(hu_name_table *table, const char *name, uint32_t id) {
    if (2 * (table->count + 1) >= table->capacity) {
        hu_status st = grow(table);
        if (st != HU_OK) return st;
    }
    *place_of(table, name) = (hu_name_entry){name, id};
    table->count++;
    return HU_OK;
}

const hu_name_entry *hu_name_table_find(const hu_name_table *table, const char *name) {
    if (table->capacity == 0) return NULL;
    const hu_name_entry *entry = place_of(table, name);
    return entry->name ? entry : NULL;
}
