/* observe/history_inner.h - reading one file of a run folder, shared by history*.c only. */
#ifndef HU_OBSERVE_HISTORY_INNER_H
#define HU_OBSERVE_HISTORY_INNER_H
#include <jansson.h>

#include "observe/history.h"

/* Where a reader stands, for messages. */
typedef struct hu_place {
    const char *folder, *file;
    size_t line;
} hu_place;

/* HU_ERR_CORRUPT "FOLDER/FILE, line N: ...". */
hu_status hu_place_fail(const hu_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Number of a name, which is put into the list if it is new. hint: where it may stand. */
hu_status hu_names_intern(hu_names *names, const char *name, uint32_t hint, uint32_t *number);

/* Members of an object and elements of a list; the text `what` names them in messages. */
hu_status hu_json_i64(const hu_place *place, const json_t *value, const char *what,
                      int64_t *number);
hu_status hu_json_u64(const hu_place *place, const json_t *value, const char *what,
                      uint64_t *number);
hu_status hu_json_f64(const hu_place *place, const json_t *value, const char *what, double *number);
hu_status hu_json_text(const hu_place *place, const json_t *value, const char *what,
                       const char **text);
hu_status hu_json_list(const hu_place *place, const json_t *value, const char *what, size_t *count);

/* One line of a file, added to the history. */
hu_status hu_history_metrics(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_numerics(hu_history *history, const hu_place *place, const json_t *line);
hu_status hu_history_histogram(hu_history *history, const hu_place *place, const json_t *line);

/* The whole of plan.json. */
hu_status hu_history_plan(const hu_place *place, const json_t *object, hu_plan_record **plan);
void hu_history_plan_free(hu_plan_record *plan);

#endif
