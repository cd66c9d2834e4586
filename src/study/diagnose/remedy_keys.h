/* diagnose/remedy_keys.h - advice in words, as keys of a configuration and as JSON. */
#ifndef HU_EXPLAIN_REMEDY_KEYS_H
#define HU_EXPLAIN_REMEDY_KEYS_H
#include <stdio.h>

#include "diagnose/facts.h"
#include "diagnose/remedy.h"
#include "render/json.h"

/* Why there is no option, as sentences; NULL: there is one, or nothing is to be repaired. Gives
 * text or one that is valid for ever. */
enum { HU_REASON_BYTES = 768 };
const char *hu_remedy_reason(const hu_diagnosis *x, const hu_remedy *advice,
                             char text[HU_REASON_BYTES]);

/* The words of an option as a shell takes them: "scaler=dynamic scaler.init=512". text: room for
 * HU_REMEDY_LINE_BYTES. Gives text. */
enum { HU_REMEDY_LINE_BYTES = HU_REMEDY_WORDS * (HU_REMEDY_WORD_BYTES + 4) };
const char *hu_remedy_line(const hu_remedy_option *option, char *text);

/* {"histograms", "tensors", "before": {"error", "error_tensor", "lost", "lost_tensor"}, "options":
 * [{"keys": [words], "line", "repairs", "changes", "bits", "planned_bytes",
 * "after": {...}}], "planned_bytes", "reason"}; NULL if
 * out of memory. New reference. */
json_t *hu_remedy_json(const hu_diagnosis *x, const hu_remedy *advice);

/* Writes what to try and what the recorded numbers say of it, or why there is nothing. */
void hu_remedy_write(const hu_diagnosis *x, const hu_remedy *advice, FILE *file);

#endif
