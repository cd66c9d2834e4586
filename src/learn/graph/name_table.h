/* graph/name_table.h - ids by name, found in constant time: open addressing, XXH64. */
#ifndef HU_GRAPH_NAME_TABLE_H
#define HU_GRAPH_NAME_TABLE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_name_entry {
    const char *name; /* NULL: the place is free. Borrowed: valid as long as the table */
    uint32_t id;
} hu_name_entry;

/* Empty when zero. */
typedef struct hu_name_table {
    hu_name_entry *entry;   /* [capacity] a name stands at its hash or in the next free place */
    size_t count, capacity; /* capacity: 0 or a power of two, more than twice count */
} hu_name_table;

void hu_name_table_free(hu_name_table *table);

/* Adds a name that is not in the table. HU_ERR_MEMORY leaves the table as it was. */
hu_status hu_name_table_add(hu_name_table *table, const char *name, uint32_t id);

/* The entry of a name, NULL if there is none. Borrowed: valid until a name is added. */
const hu_name_entry *hu_name_table_find(const hu_name_table *table, const char *name);

#endif
