/* runlog/history_reader.h - reading the files of a run folder line by line. */
#ifndef HU_JOURNAL_HISTORY_READER_H
#define HU_JOURNAL_HISTORY_READER_H
#include "render/json.h"
#include "runlog/records.h"

/* ---- history inner ---- */

/* Reading one file of a run folder, shared by the readers of its files.
 */

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

#endif
