/* report/tensor_groups.h - the tensors of a run by group, layer and role. */
#ifndef HU_REPORT_TENSOR_GROUPS_H
#define HU_REPORT_TENSOR_GROUPS_H
#include "precision/rules.h"
#include "report/report.h"

/* What a recorded tensor is for: an hu_role, state of the optimizer, or unknown. */
enum { HU_REPORT_STATE = HU_ROLE_COUNT, HU_REPORT_ROLES, HU_LABEL_BYTES = 128 };

/* Reads the graph of a run that has a history, and finds each of its tensors there. HU_ERR_MISSING
 * (a folder of an older version), HU_ERR_CORRUPT, HU_ERR_VERSION: the run stays without. */
hu_status hu_report_find_tensors(hu_report_run *run);

/* What a recorded tensor (number in history->tensors) is for; HU_REPORT_ROLES: the graph does not
 * have it, or is not there. */
int hu_report_role(const hu_report_run *run, uint32_t tensor);

/* Whether it is a parameter of one dimension (a bias, a scale of a norm), or the gradient of one:
 * these are many, small and alike. */
bool hu_report_is_vector(const hu_report_run *run, uint32_t tensor);

/* What a tensor is called where its role is told already: by its node or layer, if that alone tells
 * it from others, else by its value; sums of gradients and state say so.
 */
void hu_report_label(const hu_report_run *run, uint32_t tensor, char label[HU_LABEL_BYTES]);

#endif
