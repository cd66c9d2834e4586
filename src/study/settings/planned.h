/* settings/planned.h - the options of a training that is looked at and not made, with the data that
 * were named or those that are assumed. */
#ifndef HU_SETTINGS_PLANNED_H
#define HU_SETTINGS_PLANNED_H
#include "settings/dataset.h"
#include "settings/options.h"

/* Starts as {0}. */
typedef struct hu_planned {
    hu_dataset assumed, *opened; /* opened: NULL without data= */
    hu_precision precision;
    hu_train_options options;
} hu_planned;

/* Fills every option of a configuration as a training would have it. Without data= the recipe
 * decides the batch, for which it needs some data set; then one of that many samples is assumed.
 * Errors as hu_session_dataset, hu_options_train and hu_assumed_dataset_read. Owner frees with
 * hu_planned_free, also on failure. */
hu_status hu_planned_read(hu_config *config, const hu_listener *listener, hu_planned *planned);
void hu_planned_free(hu_planned *planned);

/* The data set that was named, else the assumed one. Borrowed: valid as long as planned. */
const hu_dataset *hu_planned_dataset(const hu_planned *planned);

/* What was assumed of it, in words; NULL: nothing. Gives text. */
const char *hu_planned_assumed(const hu_planned *planned, hu_config *config,
                               char text[HU_ASSUMED_TEXT_BYTES]);

/* Of a network file: tells of a node that nobody reads, and of model.width and sizes that were
 * asked for and that no number of the file names. Nothing of other networks. graph: the network. */
hu_status hu_network_tell(const hu_config *config, const hu_train_options *options,
                          const hu_dataset *dataset, const hu_graph *graph,
                          const hu_listener *listener);

#endif
