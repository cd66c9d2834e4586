#include "data/image_list.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/file_names.h"
#include "data/kind.h"

/* The files of one class, in order, as paths. */
typedef hu_file_names class_files;

void hu_image_list_free(hu_image_list *list) {
    for (int64_t i = 0; i < list->count; i++) hu_free(list->path[i]);
    hu_free(list->path);
    hu_free(list->label);
    *list = (hu_image_list){0};
}

/* ---- which classes, which part ---- */

/* Marks `count` of the numbers below `of`: those that a random permutation has at first .. . */
static hu_status draw(const hu_random_key *key, size_t of, size_t first, size_t count,
                      bool **marks) {
    hu_status st;
    void *order = NULL, *block = NULL;
    HU_TRY(hu_alloc_array(of, sizeof(uint32_t), &order));
    HU_TRY(hu_alloc_array(of, sizeof(bool), &block));
    hu_random_permutation(key, (uint32_t)of, order);
    *marks = block;
    for (size_t i = first; i < first + count; i++) (*marks)[((uint32_t *)order)[i]] = true;
done:
    hu_free(order);
    return st;
}

/* Keeps the marked names. */
static void keep(hu_file_names *names, const bool *marks) {
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (marks[i])
            names->name[kept++] = names->name[i];
        else
            hu_free(names->name[i]);
    }
    names->count = kept;
}

/* The same seed draws the same classes of the same folder, whatever else is chosen. */
static hu_status choose_classes(const char *directory, const hu_image_choice *choice,
                                hu_file_names *names) {
    const hu_random_key key = {choice->seed, hu_stream_id("image classes", ""), 0};
    bool *marks = NULL;
    if (choice->classes == 0) return HU_OK;
    if ((uint64_t)choice->classes > names->count)
        return hu_fail(HU_ERR_ARGUMENT, "%s: %lld classes wanted, found %zu", directory,
                       (long long)choice->classes, names->count);
    hu_status st = draw(&key, names->count, 0, (size_t)choice->classes, &marks);
    if (st == HU_OK) keep(names, marks);
    hu_free(marks);
    return st;
}

/* Parts differ by at most one image, and together they are the class. */
static hu_status choose_part(const char *folder, const char *class_name,
                             const hu_image_choice *choice, hu_file_names *files) {
    const hu_random_key key = {choice->seed, hu_stream_id("image part", class_name), 0};
    bool *marks = NULL;
    if (choice->parts == 0) return HU_OK;
    size_t parts = (size_t)choice->parts, part = (size_t)choice->part - 1;
    size_t first = part * files->count / parts, end = (part + 1) * files->count / parts;
    if (first == end)
        return hu_fail(HU_ERR_ARGUMENT, "%s: part %zu of %zu of %zu images has none", folder,
                       part + 1, parts, files->count);
    hu_status st = draw(&key, files->count, first, end - first, &marks);
    if (st == HU_OK) keep(files, marks);
    hu_free(marks);
    return st;
}

/* ---- one half ---- */

static hu_status list_class(const char *half, const char *class_name, const hu_image_choice *choice,
                            class_files *files) {
    hu_status st;
    char *folder = NULL, *path;
    hu_file_names names = {0};
    HU_TRY(hu_path_join(half, class_name, &folder));
    HU_TRY(hu_file_names_of_images(folder, &names));
    if (names.count == 0) {
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no image (.jpg, .jpeg, .png)", folder);
        goto done;
    }
    if (choice) HU_TRY(choose_part(folder, class_name, choice, &names));
    for (size_t i = 0; i < names.count; i++) {
        HU_TRY(hu_path_join(folder, names.name[i], &path));
        st = hu_file_names_add(files, path);
        hu_free(path);
        if (st != HU_OK) goto done;
    }
done:
    hu_file_names_free(&names);
    hu_free(folder);
    return st;
}

/* Takes the paths out of the classes in turns: up to `limit` of `total`. */
static hu_status take_turns(class_files *files, size_t classes, int64_t total, int64_t limit,
                            hu_image_list *list) {
    hu_status st;
    void *paths, *labels;
    int64_t wanted = hu_limited(total, limit);
    HU_TRY(hu_alloc_array((size_t)wanted, sizeof *list->path, &paths));
    list->path = paths;
    HU_TRY(hu_alloc_array((size_t)wanted, sizeof *list->label, &labels));
    list->label = labels;
    for (size_t turn = 0; list->count < wanted; turn++)
        for (size_t c = 0; c < classes && list->count < wanted; c++) {
            if (turn >= files[c].count) continue;
            list->path[list->count] = files[c].name[turn];
            list->label[list->count++] = (int32_t)c;
            files[c].name[turn] = NULL;
        }
done:
    return st;
}

/* choice: of parts, NULL: all. present: which of the classes this half has; NULL: all. */
static hu_status list_half(const char *half, const hu_file_names *classes, const bool *present,
                           int64_t limit, const hu_image_choice *choice, hu_image_list *list) {
    hu_status st;
    void *block = NULL;
    int64_t total = 0;
    HU_TRY(hu_alloc_array(classes->count, sizeof(class_files), &block));
    class_files *files = block;
    for (size_t c = 0; c < classes->count; c++) {
        if (!present || present[c]) HU_TRY(list_class(half, classes->name[c], choice, &files[c]));
        total += (int64_t)files[c].count;
    }
    if (total == 0) {
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no image of a class of the training half", half);
        goto done;
    }
    HU_TRY(take_turns(files, classes->count, total, limit, list));
done:
    for (size_t c = 0; block && c < classes->count; c++)
        hu_file_names_free(&((class_files *)block)[c]);
    hu_free(block);
    return st;
}

/* Which of the chosen classes the test half has; one that the training half (`all`) lacks is an
 * error. */
static hu_status match_classes(const char *half, const hu_file_names *all,
                               const hu_file_names *chosen, bool **present) {
    hu_status st;
    hu_file_names names = {0};
    void *block;
    HU_TRY(hu_file_names_of_folders(half, &names));
    HU_TRY(hu_alloc_array(chosen->count, sizeof **present, &block));
    *present = block;
    for (size_t i = 0; i < names.count; i++) {
        long at = hu_file_names_find(chosen, names.name[i]);
        if (at >= 0) (*present)[at] = true;
        if (hu_file_names_find(all, names.name[i]) >= 0) continue;
        st = hu_fail(HU_ERR_CORRUPT, "%s/%s: found a class that the training half does not have",
                     half, names.name[i]);
        goto done;
    }
done:
    hu_file_names_free(&names);
    return st;
}

/* Names are appended; on failure the owner frees what is there. */
static hu_status copy_names(const hu_file_names *from, hu_file_names *to) {
    hu_status st = HU_OK;
    for (size_t i = 0; st == HU_OK && i < from->count; i++)
        st = hu_file_names_add(to, from->name[i]);
    return st;
}

/* DIR/val, or DIR/test. */
static hu_status find_test(const char *directory, char **half) {
    hu_status st = hu_path_join(directory, "val", half);
    if (st != HU_OK || hu_is_folder(*half)) return st;
    hu_free(*half);
    return hu_path_join(directory, "test", half);
}

hu_status hu_image_list_make(const char *directory, const hu_data_limits *limits,
                             const hu_image_choice *choice, hu_image_list *train,
                             hu_image_list *test, int64_t *classes) {
    hu_status st;
    char *halves[2] = {NULL, NULL};
    hu_file_names all = {0}, chosen = {0};
    bool *present = NULL;
    *train = *test = (hu_image_list){0};
    HU_TRY(hu_path_join(directory, "train", &halves[0]));
    HU_TRY(find_test(directory, &halves[1]));
    HU_TRY(hu_file_names_of_folders(halves[0], &all));
    HU_TRY(copy_names(&all, &chosen));
    HU_TRY(choose_classes(halves[0], choice, &chosen));
    if (chosen.count < 2) {
        st = hu_fail(HU_ERR_CORRUPT, "%s: found %zu folders of classes, expected at least 2",
                     halves[0], chosen.count);
        goto done;
    }
    *classes = (int64_t)chosen.count;
    HU_TRY(match_classes(halves[1], &all, &chosen, &present));
    HU_TRY(list_half(halves[0], &chosen, NULL, limits->train, choice, train));
    HU_TRY(list_half(halves[1], &chosen, present, limits->test, NULL, test));
done:
    hu_free(halves[0]);
    hu_free(halves[1]);
    hu_file_names_free(&all);
    hu_file_names_free(&chosen);
    hu_free(present);
    return st;
}
