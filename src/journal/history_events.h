/* journal/history_events.h - the events of a history, found by what they befell. */
#ifndef HU_JOURNAL_HISTORY_EVENTS_H
#define HU_JOURNAL_HISTORY_EVENTS_H
#include "journal/records.h"

/* The first event of a kind that befell a tensor; *event NULL: there is none. Borrowed: until the
 * next event is added. HU_ERR_MEMORY. */
hu_status hu_history_find_event(hu_history *history, uint32_t tensor, const char *kind,
                                hu_event_record **event);

/* Lets the last event of the history be found, if it is the first of its tensor and kind.
 * HU_ERR_MEMORY. Proof: tests/unit/journal_history_test.c. */
hu_status hu_history_name_event(hu_history *history);

#endif
