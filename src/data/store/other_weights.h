/* store/other_weights.h - files of weights of other programs, known by their first bytes. */
#ifndef HU_STORE_OTHER_WEIGHTS_H
#define HU_STORE_OTHER_WEIGHTS_H
#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include <halfulp/status.h>

/* HU_ERR_ARGUMENT says what the file is, and the lines of Python that make a safetensors file of
 * it; HU_OK: it is none that is known.
 *   head  [bytes] its first ones */
hu_status hu_other_weights(const char *path, const uint8_t *head, size_t bytes);

#endif
