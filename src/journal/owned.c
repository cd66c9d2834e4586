#include "journal/owned.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "journal/names.h"

/* Names that end with a dash stand for all that begin so. */
static const char *const names[] = {
    "config.resolved.yaml", "env.json", "metrics.csv", "metrics.jsonl", "plan.resolved.yaml",
    "plan.json", "graph.json", "vocabulary.txt", "vocabulary.source.txt", "alphabet.txt",
    "classes.txt", "data.txt", "held-out.txt", "numerics.jsonl", "bits.jsonl", "histograms.jsonl",
    "progress.jsonl", "report.html", "result.json", "weights.safetensors", "pictures", "answers",
    "answers-", "confusion.json", "mistakes", "checkpoint", "best",
    /* of several runs */
    "common.yaml", "compare.json", "demo.json", "assign.json", "plan.yaml", "plans", "log.txt",
    "seconds"};

bool hu_owns_name(const char *name) {
    static const char board[] = "events.out.tfevents.";
    if (strncmp(name, board, sizeof board - 1) == 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        bool is_begin = names[i][length - 1] == '-';
        if (is_begin ? strncmp(name, names[i], length) == 0 : strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Whether the target of a link lies below the root, a resolved path. A target that is not there
 * would be made somewhere: outside, for all that can be told. */
static bool leaves(const char *root, const char *path) {
    char *target = realpath(path, NULL);
    size_t length = strlen(root);
    bool is_below = target && strncmp(target, root, length) == 0 &&
                    (length == 1 || target[length] == '/' || !target[length]);
    free(target);
    return !is_below;
}

static hu_status check_entry(const char *root, const char *path, bool *is_folder) {
    struct stat info;
    *is_folder = false;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? HU_OK : hu_io_fail(path, "cannot open", errno);
    if (S_ISLNK(info.st_mode) && leaves(root, path))
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found a link that leaves the folder, expected a file of the run", path);
    if (S_ISLNK(info.st_mode) && stat(path, &info) != 0)
        return hu_io_fail(path, "cannot open", errno);
    *is_folder = S_ISDIR(info.st_mode);
    if (*is_folder || S_ISREG(info.st_mode)) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "%s: found a %s, expected a file of the run", path,
                   hu_io_kind(info.st_mode));
}

/* Names of a directory in their order: its own, or all. */
static hu_status list(const char *directory, bool only_own, hu_names *found) {
    hu_status st = HU_OK;
    uint32_t number;
    DIR *open = opendir(directory);
    *found = (hu_names){0};
    if (!open && (errno == ENOENT || errno == ENOTDIR)) return HU_OK;
    if (!open) return hu_io_fail(directory, "cannot open", errno);
    for (struct dirent *entry; st == HU_OK && (entry = readdir(open));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (only_own && !hu_owns_name(name)) continue;
        st = hu_names_intern(found, name, HU_NAMES_NONE, &number);
    }
    closedir(open);
    if (st == HU_OK) hu_names_sort(found);
    return st;
}

/* depth: folders below that are looked into. */
static hu_status check_below(const char *root, const char *directory, int depth, bool only_own) {
    hu_names found;
    char *path = NULL;
    hu_status st = list(directory, only_own, &found);
    for (uint32_t i = 0; st == HU_OK && i < found.count; i++) {
        bool is_folder = false;
        st = hu_path_join(directory, found.name[i], &path);
        if (st == HU_OK) st = check_entry(root, path, &is_folder);
        if (st == HU_OK && is_folder && depth > 0) st = check_below(root, path, depth - 1, false);
        hu_free(path);
        path = NULL;
    }
    hu_names_free(&found);
    return st;
}

hu_status hu_owned_check(const char *directory) {
    char *root = realpath(directory, NULL);
    if (!root) return errno == ENOMEM ? hu_io_fail(directory, "cannot open", errno) : HU_OK;
    hu_status st = check_below(root, directory, 1, true);
    free(root);
    return st;
}
