/* settings/changed_data.h - whether the data of a run are still those that it was trained on. */
#ifndef HU_SESSION_CHANGED_DATA_H
#define HU_SESSION_CHANGED_DATA_H
#include <halfulp/data.h>

#include "config/config.h"
#include "data/fingerprint.h"
#include "settings/messages.h"

#define HU_DATA_FILE "data.txt" /* in the folder of a run: its fingerprint (data/fingerprint.h) */

/* The data of a training as they are found. All zero: nothing is known. */
typedef struct hu_changed_data {
    char *fingerprint;               /* owned */
    char what[HU_FINGERPRINT_BYTES]; /* that was accepted; "": nothing has changed */
} hu_changed_data;

/* Makes the fingerprint of a data set and compares it with that of a run's folder (NULL: there is
 * none yet). Where a key that chooses samples has another value than in the run (data.limit,
 * data.size), names of classes and words alone are compared, which the listener hears; that the
 * folder, of an older version, has no fingerprint, too.
 *
 * HU_ERR_VERSION says what has changed, unless data.changed=accept is given now; then *changed
 * does. Owner frees *changed with hu_changed_data_free, also on failure. */
hu_status hu_changed_data_find(const hu_config *config, const hu_dataset *dataset,
                               const char *directory, const hu_listener *listener,
                               hu_changed_data *changed);

/* Leaves the fingerprint in the folder. */
hu_status hu_changed_data_write(const hu_changed_data *changed, const char *directory);

void hu_changed_data_free(hu_changed_data *changed);

#endif
