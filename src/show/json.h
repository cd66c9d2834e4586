/* show/json.h - results as one JSON object: numbers with 17 significant digits, hashes as text. */
#ifndef HU_SHOW_JSON_H
#define HU_SHOW_JSON_H
#include <jansson.h>
#include <stdint.h>

#include <halfulp/status.h>

/* A number; JSON has none for infinities, which become the texts "inf" and "-inf", nor for NaN,
 * which becomes null: there is no number. Jansson: new reference, NULL if out of memory. */
json_t *hu_json_number(double value);

/* A 64-bit hash as 16 hexadecimal digits. New reference. */
json_t *hu_json_hash(uint64_t hash);

/* The object on one line into a new string; owner frees with hu_free. For metrics.jsonl.
 * HU_ERR_MEMORY, also where an allocation failed while objects were made (hu_json_ran_out). */
hu_status hu_json_line(json_t *object, char **line);

/* The object indented, as hu_json_print writes it, into a new string; owner frees with hu_free. */
hu_status hu_json_pretty(json_t *object, char **text);

/* Numbers of a JSON object; NaN where there is none. Dots step into objects: "ledger_bytes.total".
 */
double hu_json_real(const json_t *object, const char *path);

#endif
