/* Files for the tests of the data room, made in a folder that goes away with the test. */
#ifndef TEST_DATA_FILES_H
#define TEST_DATA_FILES_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gzip_bytes.h"

static char folder[64];

static inline const char *at(const char *name) {
    static char path[4][256];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static inline void put(const char *name, const void *data, size_t bytes) {
    unlink(at(name)); /* truncating an existing file makes some file systems flush it on closing */
    FILE *file = fopen(at(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/halfulp-data-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

#endif
