/* bench/plan_costs.h - `plan nodes=N`: what the network between nodes takes, beside the processor.
 */
#ifndef HU_BENCH_PLAN_COSTS_H
#define HU_BENCH_PLAN_COSTS_H
#include "config/config.h"
#include "render/json.h"
#include "train/options.h"

/* Predicts and prints, for the model of the options. */
hu_status hu_network_advise(hu_config *config, const hu_train_options *options,
                            const hu_dataset *dataset, bool as_json);

/* ---- `plan precision=cpt:4-8`: what the bits of a schedule cost ---- */

/* Counts and prints, for a precision that has a schedule of bits. memory: NULL prints text, else
 * one object with this as its memory_bytes. HU_ERR_ARGUMENT: settings that do not fit the model or
 * the length of the training. */
hu_status hu_bitops_tell(const hu_config *config, const hu_train_options *options,
                         const hu_dataset *dataset, json_t *memory);

#endif
