/* session/class_facts.h - what the latest evaluation gave of each class of the data, where metrics
 * of the task are means over classes. */
#ifndef HU_SESSION_CLASS_FACTS_H
#define HU_SESSION_CLASS_FACTS_H
#include "show/json.h"
#include "train/trainer.h"

/* Adds "test_classes" or "validation_classes", as the half is: a list of {"name", "ap", ...}, null
 * where no sample has the class. Nothing where nothing is known of any class, or object is NULL.
 * HU_ERR_MEMORY leaves the object as it was: the list has all classes in the order of their
 * numbers. Proof: tests/unit/session_class_facts_test.c. */
hu_status hu_class_facts_put(json_t *object, const hu_trainer *trainer, const hu_dataset *dataset,
                             hu_half half);

/* The same as a table for people; NULL where nothing is known. Owner frees *text with hu_free. */
hu_status hu_class_facts_text(const hu_trainer *trainer, const hu_dataset *dataset, hu_half half,
                              char **text);

#endif
