/* settings/options.h - from a configuration to what the trainer takes: recipes fill what the user
 * left open. */
#ifndef HU_SETTINGS_OPTIONS_H
#define HU_SETTINGS_OPTIONS_H
#include "config/config.h"
#include "precision/precision.h"
#include "settings/messages.h"
#include "train/options.h"
#include "train/trainer.h"

/* Fills every "auto" of the configuration for this data set and translates it. precision owns its
 * rules and must outlive the options; free it with hu_precision_free. */
hu_status hu_options_train(hu_config *config, const hu_dataset *dataset, hu_precision *precision,
                           hu_train_options *options);

/* Adds copies of the keys that the user gave to a map. */
hu_status hu_options_given(const hu_config *config, hu_keys *given);

/* A new configuration with the keys that the user gave; owner frees with hu_config_free. */
hu_status hu_options_copy(const hu_config *config, hu_config **copy);

/* ---- The keys comm.* as the trainer takes them ---- */

/* The schedule of those who leave it open: owners must be able to add in float32 where the scaling
 * wants that. Borrowed: valid forever. */
const char *hu_default_schedule(const hu_comm_scaling *scaling);

/* comm.bucket in bytes; left open, what suits so many workers is set. */
hu_status hu_options_bucket(hu_config *config, int32_t workers, int64_t *bytes);

/* Reads what does not depend on schedule, scaling and format: rounding, kahan, error_feedback. */
hu_status hu_options_rounding(const hu_config *config, hu_comm_options *options);

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

/* ---- What a model and a data set are trained with unless the user says otherwise ---- */

/* Fills batch, epochs, rate, schedule, momentum and decay where the user left them open, from the
 * first row that matches model.name and data.name. */
hu_status hu_recipe_apply(hu_config *config);

/* The model whose row that is: model.name, or the recipe that a network file names. Borrowed: as
 * hu_config_text. */
hu_status hu_recipe_model(hu_config *config, const char **model);

/* The same for how the data are read, before they are. */
hu_status hu_recipe_data(hu_config *config);

#endif
