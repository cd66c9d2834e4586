/* config/unused_keys.h - keys that were given and that nothing reads. */
#ifndef HU_CONFIG_UNUSED_KEYS_H
#define HU_CONFIG_UNUSED_KEYS_H
#include "config/config.h"

/* ---- used ---- */

/* For verbs that read a few keys only: what they would ignore is an error. */

/* HU_ERR_ARGUMENT naming the first key that the user gave and that is not among used: full names,
 * "gemm.*" for all of a namespace, NULL at the end. reader stands in the message: "gemm". */
hu_status hu_keys_used(const hu_config *config, const char *reader, const char *const *used);

/* Whether the program may differ in this key and yet train the same: threads, quiet, ... */
bool hu_config_key_is_free(const char *key);

/* ---- idle ---- */

/* Keys that were typed and change nothing beside the values of other keys. Only
 * what was typed is told: a file serves many trainings, and what one of them leaves out is no
 * mistake.
 */

enum { HU_IDLE_BYTES = 256 };

/* Number `index` of the keys that the user typed and that have no effect in a training with the
 * resolved values of config, as a sentence: "optimizer.momentum=0.9 has no effect with
 * optimizer=adam". text: room for HU_IDLE_BYTES. false after the last. */
bool hu_unused_key(const hu_config *config, size_t index, char *text);

/* The same of all typed keys that belong to what a training computes, whatever their values:
 * "lr=0.5 has no effect: <reason>". The length of the training is left out. */
bool hu_unused_key_typed(const hu_config *config, size_t index, const char *reason, char *text);

#endif
