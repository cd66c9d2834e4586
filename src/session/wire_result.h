/* session/wire_result.h - what the result of a training says of its workers. */
#ifndef HU_SESSION_WIRE_RESULT_H
#define HU_SESSION_WIRE_RESULT_H
#include "config/config.h"
#include "show/json.h"
#include "train/trainer.h"

/* Puts "comm" into the object of a training whose gradients travel, else nothing. */
void hu_wire_result_put(json_t *object, const hu_config *config, const hu_trainer *trainer);

enum { HU_WIRE_TEXT_BYTES = 320 };

/* The same in one line, without its end; "" where nothing travels. Gives text. */
const char *hu_wire_result_text(const hu_config *config, const hu_trainer *trainer,
                                char text[HU_WIRE_TEXT_BYTES]);

#endif
