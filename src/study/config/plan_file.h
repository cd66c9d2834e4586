/* config/plan_file.h - plan files as keys: the two kinds, and how they are told apart. */
#ifndef HU_CONFIG_PLAN_FILE_H
#define HU_CONFIG_PLAN_FILE_H
#include "base/keys.h"

/* Whether a file is a resolved plan: its key "halfulp_plan" says so. */
bool hu_plan_is_resolved(const hu_keys *file);

/* The keys that a resolved plan stands for: precision=resolved with its tensors, accumulator.rules,
 * scaler.* and so on. HU_ERR_VERSION for a later kind, HU_ERR_PARSE with place and expected keys.
 * Owner frees. */
hu_status hu_plan_resolved_keys(const hu_keys *file, hu_keys **keys);

#endif
