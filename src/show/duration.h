/* show/duration.h - spans of time for people. */
#ifndef HU_SHOW_DURATION_H
#define HU_SHOW_DURATION_H

enum { HU_DURATION_BYTES = 32 };

/* "0:36", "12:05", "3:04:00", "2 d 3:04:00": whole seconds, rounded down; "-" for what is no span
 * (NaN, infinite or below 0). text: room for HU_DURATION_BYTES. Gives text.
 * Proof: tests/unit/show_duration_test.c. */
const char *hu_duration_text(double seconds, char *text);

#endif
