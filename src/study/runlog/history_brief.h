/* runlog/history_brief.h - a history in bounded memory: rows of counts added up, and the latest
 * histograms alone. */
#ifndef HU_JOURNAL_HISTORY_BRIEF_H
#define HU_JOURNAL_HISTORY_BRIEF_H
#include "runlog/records.h"

/* Adds the last row of counts to the one before, if that has fewer rows of the file than each may
 * have, and halves the number of rows when there are more than brief_most: all but the first and
 * the last have then equally many of the file. Nothing where brief_most is 0.
 *
 * Counts are added by tensor and format, products by product and accumulator, updates by parameter;
 * the largest shares of a step stay the largest. So sums over all rows are what they were; only
 * where in a row something happened is lost. The first row stays alone: it has every tensor's
 * elements in one step, and so do brief_tail rows at the end. Rows of skipped steps are added to
 * each other alone, unless there are so many that this leaves too many rows; then they are not told
 * apart any more. HU_ERR_MEMORY. */
hu_status hu_history_add_up(hu_history *history);

/* Frees what a row, or the histograms of a step, hold. */
void hu_numerics_record_free(hu_numerics_record *record);
void hu_histogram_record_free(hu_histogram_record *record);

/* Forgets some of more than brief_histograms, where that is not 0: the first and the latest stay,
 * and of those between every second, fourth and so on. */
void hu_history_thin(hu_history *history);

#endif
