/* settings/precision_options.h - the keys precision.*, bits.* and cost.* as the trainer takes them.
 */
#ifndef HU_SESSION_PRECISION_OPTIONS_H
#define HU_SESSION_PRECISION_OPTIONS_H
#include "config/config.h"
#include "precision/precision.h"
#include "settings/messages.h"

/* ---- Lists of a configuration as one text ---- */

/* Items of a list key joined by commas, for the parsers of whole lists; "auto" is left out.
 * HU_ERR_LIMIT: the list does not fit. */
hu_status hu_options_join(const hu_config *config, const char *key, char *text, size_t capacity);

/* ---- The keys bits.* and cost.* as schedules of bits take them ---- */

/* Whether a key is one of bits.* and cost.file; and whether a schedule reads it (NULL: none does).
 */
bool hu_options_is_of_bits(const char *key);
bool hu_options_bits_read(const hu_bits_schedule *schedule, const char *key);

/* Tells of a training that is too short for its bits to rise; nothing where it has no schedule of
 * them. HU_ERR_MEMORY. */
hu_status hu_options_tell_bits(const hu_config *config, const hu_trainer *trainer,
                               const hu_listener *listener);

/* Keys of a run's own configuration that another precision does not read go back to their usual
 * values: it was not asked for them. Lists stay. HU_ERR_MEMORY. */
hu_status hu_options_forget_bits(hu_keys *saved, const char *precision);

/* ---- The keys precision.* and accumulator.* as the trainer takes them ---- */

/* Tells of a resolved plan that was made for other tensor names than the graph's. */
void hu_options_tell_names(const hu_config *config, const hu_graph *graph,
                           const hu_listener *listener);

/* Tells of keys that do not do what they seem to: a scheme that is not the name's own beside what
 * else the name brings, and a promotion that can never act. */
void hu_options_tell_precision(const hu_config *config, const hu_precision *precision,
                               const hu_graph *graph, const hu_edge_table *edges,
                               const hu_listener *listener);

/* Reads all of them; a precision by epoch becomes the configuration's precision.name. Owner frees
 * with hu_precision_free, also after a failure. */
hu_status hu_options_precision(hu_config *config, hu_precision *precision);

#endif
