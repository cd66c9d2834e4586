/* report/network_advice.h - predicted times on a network as tables, sentences and JSON. */
#ifndef HU_REPORT_NETWORK_ADVICE_H
#define HU_REPORT_NETWORK_ADVICE_H
#include "comm/cost_model.h"
#include "render/json.h"
#include "render/table.h"

/* What was asked, for the head of the page. Texts are borrowed. */
typedef struct hu_advice_head {
    const char *model;
    const int64_t *image; /* [height, width, channels] */
    int64_t classes;      /* 0: the task has none */
    bool is_assumed;      /* nobody said what images and classes */
    int64_t parameters;
    const hu_comm_question *question;
} hu_advice_head;

/* Prints milliseconds by schedule and fusion (rows) and format (columns), what a worker holds and
 * sends, and what follows: which formats lose every number, and whether compression pays. */
hu_status hu_advice_print(const hu_advice_head *head, const hu_comm_advice *advice);

/* {"rows": [...], "verdict": ..., "pays": ..., ...}. New reference, NULL if out of memory. */
json_t *hu_advice_json(const hu_advice_head *head, const hu_comm_advice *advice);

#endif
