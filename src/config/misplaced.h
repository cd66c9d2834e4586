/* config/misplaced.h - what a word of the command line that nothing takes was meant to be. */
#ifndef HU_CONFIG_MISPLACED_H
#define HU_CONFIG_MISPLACED_H
#include "config/config.h"

/* HU_ERR_ARGUMENT for word `index`, which is no flag, no subject and no pair: a key without its
 * value or with blanks around '=', a part of the value before it that a shell cut off, a value
 * without its key (request->key_of), or nothing that is known. */
hu_status hu_config_refuse_word(const hu_config_request *request, int index);

/* HU_ERR_ARGUMENT where word `index`, a pair, is "lr=" and the word behind it would be its value,
 * or where it is the rest of the value before it ("act=e4m3 sr,grad=e5m2"); else HU_OK. */
hu_status hu_config_check_blanks(const hu_config_request *request, int index);

#endif
