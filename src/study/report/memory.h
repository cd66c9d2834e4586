/* report/memory.h - the memory of a planned training: its ledger, packed and in float32. */
#ifndef HU_REPORT_MEMORY_H
#define HU_REPORT_MEMORY_H
#include <halfulp/status.h>

#include "render/json.h"

/* Both are ledgers {role: bytes} of one training (hu_ledger_json), in one order of roles. storage:
 * that of the first, "packed" or "dense". Gives {role: {"packed": bytes, "float32": bytes}}. New
 * reference. */
json_t *hu_plan_memory_json(const json_t *packed, const json_t *plain, const char *storage);

/* The same as a table in MiB, what its words mean, and why that storage needs more, where it
 * does. */
hu_status hu_plan_memory_print(json_t *packed, const json_t *plain, const char *storage);

#endif
