/* session/given_files.c - a folder is looked into once, not below: what lies in folders of classes
 * is a data set, of which somebody says what is true. */
#include "session/given_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/directory.h"
#include "data/image.h"
#include "data/image_list.h"

/* folder NULL: the name is a path. */
static hu_status add(hu_given_files *files, const char *folder, const char *name) {
    hu_status st = hu_grow(&files->path, files->count, &files->capacity, sizeof *files->path);
    if (st != HU_OK) return st;
    char **path = &files->path[files->count];
    st = folder ? hu_path_join(folder, name, path) : hu_strdup(name, path);
    files->count += st == HU_OK;
    return st;
}

static void leave_out(hu_given_files *files, bool is_meant, hu_given_file_left *told) {
    files->left_out++;
    files->unread += is_meant;
    told(hu_last_error());
}

/* A file beside pictures that does not end as they do: one that is a picture all the same is read,
 * whatever its name; one of another kind may be meant too. */
static hu_status add_other(hu_given_files *files, const char *folder, const char *name,
                           hu_given_file_left *told) {
    char *path;
    hu_status st = hu_path_join(folder, name, &path);
    if (st != HU_OK) return st;
    st = hu_image_check_head(path);
    if (st == HU_OK) st = add(files, folder, name);
    bool is_foreign = st == HU_ERR_KIND;
    if (st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT)
        st = hu_fail(HU_ERR_KIND, "%s: no picture (JPEG, PNG or WebP)", path);
    if (st == HU_ERR_IO || st == HU_ERR_MISSING || st == HU_ERR_KIND) {
        leave_out(files, is_foreign, told);
        st = HU_OK;
    }
    hu_free(path);
    return st;
}

/* What lies beside pictures in a folder. */
static hu_status add_others(hu_given_files *files, const char *folder, hu_given_file_left *told) {
    hu_file_names others = {0}, folders = {0};
    hu_status st;
    HU_TRY(hu_file_names_of_others(folder, &others));
    HU_TRY(hu_file_names_of_folders(folder, &folders));
    for (size_t i = 0; i < others.count; i++)
        HU_TRY(add_other(files, folder, others.name[i], told));
    for (size_t i = 0; i < folders.count; i++) {
        hu_fail(HU_ERR_KIND, "%s/%s: a folder in the folder; named by itself it is looked into",
                folder, folders.name[i]);
        leave_out(files, false, told);
    }
done:
    hu_file_names_free(&others);
    hu_file_names_free(&folders);
    return st;
}

/* Pictures, or sounds. */
static hu_status add_folder(hu_given_files *files, const char *folder, hu_given_file_left *told) {
    hu_file_names names = {0};
    size_t before = files->count;
    hu_status st;
    HU_TRY(hu_file_names_of_images(folder, &names));
    bool has_pictures = names.count > 0;
    if (!has_pictures) {
        hu_file_names_free(&names);
        HU_TRY(hu_file_names_of_sounds(folder, &names));
    }
    for (size_t i = 0; i < names.count; i++) HU_TRY(add(files, folder, names.name[i]));
    if (has_pictures || names.count == 0) HU_TRY(add_others(files, folder, told));
    if (files->count == before)
        HU_TRY(hu_fail(HU_ERR_MISSING,
                       "%s: found neither a picture (%s) nor a sound (%s), expected some in the "
                       "folder itself; data=folder:DIR judges pictures in folders of classes",
                       folder, HU_IMAGE_ENDINGS, HU_SOUND_ENDINGS));
done:
    hu_file_names_free(&names);
    return st;
}

hu_status hu_given_files_read(const hu_config *config, int first, hu_given_file_left *told,
                              hu_given_files *files) {
    hu_status st = HU_OK;
    for (int i = first; st == HU_OK && i < hu_config_subjects(config); i++) {
        const char *given = hu_config_subject(config, i);
        st = hu_is_folder(given) ? add_folder(files, given, told) : add(files, NULL, given);
    }
    return st;
}

/* JPEGs are decoded at an eighth of their size, all of their data is read. */
static hu_status try_picture(const char *path, hu_image_room *room, bool *is_readable) {
    enum { SIDE = 1 };
    *is_readable = true;
    if (hu_is_sound_name(path)) return HU_OK;
    hu_status st = hu_image_read(path, SIDE, room);
    hu_image_room_trim(room);
    *is_readable = st == HU_OK;
    return hu_image_is_unreadable(st) || st == HU_ERR_MISSING || st == HU_ERR_IO ? HU_OK : st;
}

hu_status hu_given_files_leave_out(hu_given_files *files, hu_given_file_left *told) {
    hu_status st = HU_OK;
    hu_image_room room = {0};
    size_t kept = 0, count = files->count;
    if (count + files->left_out < 2) return HU_OK;
    for (size_t i = 0; i < count; i++) {
        bool is_readable = true;
        if (st == HU_OK) st = try_picture(files->path[i], &room, &is_readable);
        if (is_readable || st != HU_OK) {
            files->path[kept++] = files->path[i];
        } else {
            leave_out(files, true, told);
            hu_free(files->path[i]);
        }
    }
    files->count = kept; /* of what is left the owner is the same, also after a failure */
    if (st == HU_OK && kept == 0 && count > 0)
        st = hu_fail(HU_ERR_CORRUPT, "%zu files, found none that can be read", count);
    hu_image_room_free(&room);
    return st;
}

void hu_given_files_free(hu_given_files *files) {
    for (size_t i = 0; i < files->count; i++) hu_free(files->path[i]);
    hu_free(files->path);
    *files = (hu_given_files){0};
}
