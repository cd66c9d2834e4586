/* runlog/history_reader.h - reading the files of a run folder line by line, in bounded memory. */
#ifndef HU_RUNLOG_HISTORY_READER_H
#define HU_RUNLOG_HISTORY_READER_H
#include "render/json.h"
#include "runlog/records.h"

/* Where a reader stands, for messages. */
typedef struct hu_place {
    const char *folder, *file;
    size_t line;
} hu_place;

/* The JSON of a whole file; *object NULL: there is no such file (HU_OK). New reference.
 * HU_ERR_CORRUPT with the line. */
hu_status hu_json_read(hu_place *place, json_t **object);

/* HU_ERR_CORRUPT "FOLDER/FILE, line N: ...". */
hu_status hu_place_fail(const hu_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Members of an object and elements of a list; the text `what` names them in messages. */
hu_status hu_json_i64(const hu_place *place, const json_t *value, const char *what,
                      int64_t *number);
hu_status hu_json_text(const hu_place *place, const json_t *value, const char *what,
                       const char **text);
hu_status hu_json_list(const hu_place *place, const json_t *value, const char *what, size_t *count);

/* ---- plan.json, read back ---- */

/* The whole of plan.json. */
hu_status hu_history_plan(const hu_place *place, const json_t *object, hu_plan_record **plan);
void hu_history_plan_free(hu_plan_record *plan);

/* ---- One line of metrics.jsonl, numerics.jsonl or histograms.jsonl ---- */

/* One line of a file, added to the history. */
hu_status hu_history_metrics(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_numerics(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_bits(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_histogram(hu_history *history, const hu_place *place, const json_t *line);

/* A history in bounded memory: rows of counts added up, and the latest
 * histograms alone */

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

/* Forgets some of more than brief_histograms, where that is not 0: the first and the latest stay,
 * and of those between every second, fourth and so on. */
void hu_history_thin(hu_history *history);

#endif
