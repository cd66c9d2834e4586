/* session/data.h - the data set that a configuration names. */
#ifndef HU_SESSION_DATA_H
#define HU_SESSION_DATA_H
#include "config/config.h"
#include "session/listener.h"

/* Opens the data set that the configuration names; where the default set is not installed and the
 * user asked for none, takes the synthetic glyphs and tells the listener so. Owner frees with
 * hu_dataset_close. */
hu_status hu_session_dataset(hu_config *config, const hu_listener *listener, hu_dataset **dataset);

#endif
