/* report/reductions.h - a study of reductions as a table, as JSON and as a page. */
#ifndef HU_REPORT_REDUCTIONS_H
#define HU_REPORT_REDUCTIONS_H
#include "comm/gradient_study.h"
#include "render/json.h"
#include "render/table.h"

/* Prints a table, one row per case, and what its columns are of. */
hu_status hu_reductions_print(const hu_gradient_study *study);

/* {"rows": [...], "skipped": [{"schedule", "scaling", "reason"}]}; a study of one case has the keys
 * of its row beside them. New reference, NULL if out of memory. */
json_t *hu_reductions_json(const hu_gradient_study *study);

/* Pictures of the error against the group size and of the predicted time against the number of
 * workers, and the table, in one file. */
hu_status hu_reductions_page(const hu_gradient_study *study, const char *path);

/* What is reduced: "8 workers, 270,000 elements ...". text[HU_REDUCTION_LINE_BYTES]. */
enum { HU_REDUCTION_TEXT_BYTES = HU_FORMAT_TEXT_BYTES, HU_REDUCTION_LINE_BYTES = 512 };

/* What a case is called, as the user would write it: "hier:16", "e5m2", "aps+kahan". */
typedef struct hu_reduction_names {
    char schedule[HU_REDUCTION_TEXT_BYTES], format[HU_REDUCTION_TEXT_BYTES];
    char scaling[HU_REDUCTION_TEXT_BYTES]; /* with what else is not as usual */
} hu_reduction_names;
void hu_reduction_name(const hu_comm_options *options, hu_reduction_names *names);

#endif
