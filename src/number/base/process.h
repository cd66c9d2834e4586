/* base/process.h - the process: its command line, its memory and age, the clock. Thread-safe. */
#ifndef HU_BASE_PROCESS_H
#define HU_BASE_PROCESS_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* ---- How this process was called ---- */

/* The words of this process with blanks between them, each as hu_shell_words writes it. Where the
 * system does not tell, *text is NULL and that is HU_OK. Owner frees with hu_free. HU_ERR_MEMORY.
 * Thread-safe. */
hu_status hu_command_line(char **text);

/* Words as a shell takes them again, in UTF-8, with blanks between them: words of letters, digits
 * and "%+,-./:=@_" as they are, others in single quotes, those with control characters or without
 * UTF-8 as $'...' with "\xHH" (Bash manual, 3.1.2.4).
 *
 *   words, bytes  the words, a zero after each; bytes counts these, too
 *   text          owner frees with hu_free; NULL on failure
 *
 * HU_ERR_MEMORY. Thread-safe. Proof: tests/unit/base_command_line_test.c. */
hu_status hu_shell_words(const char *words, size_t bytes, char **text);

/* The most memory that the process has had since it became this program, in bytes. */
int64_t hu_peak_rss_bytes(void);

/* Bytes of the process's own pages (not those of files) in memory, counted one by one, which takes
 * a millisecond; 0 if the system does not tell. */
int64_t hu_resident_bytes(void);

/* Seconds since the system made this process, in steps of its clock tick (usually 0.01). The time
 * before main is in it: loading, and the program's restart of itself. NaN if /proc cannot be read.
 */
double hu_seconds_since_start(void);

/* ---- A clock that only goes forward. Thread-safe ---- */

/* Seconds since some fixed moment. Never less than what any thread was told before, whatever the
 * system's clock does: where that goes back, time goes on from there. */
double hu_seconds_now(void);

#endif
