#include "data/file_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

enum { FIRST_BYTES = 4096 };

/* Behind the others; their addresses are taken when the block has grown for the last time. */
static hu_status add(hu_file_names *names, const char *name) {
    size_t length = strlen(name) + 1;
    if (names->capacity - names->bytes < length) {
        void *block = names->text;
        size_t wanted = names->capacity ? 2 * names->capacity : FIRST_BYTES;
        hu_status st = hu_realloc(&block, wanted > length ? wanted : FIRST_BYTES + length);
        if (st != HU_OK) return st;
        names->text = block;
        names->capacity = wanted > length ? wanted : FIRST_BYTES + length;
    }
    memcpy(names->text + names->bytes, name, length);
    names->bytes += length;
    names->count++;
    return HU_OK;
}

static hu_status find_names(hu_file_names *names) {
    char *next = names->text;
    hu_status st = HU_NEW_ARRAY(&names->name, names->count);
    for (size_t i = 0; st == HU_OK && i < names->count; i++) {
        names->name[i] = next;
        next += strlen(next) + 1;
    }
    return st;
}

hu_status hu_file_names_borrow(const hu_file_names *from, hu_file_names *to) {
    *to = (hu_file_names){0};
    hu_status st = HU_NEW_ARRAY(&to->name, from->count);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < from->count; i++) to->name[i] = from->name[i];
    to->count = from->count;
    return HU_OK;
}

void hu_file_names_free(hu_file_names *names) {
    hu_free(names->name);
    hu_free(names->text);
    *names = (hu_file_names){0};
}

/* Byte by byte, whatever the locale: the order of classes must not depend on the machine. */
static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* bsearch must not be called with a NULL array, which an empty list has. */
long hu_file_names_find(const hu_file_names *names, const char *name) {
    if (names->count == 0) return -1;
    char **found = bsearch(&name, names->name, names->count, sizeof *names->name, compare);
    return found ? (long)(found - names->name) : -1;
}

hu_status hu_folder_find(const char *path, bool *is_folder) {
    struct stat facts;
    hu_status st = hu_file_find(path, is_folder);
    if (st != HU_OK || !*is_folder) return st;
    if (stat(path, &facts) != 0) return hu_io_fail(path, "cannot open", errno);
    *is_folder = S_ISDIR(facts.st_mode);
    return HU_OK;
}

bool hu_is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool hu_has_folder(const char *directory, const char *name) {
    char *path;
    if (hu_path_join(directory, name, &path) != HU_OK) return false;
    bool has = hu_is_folder(path);
    hu_free(path);
    return has;
}

hu_status hu_test_half(const char *directory, const char **half) {
    char *path;
    bool has_test = false;
    hu_status st = hu_path_join(directory, "test", &path);
    if (st == HU_OK) st = hu_folder_find(path, &has_test);
    *half = has_test ? "test" : "val";
    hu_free(path);
    return st;
}

static const char *const of_images[] = {".jpg", ".jpeg", ".jfif", ".png", ".webp", NULL};
static const char *const of_sounds[] = {".wav", ".flac", ".ogg", ".oga", ".opus",
                                        ".aif", ".aiff", ".mp3", NULL};

/* A name that is nothing but an ending is no file of that kind. */
static bool ends_in(const char *name, const char *const *endings) {
    size_t length = strlen(name);
    for (; *endings; endings++) {
        size_t ending = strlen(*endings);
        if (length > ending && strcasecmp(name + length - ending, *endings) == 0) return true;
    }
    return false;
}

bool hu_is_image_name(const char *name) {
    return ends_in(name, of_images);
}

bool hu_is_sound_name(const char *name) {
    return ends_in(name, of_sounds);
}

void hu_file_names_keep(hu_file_names *names, const bool *marks) {
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++)
        if (marks[i]) names->name[kept++] = names->name[i];
    names->count = kept;
}

/* Which entries of a directory are listed, and who counts the others. */
typedef enum entries { FOLDERS, FILES, OTHER_FILES } entries;
typedef struct choice {
    entries wanted;
    const char *const *endings; /* of files; NULL at the end */
    hu_left_files *left;        /* NULL: nobody */
} choice;

/* Most file systems say in the directory what an entry is; of links, and of others, it is asked. */
static hu_status ask_kind(const char *directory, const struct dirent *entry, bool *is_folder) {
    char *path;
    *is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_DIR || entry->d_type == DT_REG) return HU_OK;
    hu_status st = hu_path_join(directory, entry->d_name, &path);
    if (st == HU_OK) st = hu_folder_find(path, is_folder);
    hu_free(path);
    return st;
}

/* Names that begin with a dot are hidden: ".", "..", and what desktops leave behind. */
static hu_status add_entry(const char *directory, const struct dirent *entry, const choice *c,
                           hu_file_names *names) {
    bool is_folder, is_such = c->endings && ends_in(entry->d_name, c->endings);
    if (entry->d_name[0] == '.') return HU_OK;
    hu_status st = ask_kind(directory, entry, &is_folder);
    if (st != HU_OK) return st;
    bool is_wanted = c->wanted == FOLDERS ? is_folder
                     : c->wanted == FILES ? is_such && !is_folder
                                          : !is_such && !is_folder;
    names->others += c->wanted == FILES && !is_such && !is_folder;
    if (!is_wanted && c->left) hu_left_files_count(c->left, entry->d_name, is_folder);
    return is_wanted ? add(names, entry->d_name) : HU_OK;
}

/* readdir tells the end and an error alike by NULL; only errno, cleared before, tells them apart.
 */
static hu_status list(const char *directory, const choice *c, hu_file_names *names) {
    hu_status st = HU_OK;
    *names = (hu_file_names){0};
    DIR *stream = opendir(directory);
    if (!stream)
        return hu_fail(errno == ENOENT || errno == ENOTDIR ? HU_ERR_MISSING : HU_ERR_IO, "%s: %s",
                       directory, strerror(errno));
    for (const struct dirent *entry; st == HU_OK && (errno = 0, entry = readdir(stream));)
        st = add_entry(directory, entry, c, names);
    if (st == HU_OK && errno != 0) st = hu_fail(HU_ERR_IO, "%s: %s", directory, strerror(errno));
    closedir(stream);
    if (st == HU_OK) st = find_names(names);
    if (st != HU_OK)
        hu_file_names_free(names);
    else if (names->count > 0)
        qsort(names->name, names->count, sizeof *names->name, compare);
    return st;
}

hu_status hu_file_names_of_folders(const char *directory, hu_file_names *names) {
    return list(directory, &(choice){.wanted = FOLDERS}, names);
}

hu_status hu_file_names_of_images(const char *directory, hu_file_names *names) {
    return list(directory, &(choice){.wanted = FILES, .endings = of_images}, names);
}

hu_status hu_file_names_of_images_counted(const char *directory, hu_file_names *names,
                                          hu_left_files *left) {
    return list(directory, &(choice){.wanted = FILES, .endings = of_images, .left = left}, names);
}

hu_status hu_file_names_of_others(const char *directory, hu_file_names *names) {
    return list(directory, &(choice){.wanted = OTHER_FILES, .endings = of_images}, names);
}

hu_status hu_file_names_of_sounds(const char *directory, hu_file_names *names) {
    return list(directory, &(choice){.wanted = FILES, .endings = of_sounds}, names);
}
