/* settings/saved_data.h - what a run folder keeps of its data, known again when it is opened. */
#ifndef HU_SETTINGS_SAVED_DATA_H
#define HU_SETTINGS_SAVED_DATA_H
#include <halfulp/data.h>

#include "config/config.h"
#include "data/fingerprint.h"
#include "settings/messages.h"

/* ---- held images ---- */

/* The images that a run drew to test with, known again in a folder that
 * another path names. */

/* Writes RUN/held-out.txt (data/image_list.h) where the data drew their test images. HU_ERR_IO,
 * HU_ERR_MEMORY. */
hu_status hu_held_out_images_write(hu_config *config, const hu_dataset *dataset,
                                   const char *directory);

/* What other data= than the run's means for a folder without a test half. Where data.validation is
 * typed now, that is drawn. Where the run's share draws the very images that the run held out, the
 * folder is the run's own: *has_other_data becomes false, and the listener is told. Else
 * data.validation becomes 0: all images are judged, *takes_all. Anything else is left alone. */
hu_status hu_held_out_images_other(hu_config *config, const char *directory,
                                   const hu_listener *listener, bool *has_other_data,
                                   bool *takes_all);

/* Which of the images of another folder are judged: all of them, or the share that was typed. */
void hu_held_out_images_tell(const hu_dataset *dataset, bool takes_all,
                             const hu_listener *listener);

/* ---- What a run knows of its data when it is opened again ---- */

/* Reads the names of classes and the shapes of a run's folder. has_other_data: the samples are to
 * be others than the run's, of which only the test half is then looked at; unless the folder, of an
 * older version, tells of no classes. Owner frees known->class_names with hu_free, also on failure:
 * HU_ERR_CORRUPT, HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_dataset_info_read(const char *directory, bool has_other_data, hu_data_known *known,
                               char **class_names);

/* Leaves the names of the classes in a run's folder, where the data have names for them; words of
 * texts and sentences are a vocabulary (data/vocabulary.h), or two. */
hu_status hu_dataset_info_write(const char *directory, const hu_dataset *dataset);

/* ---- unread data ---- */

/* A run's data as its folder remembers them, without a sample: for who
 * wants the trainer's weights alone, so that they outlive the files that they were learned from. */

/* Fields and numbers of samples as graph.json and the latest "start" of progress.jsonl tell them;
 * reading a sample fails. What makes a trainer of it is held to the checkpoint by the names and
 * shapes of all values (hu_trainer_restore).
 *
 *   config   of the run, merged (hu_saved_run_merge)
 *   dataset  owner frees with hu_dataset_close; NULL on failure
 *
 * HU_ERR_MISSING: the folder does not tell enough, an older version wrote it; HU_ERR_CORRUPT,
 * HU_ERR_VERSION, HU_ERR_IO, HU_ERR_MEMORY. Proof: tests/program/weights_test.py. */
hu_status hu_unread_data_open(const hu_config *config, const char *directory, hu_dataset **dataset);

/* Whether any key data.* was typed now: then the user means those data. */
bool hu_unread_data_is_overruled(const hu_config *config);

/* ---- Whether the data of a run are still those that it was trained on ---- */

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
