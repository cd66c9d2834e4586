/* cli/show.h - tables on stdout. */
#ifndef HU_CLI_SHOW_H
#define HU_CLI_SHOW_H
#include "show/table.h"

/* Prints the whole table. HU_ERR_MEMORY. */
hu_status hu_show_table(const hu_table *table);

#endif
