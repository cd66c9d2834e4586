/* base/escape.h - foreign text made harmless for a terminal. */
#ifndef HU_BASE_ESCAPE_H
#define HU_BASE_ESCAPE_H
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the control character at the beginning of a text, 0 where another one stands: below
 * 0x20, 0x7f, U+0080..U+009F as UTF-8 has them (ECMA-48, 5.3), of which terminals take sequences as
 * commands; and those that turn the direction of text (U+202E and its kin), by which a name is
 * shown as another one. The final zero counts as one: ask for none behind it. */
size_t hu_control_bytes(const char *text);

/* Copies text with every control character as "\xHH" in hexadecimal digits, one for each byte.
 * Everything else stays, backslashes too, so that an escaped text is its own escape. A
 * text that does not fit is cut at a whole character or escape. to: capacity bytes, not text.
 * Thread-safe. Proof: tests/unit/base_escape_test.c. */
void hu_escape(const char *text, char *to, size_t capacity);

/* Whether text holds a character that hu_escape would write otherwise. */
bool hu_has_controls(const char *text);

#endif
