/* show/colour.h - colours of lines on a terminal that wants them.
 *
 * NO_COLOR (not empty) means never; else CLICOLOR_FORCE (not empty, not 0) means always, also in
 * files; else it is a terminal whose TERM is set and not "dumb". Sources: no-color.org,
 * bixense.com/clicolors.
 */
#ifndef HU_SHOW_COLOUR_H
#define HU_SHOW_COLOUR_H
#include <stdbool.h>

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
 * for ever. Proof: tests/unit/show_duration_test.c. */
const char *hu_colour_begin(hu_colour colour, bool wanted);
const char *hu_colour_end(bool wanted);

#endif
