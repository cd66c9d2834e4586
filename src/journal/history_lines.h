/* journal/history_lines.h - one line of metrics.jsonl, numerics.jsonl or histograms.jsonl. */
#ifndef HU_JOURNAL_HISTORY_LINES_H
#define HU_JOURNAL_HISTORY_LINES_H
#include "journal/history_inner.h"
#include "journal/records.h"

/* One line of a file, added to the history. */
hu_status hu_history_metrics(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_numerics(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_bits(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_histogram(hu_history *history, const hu_place *place, const json_t *line);

#endif
