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

hu_status hu_file_names_add(hu_file_names *names, const char *name) {
    hu_status st = HU_OK;
    void *block = names->name;
    HU_TRY(hu_grow(&block, names->count, &names->capacity, sizeof *names->name));
    names->name = block;
    HU_TRY(hu_strdup(name, &names->name[names->count]));
    names->count++;
done:
    return st;
}

void hu_file_names_free(hu_file_names *names) {
    for (size_t i = 0; i < names->count; i++) hu_free(names->name[i]);
    hu_free(names->name);
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

bool hu_is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* A name that is nothing but an ending is no image. */
static bool is_image(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0) return true;
    }
    return false;
}

/* Names that begin with a dot are hidden: ".", "..", and what desktops leave behind. */
static hu_status add_entry(const char *directory, const char *name, bool wants_folders,
                           hu_file_names *names) {
    char *path;
    if (name[0] == '.' || (!wants_folders && !is_image(name))) return HU_OK;
    hu_status st = hu_path_join(directory, name, &path);
    if (st == HU_OK && hu_is_folder(path) == wants_folders) st = hu_file_names_add(names, name);
    hu_free(path);
    return st;
}

/* readdir tells the end and an error alike by NULL; only errno, cleared before, tells them
 * apart. */
static hu_status list(const char *directory, bool wants_folders, hu_file_names *names) {
    hu_status st = HU_OK;
    *names = (hu_file_names){0};
    DIR *stream = opendir(directory);
    if (!stream)
        return hu_fail(errno == ENOENT || errno == ENOTDIR ? HU_ERR_MISSING : HU_ERR_IO, "%s: %s",
                       directory, strerror(errno));
    for (const struct dirent *entry; st == HU_OK && (errno = 0, entry = readdir(stream));)
        st = add_entry(directory, entry->d_name, wants_folders, names);
    if (st == HU_OK && errno != 0) st = hu_fail(HU_ERR_IO, "%s: %s", directory, strerror(errno));
    closedir(stream);
    if (st != HU_OK)
        hu_file_names_free(names);
    else if (names->count > 0)
        qsort(names->name, names->count, sizeof *names->name, compare);
    return st;
}

hu_status hu_file_names_of_folders(const char *directory, hu_file_names *names) {
    return list(directory, true, names);
}

hu_status hu_file_names_of_images(const char *directory, hu_file_names *names) {
    return list(directory, false, names);
}
