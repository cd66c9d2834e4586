/* store/container.h - the bytes of a checkpoint file: named sections after a checked table.
 * docs/reference/checkpoint-format.md describes every field. No file is touched here. */
#ifndef HU_STORE_CONTAINER_H
#define HU_STORE_CONTAINER_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/bytes.h"

enum {
    HU_CONTAINER_VERSION = 1,
    HU_CONTAINER_ALIGNMENT = 64,     /* bytes; every section starts at a multiple */
    HU_CONTAINER_NAME_BYTES = 64,    /* of a name, with at least one final zero */
    HU_CONTAINER_MAX_SECTIONS = 1024 /* keeps the search for equal names short */
};

/* A named run of bytes. Borrowed: the container copies neither name nor data. */
typedef struct hu_section {
    const char *name; /* 1..63 printable ASCII characters without a space, unique */
    const void *data; /* NULL where it is in rows */
    size_t bytes;
    /* For writing: bytes that lie apart. [row_count] of row_bytes each, bytes in all; NULL: data.
     */
    const void *const *row;
    size_t row_count, row_bytes;
} hu_section;

/* Appends the header of a file with these sections: everything before the first section, without
 * the padding. HU_ERR_ARGUMENT names a wrong name, count or step, HU_ERR_LIMIT a size that does not
 * fit. */
hu_status hu_container_write_header(int64_t step, const hu_section *sections, size_t count,
                                    hu_byte_writer *header);

/* Zero bytes between offset and the next section. */
size_t hu_container_padding(size_t offset);

/* A file that was read; its data must outlive it. */
typedef struct hu_container {
    int64_t step;
    hu_section *sections; /* [count]; names and data point into the parsed bytes */
    size_t count;
} hu_container;

/* Checks all of a file: magic, version, size, header checksum, names, exact tiling, padding and the
 * checksum of every section, before anything is handed out.
 *
 *   file       name for messages
 *   data       [bytes] contents, aligned to 64 bytes if sections are to be used as arrays in place
 *   container  owner frees with hu_container_free; {0} on failure
 *
 * HU_ERR_CORRUPT (file, offset, field, found, expected), HU_ERR_VERSION, HU_ERR_MEMORY. */
hu_status hu_container_parse(const char *file, const uint8_t *data, size_t bytes,
                             hu_container *container);
/* Whether a file of file_bytes bytes can be a container, by its first bytes alone (as many as there
 * are, HU_CONTAINER_HEAD_BYTES at most): magic, version, section count, and the size that it says
 * it has. The status and message of hu_container_parse where not. */
enum { HU_CONTAINER_HEAD_BYTES = 32 };
hu_status hu_container_check_prologue(const char *file, const uint8_t *head, size_t bytes,
                                      uint64_t file_bytes);

void hu_container_free(hu_container *container);

#endif
