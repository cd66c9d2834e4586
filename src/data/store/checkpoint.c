/* store/checkpoint.c - checkpoint files in a directory: names, saving, removal of old ones, search
 * for the newest sound one. The bytes of a file are container.c's. */
#include "store/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "store/container.h"

enum { FILE_NAME_BYTES = 40, PROBE_BLOCK_BYTES = 1 << 20 };

static const char probe_name[] = "probe.hulp";

/* Twelve digits, so that names sort like steps in listings. */
static void file_name(int64_t step, char name[FILE_NAME_BYTES]) {
    snprintf(name, FILE_NAME_BYTES, "step-%012lld.hulp", (long long)step);
}

/* Whether text begins with the name of a checkpoint file; rest is what follows it. */
static bool parse_file_name(const char *text, int64_t *step, const char **rest) {
    char expected[FILE_NAME_BYTES];
    if (strncmp(text, "step-", 5) != 0 || text[5] < '0' || text[5] > '9') return false;
    errno = 0;
    *step = strtoll(text + 5, NULL, 10);
    if (errno != 0) return false;
    file_name(*step, expected);
    *rest = text + strlen(expected);
    return strncmp(text, expected, strlen(expected)) == 0;
}

/* Steps of the checkpoint files of a directory, latest first. */
typedef struct listing {
    int64_t *steps;
    size_t count, capacity;
} listing;

static hu_status append(listing *list, int64_t step) {
    hu_status st = hu_grow(&list->steps, list->count, &list->capacity, sizeof step);
    if (st == HU_OK) list->steps[list->count++] = step;
    return st;
}

static int compare_descending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Owner frees list->steps, also on failure. */
static hu_status list_directory(const char *directory, listing *list) {
    hu_status st = HU_OK;
    int64_t step;
    const char *rest;
    *list = (listing){0};
    DIR *stream = opendir(directory);
    if (!stream)
        return hu_fail(errno == ENOENT ? HU_ERR_MISSING : HU_ERR_IO, "%s: cannot list: %s",
                       directory, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(stream));)
        if (parse_file_name(entry->d_name, &step, &rest) && *rest == '\0')
            HU_TRY(append(list, step));
    if (list->count > 1) qsort(list->steps, list->count, sizeof *list->steps, compare_descending);
done:
    closedir(stream);
    return st;
}

/* A failure is left alone: the next save tries again. */
static void remove_file(const char *directory, const char *name) {
    char *path;
    if (hu_path_join(directory, name, &path) != HU_OK) return;
    (void)unlink(path);
    hu_free(path);
}

/* What saves and trials left that were interrupted. */
static void remove_left_overs(const char *directory) {
    hu_atomic_file_sweep(directory);
    remove_file(directory, probe_name);
}

/* Keeps the `keep` newest files up to step `newest`. Files of later steps stay. */
static void remove_old(const char *directory, int64_t newest, int keep) {
    listing list;
    char name[FILE_NAME_BYTES];
    int kept = 0;
    if (keep < HU_CHECKPOINT_KEEP) keep = HU_CHECKPOINT_KEEP;
    if (list_directory(directory, &list) == HU_OK)
        for (size_t i = 0; i < list.count; i++) {
            if (list.steps[i] > newest || kept++ < keep) continue;
            file_name(list.steps[i], name);
            remove_file(directory, name);
        }
    hu_free(list.steps);
}

struct hu_checkpoint_writer {
    int64_t step;
    hu_section *sections; /* names and addresses of rows are owned, data is borrowed */
    size_t count, capacity;
};

hu_status hu_checkpoint_begin(int64_t step, hu_checkpoint_writer **writer) {
    hu_status st = HU_NEW(writer);
    if (st == HU_OK) (*writer)->step = step;
    return st;
}

/* Takes over section->row, also on failure. */
static hu_status add_section(hu_checkpoint_writer *writer, const char *name, hu_section section) {
    hu_status st = HU_OK;
    char *copy = NULL;
    HU_TRY(hu_strdup(name, &copy));
    HU_TRY(hu_grow(&writer->sections, writer->count, &writer->capacity, sizeof *writer->sections));
    section.name = copy;
    writer->sections[writer->count++] = section;
    return HU_OK;
done:
    hu_free(copy);
    hu_free((void *)(uintptr_t)section.row);
    return st;
}

hu_status hu_checkpoint_add(hu_checkpoint_writer *writer, const char *name, const void *data,
                            size_t bytes) {
    return add_section(writer, name, (hu_section){.data = data, .bytes = bytes});
}

hu_status hu_checkpoint_add_rows(hu_checkpoint_writer *writer, const char *name,
                                 const void *const *row, size_t count, size_t bytes) {
    const void **copy;
    size_t all;
    if (!hu_mul_size(count, bytes, &all))
        return hu_fail(HU_ERR_LIMIT, "checkpoint section '%s': found %zu rows of %zu bytes", name,
                       count, bytes);
    hu_status st = HU_NEW_ARRAY(&copy, count);
    if (st != HU_OK) return st;
    memcpy(copy, row, count * sizeof *copy);
    return add_section(
        writer, name,
        (hu_section){.bytes = all, .row = copy, .row_count = count, .row_bytes = bytes});
}

void hu_checkpoint_writer_free(hu_checkpoint_writer *writer) {
    if (!writer) return;
    for (size_t i = 0; i < writer->count; i++) {
        hu_free((void *)(uintptr_t)writer->sections[i].name);
        hu_free((void *)(uintptr_t)writer->sections[i].row);
    }
    hu_free(writer->sections);
    hu_free(writer);
}

/* A header holds less than an entry's name and three alignments for each section. */
size_t hu_checkpoint_bytes(const hu_checkpoint_writer *writer) {
    size_t bytes = HU_CONTAINER_ALIGNMENT;
    for (size_t i = 0; i < writer->count; i++)
        bytes += writer->sections[i].bytes + HU_CONTAINER_NAME_BYTES + 3 * HU_CONTAINER_ALIGNMENT;
    return bytes;
}

/* Pieces of the file beside the header. */
static size_t part_count(const hu_checkpoint_writer *writer) {
    size_t count = 0;
    for (size_t i = 0; i < writer->count; i++)
        count += 1 + (writer->sections[i].row ? writer->sections[i].row_count : 1);
    return count;
}

/* The file as pieces: the header, then padding and data of every section. */
static hu_status write_file(const hu_checkpoint_writer *writer, const char *path) {
    static const uint8_t zeros[HU_CONTAINER_ALIGNMENT];
    hu_status st = HU_OK;
    hu_byte_writer header = {0};
    hu_file_part *parts = NULL;
    size_t count = 0, offset;
    HU_TRY(hu_container_write_header(writer->step, writer->sections, writer->count, &header));
    HU_TRY(HU_NEW_ARRAY(&parts, part_count(writer) + 1));
    parts[count++] = (hu_file_part){header.data, header.size};
    offset = header.size;
    for (size_t i = 0; i < writer->count; i++) {
        const hu_section *section = &writer->sections[i];
        size_t padding = hu_container_padding(offset);
        parts[count++] = (hu_file_part){zeros, padding};
        if (!section->row) parts[count++] = (hu_file_part){section->data, section->bytes};
        for (size_t r = 0; section->row && r < section->row_count; r++)
            parts[count++] = (hu_file_part){section->row[r], section->row_bytes};
        offset += padding + section->bytes; /* fits: the header said so */
    }
    HU_TRY(hu_file_replace_parts(path, parts, count));
done:
    hu_free(parts);
    hu_writer_free(&header);
    return st;
}

hu_status hu_checkpoint_finish(const hu_checkpoint_writer *writer, const char *directory,
                               int keep) {
    hu_status st = HU_OK;
    char name[FILE_NAME_BYTES];
    char *path = NULL;
    HU_TRY(hu_directory_add(directory));
    file_name(writer->step, name);
    HU_TRY(hu_path_join(directory, name, &path));
    /* The new file is durable before an old one goes. */
    HU_TRY(write_file(writer, path));
    remove_old(directory, writer->step, keep);
done:
    hu_free(path);
    return st;
}

/* One file under two names; what has the second one already is let go. */
static hu_status link_file(const char *path, const char *other) {
    (void)unlink(other);
    if (link(path, other) == 0) return HU_OK;
    return hu_fail(HU_ERR_IO, "%s: cannot be %s too: %s", path, other, strerror(errno));
}

hu_status hu_checkpoint_share(const char *directory, int64_t step, const char *other) {
    hu_status st = HU_OK;
    char name[FILE_NAME_BYTES];
    char *path = NULL, *second = NULL;
    HU_TRY(hu_directory_add(other));
    file_name(step, name);
    HU_TRY(hu_path_join(directory, name, &path));
    HU_TRY(hu_path_join(other, name, &second));
    HU_TRY(link_file(path, second));
    HU_TRY(hu_directory_sync_of(second));
    remove_old(other, step, HU_CHECKPOINT_KEEP);
done:
    hu_free(path);
    hu_free(second);
    return st;
}

void hu_checkpoint_drop_after(const char *directory, int64_t step) {
    listing list = {0};
    char name[FILE_NAME_BYTES];
    if (list_directory(directory, &list) == HU_OK)
        for (size_t i = 0; i < list.count && list.steps[i] > step; i++) {
            file_name(list.steps[i], name);
            remove_file(directory, name);
        }
    hu_free(list.steps);
}

/* Writes and removes as many bytes as a checkpoint has: a full disk shows before the training. */
hu_status hu_checkpoint_probe(const char *directory, size_t bytes) {
    hu_status st = HU_OK;
    char *path = NULL;
    void *zeros = NULL;
    hu_file_part *parts = NULL;
    size_t count = bytes / PROBE_BLOCK_BYTES + 1;
    HU_TRY(hu_directory_add(directory));
    remove_left_overs(directory);
    HU_TRY(hu_path_join(directory, probe_name, &path));
    HU_TRY(hu_alloc(PROBE_BLOCK_BYTES, &zeros));
    HU_TRY(HU_NEW_ARRAY(&parts, count));
    for (size_t i = 0; i < count; i++) parts[i] = (hu_file_part){zeros, PROBE_BLOCK_BYTES};
    parts[count - 1].bytes = bytes % PROBE_BLOCK_BYTES;
    st = hu_file_replace_parts(path, parts, count);
    /* Also where only the directory could not be synced: then it stands. */
    int removed = unlink(path);
    if (st == HU_OK && removed != 0)
        st = hu_fail(HU_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
done:
    if (st != HU_OK) st = hu_fail_within(st, "checkpoint directory %s: trial save: ", directory);
    hu_free(parts);
    hu_free(zeros);
    hu_free(path);
    return st;
}

/* An opened file; sections point into data, which is aligned to 64 bytes. */
struct hu_checkpoint {
    char *path;
    uint8_t *data;
    size_t bytes;
    hu_container container;
};

/* The whole file as it stands on the disk, never more than the size that it has now. */
static hu_status read_file(const char *path, uint8_t **data, size_t *bytes) {
    struct stat info;
    *data = NULL;
    if (stat(path, &info) != 0)
        return hu_fail(errno == ENOENT || errno == ENOTDIR ? HU_ERR_MISSING : HU_ERR_IO,
                       "%s: cannot open: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return hu_fail(HU_ERR_IO, "%s: found no regular file, expected a checkpoint", path);
    uint8_t head[HU_CONTAINER_HEAD_BYTES];
    size_t got;
    uint64_t file_bytes;
    hu_status st = hu_file_head(path, head, sizeof head, &got, &file_bytes);
    if (st == HU_OK) st = hu_container_check_prologue(path, head, got, file_bytes);
    return st == HU_OK ? hu_file_read_plain(path, (size_t)info.st_size, data, bytes) : st;
}

hu_status hu_checkpoint_open(const char *path, hu_checkpoint **checkpoint) {
    hu_status st = HU_OK;
    hu_checkpoint *opened = NULL;
    *checkpoint = NULL;
    HU_TRY(HU_NEW(&opened));
    HU_TRY(hu_strdup(path, &opened->path));
    HU_TRY(read_file(path, &opened->data, &opened->bytes));
    HU_TRY(hu_container_parse(opened->path, opened->data, opened->bytes, &opened->container));
    *checkpoint = opened;
    opened = NULL;
done:
    hu_checkpoint_free(opened);
    return st;
}

void hu_checkpoint_free(hu_checkpoint *checkpoint) {
    if (!checkpoint) return;
    hu_container_free(&checkpoint->container);
    hu_free(checkpoint->data);
    hu_free(checkpoint->path);
    hu_free(checkpoint);
}

/* Opens the file of a step, and checks that it is of that step. */
static hu_status open_step(const char *directory, int64_t step, hu_checkpoint **checkpoint) {
    hu_status st = HU_OK;
    char name[FILE_NAME_BYTES];
    char *path = NULL;
    file_name(step, name);
    HU_TRY(hu_path_join(directory, name, &path));
    HU_TRY(hu_checkpoint_open(path, checkpoint));
    int64_t found = (*checkpoint)->container.step;
    if (found == step) goto done;
    hu_checkpoint_free(*checkpoint);
    *checkpoint = NULL;
    st = hu_fail(HU_ERR_CORRUPT, "%s: offset 24: step: found %lld, expected %lld (its name)", path,
                 (long long)found, (long long)step);
done:
    hu_free(path);
    return st;
}

/* Opens the first sound file; the failure of the others goes to warning, that of the newest to
 * newest_status and newest_error. */
static hu_status open_first_sound(const char *directory, const listing *list,
                                  hu_checkpoint **checkpoint, char *warning, size_t capacity) {
    char newest_error[1024] = "";
    hu_status newest = HU_ERR_MISSING;
    for (size_t i = 0; i < list->count; i++) {
        hu_status st = open_step(directory, list->steps[i], checkpoint);
        if (st == HU_OK || st == HU_ERR_MEMORY) return st;
        hu_note_add(warning, capacity, "\n", "%s", hu_last_error());
        /* Only the newest file's failure is the caller's if no file is sound. */
        if (i > 0) continue;
        newest = st;
        snprintf(newest_error, sizeof newest_error, "%s", hu_last_error());
    }
    if (list->count == 0)
        return hu_fail(HU_ERR_MISSING, "%s: found no checkpoint, expected a file step-*.hulp",
                       directory);
    if (list->count == 1)
        return hu_fail(newest, "%s (and there is no older checkpoint)", newest_error);
    return hu_fail(newest, "%s (and no older checkpoint of %zu is sound)", newest_error,
                   list->count - 1);
}

/* Takes the steps after `last` out of a list. */
static void keep_before(listing *list, int64_t last) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->steps[i] <= last) list->steps[kept++] = list->steps[i];
    list->count = kept;
}

hu_status hu_checkpoint_open_newest(const char *directory, hu_checkpoint **checkpoint,
                                    char *warning, size_t capacity) {
    return hu_checkpoint_open_before(directory, INT64_MAX, checkpoint, warning, capacity);
}

hu_status hu_checkpoint_open_before(const char *directory, int64_t last, hu_checkpoint **checkpoint,
                                    char *warning, size_t capacity) {
    hu_status st = HU_OK;
    listing list = {0};
    *checkpoint = NULL;
    if (capacity > 0) warning[0] = '\0';
    HU_TRY(list_directory(directory, &list));
    remove_left_overs(directory);
    keep_before(&list, last);
    HU_TRY(open_first_sound(directory, &list, checkpoint, warning, capacity));
    if (capacity > 0 && warning[0]) {
        hu_note_add(warning, capacity, "\n", "using the checkpoint of step %lld instead",
                    (long long)(*checkpoint)->container.step);
    }
done:
    hu_free(list.steps);
    return st;
}

const char *hu_checkpoint_path(const hu_checkpoint *checkpoint) {
    return checkpoint->path;
}

int64_t hu_checkpoint_step(const hu_checkpoint *checkpoint) {
    return checkpoint->container.step;
}

size_t hu_checkpoint_sections(const hu_checkpoint *checkpoint) {
    return checkpoint->container.count;
}

const char *hu_checkpoint_section_name(const hu_checkpoint *checkpoint, size_t index) {
    return checkpoint->container.sections[index].name;
}

hu_status hu_checkpoint_section(const hu_checkpoint *checkpoint, const char *name,
                                const void **data, size_t *bytes) {
    const hu_container *container = &checkpoint->container;
    *data = NULL;
    *bytes = 0;
    for (size_t i = 0; i < container->count; i++) {
        if (strcmp(container->sections[i].name, name) != 0) continue;
        *data = container->sections[i].data;
        *bytes = container->sections[i].bytes;
        return HU_OK;
    }
    return hu_fail(HU_ERR_MISSING, "%s: section '%s': found none, expected one", checkpoint->path,
                   name);
}
