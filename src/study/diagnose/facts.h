/* diagnose/facts.h - the facts that `why` tells of a death, for its text and its JSON. */
#ifndef HU_DIAGNOSE_FACTS_H
#define HU_DIAGNOSE_FACTS_H
#include "diagnose/run_record.h"
#include "diagnose/why.h"
#include "render/json.h"

typedef struct hu_diagnosis {
    hu_run_record run;
    hu_why why;
} hu_diagnosis;

/* What a candidate format would have lost of a tensor. */
typedef struct hu_fit {
    bool holds;      /* nothing overflows, and at most 1 % vanishes */
    bool has_shares; /* from a histogram; else only exponents are known */
    hu_lost lost;    /* shares of all its numbers */
    double vanished; /* share of the nonzero ones that becomes zero */
} hu_fit;

/* Name of the tensor at a place. text: room for HU_TENSOR_NAME_BYTES. Gives text. */
const char *hu_fact_name(const hu_diagnosis *x, uint32_t place, char *text);

/* What a death is of: the tensor at its place, or the product whose sums died ("conv2.forward").
 * text: room for HU_TENSOR_NAME_BYTES. */
const char *hu_fact_failure_name(const hu_diagnosis *x, const hu_failure *death, char *text);

/* Place of the tensor that the user named, HU_NONE for none (name NULL). HU_ERR_UNKNOWN with the
 * nearest names of the run's files. */
hu_status hu_fact_place(const hu_diagnosis *x, const char *name, uint32_t *place);

/* "made by conv1 (conv2d)", "made by the backward part of ...". Gives text. */
const char *hu_fact_maker(const hu_diagnosis *x, uint32_t place, char *text, size_t capacity);

/* The counts that a death is told with: of its own step. *format: name. */
hu_round_counts hu_fact_counts(const hu_diagnosis *x, const hu_failure *death, const char **format);

/* How the candidate fits the numbers that a tensor had at a step. */
hu_fit hu_fact_fit(const hu_diagnosis *x, uint32_t place, int64_t step, int candidate);

/* True of what an optimizer keeps for a parameter. */
bool hu_is_optimizer_state(const hu_run_record *run, uint32_t place);

/* The rule of optimizer.state that would have held what died: "*.squares: bf16", with the first of
 * the run's candidate formats that holds the numbers of the death's step and that state can have;
 * fp32 where there is none. text: room for HU_STATE_RULE_BYTES. Gives text; NULL of other tensors
 * and of no death. */
enum { HU_STATE_RULE_BYTES = 160 };
const char *hu_fact_state_rule(const hu_diagnosis *x, const hu_failure *death, char *text);

/* Steps that the records reach. */
int64_t hu_fact_last_step(const hu_diagnosis *x);

/* ---- All of them as JSON ---- */

/* The whole as JSON; NULL if out of memory. asked: place of the tensor that the user named, or
 * HU_NONE. New reference. */
json_t *hu_why_json(const hu_diagnosis *x, uint32_t asked);

#endif
