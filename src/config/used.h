/* config/used.h - for verbs that read a few keys only: what they would ignore is an error. */
#ifndef HU_CONFIG_USED_H
#define HU_CONFIG_USED_H
#include "config/config.h"

/* HU_ERR_ARGUMENT naming the first key that the user gave and that is not among used: full names,
 * "gemm.*" for all of a namespace, NULL at the end. reader stands in the message: "gemm". */
hu_status hu_keys_used(const hu_config *config, const char *reader, const char *const *used);

/* Whether the program may differ in this key and yet train the same: threads, quiet, ... */
bool hu_config_key_is_free(const char *key);

#endif
