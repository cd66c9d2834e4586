/* journal/history_inner.h - reading one file of a run folder, shared by the readers of its files.
 */
#ifndef HU_JOURNAL_HISTORY_INNER_H
#define HU_JOURNAL_HISTORY_INNER_H

#include "show/json.h"

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
hu_status hu_json_u64(const hu_place *place, const json_t *value, const char *what,
                      uint64_t *number);
hu_status hu_json_f64(const hu_place *place, const json_t *value, const char *what, double *number);
hu_status hu_json_text(const hu_place *place, const json_t *value, const char *what,
                       const char **text);
hu_status hu_json_list(const hu_place *place, const json_t *value, const char *what, size_t *count);

#endif
