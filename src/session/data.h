/* session/data.h - the data set that a configuration names. */
#ifndef HU_SESSION_DATA_H
#define HU_SESSION_DATA_H
#include "config/config.h"
#include "session/listener.h"

/* Opens the data set that the configuration names; where the default set is not installed and the
 * user asked for none, takes the synthetic glyphs and tells the listener so. Owner frees with
 * hu_dataset_close. */
hu_status hu_session_dataset(hu_config *config, const hu_listener *listener, hu_dataset **dataset);

/* The same for a model that knows something of its data. Nothing is held out of a data set of which
 * only the test half is looked at. */
hu_status hu_session_dataset_known(hu_config *config, const hu_listener *listener,
                                   const hu_data_known *known, hu_dataset **dataset);

/* What the keys say of which images, in which size, and of texts: all of hu_image_choice but told
 * and known. Fails where a key has no such value. */
hu_status hu_session_image_choice(hu_config *config, hu_image_choice *choice);

#endif
