/* render/terminal.h - the terminal: colours, durations, fixed decimals. */
#ifndef HU_SHOW_TERMINAL_H
#define HU_SHOW_TERMINAL_H
#include <stdbool.h>

/* ---- colour ---- */

/* Colours of lines on a terminal that wants them.
 *
 * NO_COLOR (not empty) means never; else CLICOLOR_FORCE (not empty, not 0) means always, also in
 * files; else it is a terminal whose TERM is set and not "dumb". Sources: no-color.org,
 * bixense.com/clicolors.
 */

typedef enum hu_colour {
    HU_COLOUR_FAINT,
    HU_COLOUR_BAD,
    HU_COLOUR_WARNING,
    HU_COLOUR_BEST /* bold */
} hu_colour;

/* Whether the descriptor is a terminal on which lines can take the place of others: any whose TERM
 * is not "dumb". */
bool hu_terminal_is_live(int descriptor);

/* Whether what is written to the descriptor is to be coloured. Reads the environment anew. */
bool hu_colour_wanted(int descriptor);

/* The characters that begin a colour, and that end any; "" where none is wanted. Borrowed: valid
 * forever. Proof: tests/unit/render_duration_test.c. */
const char *hu_colour_begin(hu_colour colour, bool wanted);
const char *hu_colour_end(bool wanted);

/* ---- Spans of time for people ---- */

enum { HU_DURATION_BYTES = 32 };

/* "0:36", "12:05", "3:04:00", "2 d 3:04:00": whole seconds, rounded down; "-" for what is no span
 * (NaN, infinite or below 0). text: room for HU_DURATION_BYTES. Gives text.
 * Proof: tests/unit/render_duration_test.c. */
const char *hu_duration_text(double seconds, char *text);

/* ---- Numbers with a fixed count of decimals that may be unknown ---- */

enum { HU_FIXED_BYTES = 352 }; /* of any number with up to 16 decimals */

/* "0.4312"; "-" for NaN, which stands for what is not known: a mean over nothing, a rate without a
 * time; "inf". decimals: up to 16. Gives text. */
const char *hu_fixed_text(double value, int decimals, char text[HU_FIXED_BYTES]);

#endif
