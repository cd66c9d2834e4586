/* journal/history_events.c - events by tensor and kind, however many a folder has. */
#include "journal/history_events.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* What an event is found by: the number of its tensor and its kind. Owner frees. */
static hu_status event_name(uint32_t tensor, const char *kind, char **name) {
    size_t bytes = strlen(kind) + sizeof "4294967295 ";
    hu_status st = HU_NEW_ARRAY(name, bytes);
    if (st == HU_OK) snprintf(*name, bytes, "%u %s", tensor, kind);
    return st;
}

hu_status hu_history_find_event(hu_history *history, uint32_t tensor, const char *kind,
                                hu_event_record **event) {
    char *name;
    *event = NULL;
    hu_status st = event_name(tensor, kind, &name);
    if (st != HU_OK) return st;
    uint32_t number = hu_names_find(&history->event_names, name);
    if (number != HU_NAMES_NONE) *event = &history->events[history->first_event[number]];
    hu_free(name);
    return HU_OK;
}

hu_status hu_history_name_event(hu_history *history) {
    hu_status st = HU_OK;
    const hu_event_record *event = &history->events[history->event_count - 1];
    uint32_t number, known = history->event_names.count;
    char *name = NULL;
    HU_TRY(hu_grow(&history->first_event, known, &history->first_event_capacity,
                   sizeof *history->first_event));
    HU_TRY(event_name(event->tensor, event->kind, &name));
    HU_TRY(hu_names_intern(&history->event_names, name, HU_NAMES_NONE, &number));
    if (number == known) history->first_event[number] = history->event_count - 1;
done:
    hu_free(name);
    return st;
}
