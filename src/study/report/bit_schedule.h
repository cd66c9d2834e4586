/* report/bit_schedule.h - what a training with a schedule of bits costs: tables and JSON. */
#ifndef HU_REPORT_BIT_SCHEDULE_H
#define HU_REPORT_BIT_SCHEDULE_H
#include "precision/bits.h"
#include "render/json.h"

/* What is told. All is borrowed for the call. */
typedef struct hu_bits_page {
    const char *model, *precision;
    double width;
    const int64_t *image; /* [3] */
    int64_t classes;      /* 0: the task has none */
    const hu_graph *graph;
    const hu_bits_task *task;
    const hu_forecast *forecast;
} hu_bits_page;

/* Prints the layers of the dearest case, then the costs of all cases, beside static 8 bits. */
hu_status hu_bits_print(const hu_bits_page *page);

/* The same with the layers of all cases; costs in their units, not in millions. New reference. */
json_t *hu_bits_json(const hu_bits_page *page);

#endif
