/* session/bits_result.h - what the result of a training says of a schedule of bits. */
#ifndef HU_SESSION_BITS_RESULT_H
#define HU_SESSION_BITS_RESULT_H
#include "show/json.h"
#include "train/trainer.h"

/* Puts "bits" into the object of a training with a schedule of bits, else nothing. */
void hu_bits_result_put(json_t *object, const hu_trainer *trainer);

enum { HU_BITS_TEXT_BYTES = 320 };

/* The same in few words, without the end of the line; "" where there is no schedule. Gives text. */
const char *hu_bits_result_text(const hu_trainer *trainer, char text[HU_BITS_TEXT_BYTES]);

#endif
