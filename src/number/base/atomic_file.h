/* base/atomic_file.h - a file that is made piece by piece beside the one at a path, and takes its
 * place when it is whole. */
#ifndef HU_BASE_ATOMIC_FILE_H
#define HU_BASE_ATOMIC_FILE_H
#include <stddef.h>

#include <halfulp/status.h>

typedef struct hu_atomic_file hu_atomic_file;

/* Begins the new contents of the file at path (hu_file_replace says what becomes of links, devices
 * and permissions). Owner ends it with hu_atomic_file_commit or hu_atomic_file_drop; *made NULL on
 * failure. HU_ERR_MISSING: there is no such directory; HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_atomic_file_open(const char *path, hu_atomic_file **made);

/* The next bytes. HU_ERR_IO; it can only be dropped then. */
hu_status hu_atomic_file_write(hu_atomic_file *made, const void *data, size_t bytes);

/* Syncs what was written, renames it over the old file and syncs the directory; frees. HU_ERR_IO:
 * the old file stands (the new one, if only the directory could not be synced). */
hu_status hu_atomic_file_commit(hu_atomic_file *made);

/* Removes the files of a directory that processes which are gone, or this one, were making when
 * they ended. What cannot be removed stays, and harms nobody. */
void hu_atomic_file_sweep(const char *directory);

/* Removes what was written, leaves the old file and frees; NULL is allowed. */
void hu_atomic_file_drop(hu_atomic_file *made);

#endif
