/* settings/dataset.h - the data set that the keys data.* name. */
#ifndef HU_SETTINGS_DATASET_H
#define HU_SETTINGS_DATASET_H
#include <halfulp/data.h>

#include "config/config.h"
#include "settings/messages.h"

/* ---- Files that a command names, one by one or by their folder ---- */

typedef struct hu_given_files {
    char **path; /* [count] */
    size_t count, capacity;
    size_t left_out; /* files and folders that were named, or lie in a folder that was, and are not
                        among them */
    size_t unread; /* those of them that may be meant: pictures that cannot be read, and files that
                      were named */
} hu_given_files;

/* Hears of a file that is left out, and why: "FILE: damaged ...". */
typedef void hu_given_file_left(const char *why);

/* The subjects of a command from number first on: a file stands for itself, a folder for its
 * pictures (of their usual endings) or, where it has none, for its sounds, sorted by name.
 * What else lies beside pictures is told and counted. HU_ERR_MISSING where a folder has neither,
 * HU_ERR_IO, HU_ERR_MEMORY. Whether files are present and sound is found out by who reads them.
 * Owner frees with hu_given_files_free, also on failure. */
hu_status hu_given_files_read(const hu_config *config, int first, hu_given_file_left *told,
                              hu_given_files *files);

/* Reads the pictures of several files and takes those out that cannot be read: damaged ones, files
 * of other kinds, and those that are missing. A file alone stays, and so do sounds.
 * HU_ERR_CORRUPT where none can be read; HU_ERR_MEMORY and others. */
hu_status hu_given_files_leave_out(hu_given_files *files, hu_given_file_left *told);
void hu_given_files_free(hu_given_files *files);

/* ---- Sounds of which a model hears or learns less than there is ---- */

/* Tells of each half of data that are to be written down how many sounds are cut off, and how many
 * are too short for what is said in them: no path of CTC leads there, and the loss leaves them out.
 * Nothing of other tasks. HU_ERR_MEMORY. Proof: tests/program/speech_test.py. */
hu_status hu_sounds_tell(const hu_trainer *trainer, const hu_dataset *dataset,
                         const hu_listener *listener);

/* ---- The data set that a configuration names ---- */

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

/* ---- What plan assumes where the user names no data ---- */

/* Shapes of the data that the model is made for, without numbers, with the side and the number of
 * classes that the user gave by data.size or data.crop and data.classes. data.size is the shorter
 * side and keeps the form of the model's pictures, data.crop, which wins, gives squares. A network
 * file takes what its recipe is made for, else the first small model of its task; extents of
 * pictures that it names win. Errors of reading the file. */
hu_status hu_assumed_dataset_read(hu_config *config, int64_t batch, hu_dataset *assumed);

/* What of it the user did not say, and by which keys that is said. */
enum { HU_ASSUMED_TEXT_BYTES = 256 };
const char *hu_assumed_dataset_text(hu_config *config, char text[HU_ASSUMED_TEXT_BYTES]);

/* The same shapes with numbers: drawn digits, for cnn-s what is in the middle of their green;
 * random tokens and sounds for models that read sequences. Owner frees with hu_dataset_close. */
hu_status hu_assumed_dataset_open(hu_config *config, const hu_data_limits *limits,
                                  hu_dataset **dataset);

#endif
