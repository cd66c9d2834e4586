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
const char *hu_repair_reason(const hu_explaining *x, const hu_repair *advice,
                             char text[HU_REASON_BYTES]);

/* The words of an option as a shell takes them: "scaler=dynamic scaler.init=512". text: room for
 * HU_REPAIR_LINE_BYTES. Gives text. */
enum { HU_REPAIR_LINE_BYTES = HU_REPAIR_WORDS * (HU_REPAIR_WORD_BYTES + 4) };
const char *hu_repair_line(const hu_repair_option *option, char *text);

/* {"histograms", "tensors", "before": {"error", "error_tensor", "lost", "lost_tensor"}, "options":
 * [{"keys": [words], "line", "repairs", "changes", "bits", "planned_bytes",
 * "after": {...}}], "planned_bytes", "reason"}; NULL if
 * out of memory. New reference. */
json_t *hu_repair_json(const hu_explaining *x, const hu_repair *advice);

/* Writes what to try and what the recorded numbers say of it, or why there is nothing. */
void hu_repair_write(const hu_explaining *x, const hu_repair *advice, FILE *file);

#endif
