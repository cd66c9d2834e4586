/* base/process.h - what the system knows of this process: its memory and its age. Thread-safe. */
#ifndef HU_BASE_PROCESS_H
#define HU_BASE_PROCESS_H
#include <stdint.h>

/* The most memory that the process has had since it became this program, in bytes. */
int64_t hu_peak_rss_bytes(void);

/* Bytes of the process's own pages (not those of files) in memory, counted one by one, which takes
 * a millisecond; 0 if the system does not tell. */
int64_t hu_resident_bytes(void);

/* Seconds since the system made this process, in steps of its clock tick (usually 0.01). The time
 * before main is in it: loading, and the program's restart of itself. NaN if /proc cannot be read.
 */
double hu_seconds_since_start(void);

#endif
