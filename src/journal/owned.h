/* journal/owned.h - which names in a folder are a run's own, and whether they lie in it. */
#ifndef HU_JOURNAL_OWNED_H
#define HU_JOURNAL_OWNED_H
#include <stdbool.h>

#include <halfulp/status.h>

/* Whether a name directly below the folder of a run, a comparison, a demo or a search is a file or
 * folder that these write (docs/run-folder.md). */
bool hu_owns_name(const char *name);

/* What a folder that somebody has sent may hold in place of its own files: links that leave the
 * folder, through which others would be read or written, and pipes, sockets and devices, which are
 * waited for. HU_ERR_CORRUPT names the first of them, by name, among its own names and in its own
 * folders; HU_ERR_IO, HU_ERR_MEMORY. The folder itself may be a link, and need not be there.
 * Proof: tests/program/hostile_test.py. */
hu_status hu_owned_check(const char *directory);

#endif
