/* diagnose/why_json.h - all that `why` tells, as JSON. */
#ifndef HU_EXPLAIN_WHY_JSON_H
#define HU_EXPLAIN_WHY_JSON_H
#include "diagnose/facts.h"
#include "render/json.h"

/* The whole as JSON; NULL if out of memory. asked: place of the tensor that the user named, or
 * HU_NONE. New reference. */
json_t *hu_why_json(const hu_diagnosis *x, uint32_t asked);

#endif
