#include "journal/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

bool hu_run_folder_is_there(const hu_run_folder *folder) {
    struct stat here, held;
    if (!folder->path || folder->lock < 0 || fstat(folder->lock, &held) != 0) return true;
    return stat(folder->path, &here) == 0 && here.st_dev == held.st_dev &&
           here.st_ino == held.st_ino;
}

/* The state into the folder by its descriptor: proc(5), /proc/PID/fd. */
static hu_status save_there(const hu_run_folder *folder, hu_trainer *trainer, char *by_descriptor) {
    char *checkpoints;
    hu_status st = hu_path_join(by_descriptor, "checkpoint", &checkpoints);
    if (st != HU_OK) return st;
    hu_run_folder held = *folder; /* all but its path is the same */
    held.path = by_descriptor;
    held.checkpoints = checkpoints;
    st = hu_run_folder_save(&held, trainer);
    hu_free(checkpoints);
    return st;
}

hu_status hu_run_folder_find_again(hu_run_folder *folder, hu_trainer *trainer) {
    char by_descriptor[64], now[4096];
    struct stat held;
    if (hu_run_folder_is_there(folder)) return HU_OK;
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", folder->lock);
    ssize_t length = readlink(by_descriptor, now, sizeof now - 1);
    now[length > 0 ? length : 0] = '\0';
    if (length <= 0 || fstat(folder->lock, &held) != 0 || held.st_nlink == 0)
        return hu_fail(HU_ERR_MISSING,
                       "%s was removed while the training ran: nothing of it can be saved there",
                       folder->path);
    if (!trainer)
        return hu_fail(
            HU_ERR_MISSING,
            "%s was moved to %s while the training ran; `halfulp resume %s` goes on from "
            "its newest checkpoint",
            folder->path, now, now);
    hu_status st = save_there(folder, trainer, by_descriptor);
    if (st != HU_OK)
        return hu_fail_within(st, "%s was moved to %s while the training ran: ", folder->path, now);
    return hu_fail(HU_ERR_MISSING,
                   "%s was moved to %s while the training ran: its state after %lld steps is saved "
                   "there, `halfulp resume %s` goes on from it",
                   folder->path, now, (long long)hu_trainer_progress(trainer)->step, now);
}

hu_status hu_run_folder_check_writable(const char *directory) {
    static const char *const names[] = {"",
                                        "checkpoint",
                                        "config.resolved.yaml",
                                        "metrics.csv",
                                        "metrics.jsonl",
                                        "numerics.jsonl",
                                        "progress.jsonl"};
    hu_status st = HU_OK;
    char *path = NULL, word[1024];
    for (size_t i = 0; i < sizeof names / sizeof *names && st == HU_OK; i++) {
        st = names[i][0] ? hu_path_join(directory, names[i], &path) : hu_strdup(directory, &path);
        if (st == HU_OK && access(path, W_OK) != 0 && errno != ENOENT)
            st = hu_fail(HU_ERR_IO,
                         "%s: cannot write: %s; a copy can go on: cp -r %s NEW, halfulp resume NEW",
                         path, strerror(errno),
                         hu_quote_shell(directory, word, sizeof word) ? word : "RUN");
        hu_free(path);
        path = NULL;
    }
    return st;
}
