/* session/bits.h - the keys bits.* and cost.* as schedules of bits take them. */
#ifndef HU_SESSION_BITS_H
#define HU_SESSION_BITS_H
#include "config/config.h"
#include "precision/names.h"
#include "session/listener.h"

/* Reads them into bits that a precision has; nothing where it has no schedule. The file of costs
 * too (HU_ERR_MISSING, HU_ERR_PARSE, HU_ERR_ARGUMENT with its name). */
hu_status hu_options_bits(const hu_config *config, hu_bits *bits);

/* Whether a key is one of bits.* and cost.file; and whether a schedule reads it (NULL: none does).
 */
bool hu_options_is_of_bits(const char *key);
bool hu_options_bits_read(const hu_bits_schedule *schedule, const char *key);

/* HU_ERR_ARGUMENT: a key with another value than its usual one that nothing would read. */
hu_status hu_options_check_bits(const hu_config *config, const hu_precision *precision);

/* Tells of a training that is too short for its bits to rise; nothing where it has no schedule of
 * them. HU_ERR_MEMORY. */
hu_status hu_options_tell_bits(const hu_config *config, const hu_trainer *trainer,
                               const hu_listener *listener);

/* Keys of a run's own configuration that another precision does not read go back to their usual
 * values: it was not asked for them. Lists stay. HU_ERR_MEMORY. */
hu_status hu_options_forget_bits(hu_keys *saved, const char *precision);

#endif
