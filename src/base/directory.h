/* base/directory.h - folders below one that is there. */
#ifndef HU_BASE_DIRECTORY_H
#define HU_BASE_DIRECTORY_H
#include <halfulp/status.h>

/* Makes a directory in a folder that is there, and syncs its name; one that exists is fine. Unlike
 * hu_directory_create it makes no parents: a folder that was moved or removed meanwhile must not
 * come to be a second time. HU_ERR_IO. */
hu_status hu_directory_add(const char *path);

#endif
