/* settings/recipe.h - what a model and a data set are trained with unless the user says otherwise.
 */
#ifndef HU_SESSION_RECIPE_H
#define HU_SESSION_RECIPE_H
#include "config/config.h"

/* Fills batch, epochs, rate, schedule, momentum and decay where the user left them open, from the
 * first row that matches model.name and data.name. */
hu_status hu_recipe_apply(hu_config *config);

/* The same for how the data are read, before they are. */
hu_status hu_recipe_data(hu_config *config);

#endif
