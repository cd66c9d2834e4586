/* render/json.h - results as one JSON object: numbers with as few digits as read back, hashes as
 * text; JSON read, and jansson without memory.
 *
 * Jansson's reader takes a buffer that could not grow for one that is whole: a failed allocation
 * ends in memory written over, or in the verdict that a sound file is damaged. A program therefore
 * gives jansson memory through hu_json_guard, whose reader never sees a failure: a parse that runs
 * out is left at once, with all of its blocks given back. */
#ifndef HU_SHOW_JSON_H
#define HU_SHOW_JSON_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* A number; JSON has none for infinities, which become the texts "inf" and "-inf", nor for NaN,
 * which becomes null: there is no number. Jansson: new reference, NULL if out of memory. */
json_t *hu_json_number(double value);

/* A 64-bit hash as 16 hexadecimal digits. New reference. */
json_t *hu_json_hash(uint64_t hash);

/* The object on one line into a new string; owner frees with hu_free. For metrics.jsonl. Takes the
 * reference to the object, whatever it returns. HU_ERR_MEMORY, also where an allocation failed
 * while objects were made (hu_json_ran_out). */
hu_status hu_json_line(json_t *object, char **line);

/* The object indented, as hu_json_print writes it, into a new string; owner frees with hu_free.
 * Takes the reference, too. */
hu_status hu_json_pretty(json_t *object, char **text);

/* Numbers of a JSON object; NaN where there is none. Dots step into objects: "ledger_bytes.total".
 */
double hu_json_real(const json_t *object, const char *path);

/* Takes over the memory of jansson in this process (json_set_alloc_funcs): for programs, before
 * anything of jansson's is called. A library must not, because its user may have objects of
 * jansson's already; there, out of memory may still be told as damage. */
void hu_json_guard(void);

/* Whether any allocation of jansson's has failed since hu_json_guard: what was written since may
 * lack members. */
bool hu_json_ran_out(void);

/* Blocks that jansson has now; for tests. */
uint64_t hu_json_blocks(void);

/* One JSON value; an object with a name twice is none.
 *
 *   text, bytes  the value and nothing else; no final zero is needed
 *   value        new reference; NULL on failure
 *   error        of HU_ERR_CORRUPT: jansson's words, line and column
 *
 * HU_ERR_CORRUPT without a message of its own, which the caller gives as it knows the place;
 * HU_ERR_MEMORY. Thread-safe. Proof: tests/unit/render_json_test.c. */
hu_status hu_json_parse(const char *text, size_t bytes, json_t **value, json_error_t *error);

/* The value of a whole file for those who can do without: *value NULL and HU_OK where there is no
 * such file, or none that can be read and is JSON. HU_ERR_MEMORY. New reference. */
hu_status hu_json_load(const char *path, json_t **value);

#endif
