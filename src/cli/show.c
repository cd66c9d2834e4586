#include "cli/show.h"

#include <stdio.h>

#include "base/memory.h"

hu_status hu_show_table(const hu_table *table) {
    char *text;
    hu_status st = hu_table_print(table, &text);
    if (st != HU_OK) return st;
    fputs(text, stdout);
    hu_free(text);
    return HU_OK;
}
