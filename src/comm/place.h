/* comm/place.h - where this process stands among the others, for a signal handler: what it would
 * say if it was ended now.
 */
#ifndef HU_COMM_PLACE_H
#define HU_COMM_PLACE_H

/* Notes the place (printf form; 255 bytes kept). Thread-safe: the last one stays. */
void hu_comm_place_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The place noted last, "" before the first. May be called in a signal handler. Borrowed: whole as
 * long as not two more are noted meanwhile. */
const char *hu_comm_place(void);

#endif
