#include "base/directory.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/io.h"

hu_status hu_directory_add(const char *path) {
    struct stat info;
    if (mkdir(path, 0777) == 0) return hu_directory_sync_of(path);
    int error = errno;
    if (error == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return HU_OK;
    hu_io_fail(path, "cannot make the directory", error);
    return HU_ERR_IO;
}
