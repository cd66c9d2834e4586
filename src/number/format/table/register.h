/* format/table/register.h - the tables of this process, by number. Internal to format/table. */
#ifndef HU_FORMAT_TABLE_REGISTER_H
#define HU_FORMAT_TABLE_REGISTER_H
#include "format/table/draft.h"

/* Number of the table of that name and contents, from 1; 0: there is none yet. */
uint32_t hu_code_register_find(const char *name, uint64_t content);

/* Takes a table over, whatever it returns, and gives its number, or that of an equal one that
 * another thread brought first. HU_ERR_MEMORY, HU_ERR_LIMIT. */
hu_status hu_code_register_add(hu_code_table *table, uint32_t *number);

/* The table of a number; NULL: none. */
hu_code_table *hu_code_register_at(uint32_t number);

#endif
