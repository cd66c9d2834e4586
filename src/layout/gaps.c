#include "layout/gaps.h"

#include <inttypes.h>
#include <stdio.h>

#include "layout/fate.h"

const char *hu_gaps_words(const hu_run *run, char text[HU_GAPS_BYTES]) {
    enum { MOST_BITS = 32 };
    const hu_graph *graph = hu_run_graph(run);
    uint32_t code, stored, place[MOST_BITS + 1] = {0};
    size_t used = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        hu_run_storage_bits(run, graph->node[n].out[0], &code, &stored);
        if (code < stored && stored <= MOST_BITS) place[code] = stored;
    }
    text[0] = '\0';
    for (uint32_t bits = 1; bits <= MOST_BITS && used < HU_GAPS_BYTES / 2; bits++)
        if (place[bits])
            used += (size_t)snprintf(text + used, HU_GAPS_BYTES - used,
                                     "%s of %" PRIu32 " bits lie in %" PRIu32 " each",
                                     used ? "," : "activations", bits, place[bits]);
    return text;
}
