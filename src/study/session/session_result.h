/* session/session_result.h - the result of a training: metrics, bits, wire, and checks of the run.
 */
#ifndef HU_SESSION_SESSION_RESULT_H
#define HU_SESSION_SESSION_RESULT_H
#include "config/config.h"
#include "render/json.h"
#include "train/trainer.h"

/* ---- What the result of a training says of a schedule of bits ---- */

/* Puts "bits" into the object of a training with a schedule of bits, else nothing. */
void hu_bits_result_put(json_t *object, const hu_trainer *trainer);

enum { HU_BITS_TEXT_BYTES = 320 };

/* The same in few words, without the end of the line; "" where there is no schedule. Gives text. */
const char *hu_bits_result_text(const hu_trainer *trainer, char text[HU_BITS_TEXT_BYTES]);

/* ---- What the result of a training says of its workers ---- */

enum { HU_WIRE_TEXT_BYTES = 320 };

/* The same in one line, without its end; "" where nothing travels. Gives text. */
const char *hu_wire_result_text(const hu_config *config, const hu_trainer *trainer,
                                char text[HU_WIRE_TEXT_BYTES]);

#endif
