/* runlog/records.h - what the files of a run folder hold, as plain structures. */
#ifndef HU_RUNLOG_RECORDS_H
#define HU_RUNLOG_RECORDS_H
#include <stdbool.h>

#include <halfulp/round.h>

#include "runlog/metrics.h"
#include "runlog/names.h"
#include "tensor/exponent_histogram.h"

/* What rounding did to one tensor in the steps of a record. */
typedef struct hu_tensor_record {
    uint32_t tensor, format; /* of hu_history.tensors, .formats */
    hu_round_counts counts;
    double most_overflow, most_underflow, most_subnormal; /* largest share of a single step */
    int64_t subnormal_step; /* last step of the line that has the largest subnormal share */
    uint32_t lines;         /* of the file that it is the sum of */
} hu_tensor_record;

/* Products with a chosen accumulator. */
typedef struct hu_product_record {
    uint32_t product, accumulator; /* of hu_history.products, .formats */
    uint64_t values, subnormal, overflow, terms, stalled;
    double most_subnormal, most_overflow, most_stalled; /* largest share of a line */
    uint32_t lines;                                     /* of the file that it is the sum of */
} hu_product_record;

/* What became of a parameter's update in one step (graph/edge.h). */
typedef struct hu_update_record {
    uint32_t tensor;
    uint64_t asked, lost, small;
    uint32_t lines; /* of the file that it is the sum of */
} hu_update_record;

typedef struct hu_numerics_record {
    int64_t step;  /* the last one */
    int64_t steps; /* how many steps the counts are of */
    bool skipped;  /* the step's update was left out, or the run ended with it */
    bool has_held; /* the row tells how long events held; those of older versions do not */
    uint32_t tensor_count, product_count, update_count;
    hu_tensor_record *tensor;
    hu_product_record *product;
    hu_update_record *update;
    size_t lines; /* of the file that it is the sum of */
} hu_numerics_record;

/* Something that befell a tensor: format and counts of the first step in which it did. */
typedef struct hu_event_record {
    int64_t step;
    uint32_t tensor, format;
    char *kind; /* "nan", "infinity", "overflow", ... (runlog/events.h) */
    uint64_t count, elements;
    int64_t last, steps;     /* the last step in which it held, and in how many it did; 0: no row
                                tells */
    uint64_t held, could_be; /* numbers that it befell in these, and that it could have befallen */
} hu_event_record;

typedef struct hu_promotion_record {
    int64_t step;
    uint32_t tensor, from, to; /* formats */
    double overflow_share;
} hu_promotion_record;

/* A precision by epoch begins. */
typedef struct hu_phase_record {
    int64_t step, epoch;
    char *precision;
} hu_phase_record;

/* A layer's bits from a step on. */
typedef struct hu_bits_change {
    uint32_t layer; /* of hu_history.layers */
    int forward, gradient;
} hu_bits_change;

typedef struct hu_bits_record {
    int64_t step;
    uint32_t count;
    hu_bits_change *change;
} hu_bits_record;

typedef struct hu_tensor_exponents {
    uint32_t tensor;
    hu_exponents exponents;
} hu_tensor_exponents;

typedef struct hu_histogram_record {
    int64_t step;
    size_t number; /* of its line */
    uint32_t count;
    hu_tensor_exponents *tensor;
} hu_histogram_record;

typedef struct hu_plan_group {
    int64_t id, elements;
    double share;
    char *precision; /* "low", "high", "mixed", "float32" */
    char **tensor;   /* [tensor_count] names */
    uint32_t tensor_count;
} hu_plan_group;

typedef struct hu_plan_memory {
    char *role;
    uint64_t bytes;
} hu_plan_memory;

typedef struct hu_plan_record {
    int64_t tensor_elements, model_aggregate_bits;
    double low_precision_ratio;
    hu_plan_memory *memory;
    uint32_t memory_count;
    hu_plan_group *group;
    uint32_t group_count;
} hu_plan_record;

typedef struct hu_history {
    char *folder;
    const hu_metric *metric; /* of test_metric and batch_metric in the records */
    hu_names tensors, formats, products, layers;
    hu_names event_names; /* private, like what follows: pairs of tensor and kind */
    size_t *first_event;  /* [event_names.count] place of the first event of such a pair */
    size_t first_event_capacity;
    hu_metrics_record *metrics;
    hu_numerics_record *numerics;
    hu_event_record *events;
    hu_promotion_record *promotions;
    hu_phase_record *phases;
    hu_histogram_record *histograms;
    hu_bits_record *bits;
    size_t bits_count, bits_capacity;
    size_t metrics_count, numerics_count, event_count, promotion_count, phase_count,
        histogram_count;
    size_t metrics_capacity, numerics_capacity, event_capacity, promotion_capacity, phase_capacity,
        histogram_capacity;
    char *diverged;       /* why the run ended before its last step; NULL: it did not, or goes on */
    char *collapsed;      /* why it counts as collapsed (runlog/result.h); NULL: it does not */
    hu_plan_record *plan; /* NULL: the folder has no plan.json */
    char warning[1024];   /* "", or which files hold parts of lines (they are left out) */
    int64_t *skips;       /* [skip_count] steps whose update was left out, in their order */
    size_t skip_count, skip_capacity;
    size_t numerics_lines, histogram_lines; /* of the files */
    size_t brief_most;       /* rows of numerics at most (runlog/history_reader.h); 0: no bound */
    size_t brief_lines;      /* lines that each of them may be the sum of */
    size_t brief_tail;       /* rows at the end that stay alone */
    size_t brief_histograms; /* at most, where they take more than brief_bytes; 0: no bound */
    size_t brief_bytes, histogram_bytes; /* the latter: of those that are present */
    size_t brief_stride;                 /* lines of histograms of which one stays */
} hu_history;

#endif
