/* base/clock.h - a clock that only goes forward. Thread-safe. */
#ifndef HU_BASE_CLOCK_H
#define HU_BASE_CLOCK_H

/* Seconds since some fixed moment. */
double hu_seconds_now(void);

#endif
