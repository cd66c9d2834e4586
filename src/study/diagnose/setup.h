/* diagnose/setup.h - how a run rounds and scales by its own configuration: what advice changes. */
#ifndef HU_EXPLAIN_SETUP_H
#define HU_EXPLAIN_SETUP_H
#include "diagnose/run_record.h"
#include "precision/precision.h"
#include "train/loss_scale.h"

typedef struct hu_setup {
    const char *precision; /* its name. Borrowed: from the run's configuration, as all texts */
    hu_precision parsed;   /* of that name; zero where it is none of formats by role */
    bool is_by_role;       /* parsed: every tensor of a role has one format unless a rule says
                              otherwise */
    const hu_keys *rules;  /* precision.rules; NULL */
    hu_quantizer usual[HU_ROLE_COUNT]; /* of most tensors of a role */
    hu_loss_scale_kind scaler;
    int32_t scale;          /* log2 of scaler.init */
    bool needs_masters;     /* updates of weights were lost, which are kept without masters */
    bool needs_accumulator; /* sums of products were saturated or flushed, or stalled */
    const char *accumulator;
    bool has_accumulator_rules;
} hu_setup;

/* HU_ERR_MISSING: the folder has no configuration that can be read. Owner frees with hu_setup_free.
 */
hu_status hu_setup_read(const hu_run_record *run, const hu_why *why, const hu_recorded *recorded,
                        hu_setup *setup);
void hu_setup_free(hu_setup *setup);

/* Whether two quantizers have the same numbers but for what is too large. */
bool hu_same_range(const hu_quantizer *a, const hu_quantizer *b);

#endif
