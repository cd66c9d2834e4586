/* base/clock.h - a clock that only goes forward. Thread-safe. */
#ifndef HU_BASE_CLOCK_H
#define HU_BASE_CLOCK_H

/* Seconds since some fixed moment. Never less than what any thread was told before, whatever the
 * system's clock does: where that goes back, time goes on from there. */
double hu_seconds_now(void);

#endif
