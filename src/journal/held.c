#include "journal/held.h"

#include <inttypes.h>

void hu_held_add(hu_held *held, unsigned events, const hu_event_counts *counts, int64_t step) {
    for (int e = 0; e < HU_EVENTS; e++) {
        if (!(events >> e & 1u)) continue;
        held[e].steps++;
        held[e].last = step;
        held[e].count += hu_event_count(counts, e);
        held[e].of += hu_event_most(counts, e);
    }
}

void hu_held_write(hu_append *file, const char *name, const hu_held *held, bool *is_first) {
    for (int e = 0; e < HU_EVENTS; e++) {
        if (held[e].steps == 0) continue;
        hu_append_format(file,
                         "%s[\"%s\", \"%s\", %" PRIu64 ", %" PRId64 ", %" PRIu64 ", %" PRIu64 "]",
                         *is_first ? "" : ", ", name, hu_event_name(e), held[e].steps, held[e].last,
                         held[e].count, held[e].of);
        *is_first = false;
    }
}
