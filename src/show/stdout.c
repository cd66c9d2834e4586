/* show/stdout.c - results of verbs, for people or for programs. */
#include "show/stdout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/json.h"

hu_status hu_show_table(const hu_table *table) {
    char *text;
    hu_status st = hu_table_print_for(table, hu_colour_wanted(STDOUT_FILENO), &text);
    if (st != HU_OK) return st;
    fputs(text, stdout);
    hu_free(text);
    return HU_OK;
}

hu_status hu_json_print(json_t *object) {
    char *text;
    hu_status st = hu_json_pretty(object, &text);
    if (st == HU_OK && fputs(text, stdout) == EOF)
        st = hu_fail(HU_ERR_IO, "cannot write JSON: %s", strerror(errno));
    hu_free(text);
    return st;
}

hu_status hu_show_text(hu_status made, char *text) {
    if (made == HU_OK && text) fputs(text, stdout);
    hu_free(text);
    return made;
}
