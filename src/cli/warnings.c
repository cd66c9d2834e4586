#include "cli/warnings.h"

#include <stdio.h>

#include "graph/slow.h"

void hu_warnings_print(const hu_run *run) {
    char text[HU_SLOW_BYTES];
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        if (hu_run_is_slow(run, n, text)) fprintf(stderr, "warning: %s\n", text);
}

json_t *hu_warnings_json(const hu_run *run) {
    char text[HU_SLOW_BYTES];
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < run->graph->node_count; n++)
        if (hu_run_is_slow(run, n, text)) json_array_append_new(list, json_string(text));
    return list;
}
