#include "data/image_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"
#include "data/class_names.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "media/image.h"

/* ---- Which pictures of a folder can be decoded ---- */

bool hu_image_is_unreadable(hu_status status) {
    return status == HU_ERR_CORRUPT || status == HU_ERR_KIND || status == HU_ERR_LIMIT;
}

typedef struct search {
    const char *folder;
    const hu_file_names *names;
    bool *is_whole; /* [names->count] */
} search;

static hu_status try_file(void *context, int64_t i) {
    enum { SIDE = 1 };
    search *s = context;
    char *path;
    hu_image_scratch room = {0};
    hu_status st = hu_path_join(s->folder, s->names->name[i], &path);
    if (st != HU_OK) return st;
    st = hu_image_read(path, SIDE, &room);
    s->is_whole[i] = st == HU_OK;
    hu_image_scratch_free(&room);
    hu_free(path);
    return hu_image_is_unreadable(st) ? HU_OK : st;
}

/* Reads all files of a folder, on all threads, JPEGs at an eighth of their size, and keeps the
 * names of those that can be decoded. *damaged: how many others there were; first: the path of the
 * first of them, NULL where there is none; owner frees. HU_ERR_IO and others where a file cannot be
 * opened; HU_ERR_INTERRUPTED, HU_ERR_MEMORY. */
static hu_status hu_image_names_keep_whole(const char *folder, hu_file_names *names,
                                           int64_t *damaged, char **first) {
    search s = {.folder = folder, .names = names};
    *damaged = 0;
    *first = NULL;
    hu_status st = HU_NEW_ARRAY(&s.is_whole, names->count);
    if (st != HU_OK) return st;
    HU_TRY(hu_data_each((int64_t)names->count, try_file, &s));
    for (size_t i = 0; i < names->count; i++) {
        if (s.is_whole[i]) continue;
        if (*damaged == 0) HU_TRY(hu_path_join(folder, names->name[i], first));
        ++*damaged;
    }
    hu_file_names_keep(names, s.is_whole);
done:
    hu_free(s.is_whole);
    return st;
}

/* ---- image list ---- */

void hu_image_list_free(hu_image_list *list) {
    for (int64_t c = 0; c < list->folders; c++) hu_free(list->folder[c]);
    hu_free(list->folder);
    hu_free(list->names);
    hu_free(list->name);
    hu_free(list->label);
    hu_free(list->first_damaged);
    *list = (hu_image_list){0};
}

hu_status hu_image_list_path(const hu_image_list *list, int64_t i, hu_scratch *room, char **path) {
    const char *folder = list->folder ? list->folder[list->label[i]] : "";
    const char *name = list->names + list->name[i];
    size_t bytes = strlen(folder) + strlen(name) + 2;
    hu_status st = hu_scratch_take(room, bytes, path);
    if (st == HU_OK) snprintf(*path, bytes, "%s%s%s", folder, list->folder ? "/" : "", name);
    return st;
}

hu_status hu_image_list_copy_path(const hu_image_list *list, int64_t i, char **path) {
    hu_scratch room = {0}; /* it becomes the path */
    *path = NULL;
    if (i >= list->count) return HU_OK;
    return hu_image_list_path(list, i, &room, path);
}

enum { NAMES_FIRST = 1 << 16 }; /* bytes */

/* The sounds of a folder. list: what is left out is counted there; NULL: nowhere. */
static hu_status list_sounds(const char *folder, hu_file_names *names, hu_image_list *list) {
    hu_status st = hu_file_names_of_sounds(folder, names);
    if (st == HU_OK && names->count == 0)
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no sound (" HU_SOUND_ENDINGS ")", folder);
    if (st == HU_OK && list) list->others += (int64_t)names->others;
    return st;
}

/* The pictures of a folder, of which choice may want those alone that can be decoded. */
static hu_status list_images(const char *folder, const hu_image_choice *choice,
                             hu_file_names *names, hu_image_list *list) {
    int64_t damaged = 0;
    char *first = NULL;
    hu_skipped_files left = {.kinds = 0};
    hu_status st = hu_file_names_of_images_counted(folder, names, &left);
    if (st == HU_OK && choice->skips_damaged)
        st = hu_image_names_keep_whole(folder, names, &damaged, &first);
    if (st == HU_OK && names->count == 0)
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no image (" HU_IMAGE_ENDINGS ")%s", folder,
                     damaged > 0 ? " that can be decoded" : "");
    if (st == HU_OK && list) {
        hu_skipped_files_add(&list->left, &left);
        list->damaged += damaged;
        if (!list->first_damaged) {
            list->first_damaged = first;
            first = NULL;
        }
    }
    hu_free(first);
    if (st != HU_OK) hu_file_names_free(names);
    return st;
}

static hu_status list_files(const char *folder, const hu_image_choice *choice, hu_file_names *names,
                            hu_image_list *list) {
    return choice->of_sounds ? list_sounds(folder, names, list)
                             : list_images(folder, choice, names, list);
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
    if (st == HU_OK) hu_file_names_keep(names, marks);
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
    if (st == HU_OK) hu_file_names_keep(files, marks);
    hu_free(marks);
    return st;
}

/* ---- test images that are drawn ---- */

typedef enum hold { ALL, WITHOUT_HELD, HELD_ALONE } hold;

/* Where there are no test images: which share of each class is drawn, and which side is wanted. */
typedef struct test_draw {
    hold side;
    double share;
} test_draw;

/* At least one image of each class goes to either side. */
static hu_status choose_held(const char *folder, const char *class_name, uint64_t seed,
                             const test_draw *held, hu_file_names *files) {
    const hu_random_key key = {seed, hu_stream_id("image test", class_name), 0};
    bool *marks = NULL;
    if (held->side == ALL) return HU_OK;
    if (files->count < 2)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found %zu image, expected at least 2: some are held out to test with",
                       folder, files->count);
    size_t most = files->count - 1, count = (size_t)(held->share * (double)files->count + 0.5);
    count = count < 1 ? 1 : count > most ? most : count;
    hu_status st = draw(&key, files->count, 0, count, &marks);
    if (st != HU_OK) return st;
    for (size_t i = 0; held->side == WITHOUT_HELD && i < files->count; i++) marks[i] = !marks[i];
    hu_file_names_keep(files, marks);
    hu_free(marks);
    return HU_OK;
}

/* held->share of choice->held, which may be a number of images. present: as of list_half. */
static hu_status find_share(const char *directory, const hu_file_names *classes,
                            const bool *present, const hu_image_choice *choice, double *share) {
    double total = 0.0, wanted = choice->held;
    *share = wanted;
    if (wanted < 1.0) return HU_OK;
    for (size_t c = 0; c < classes->count; c++) {
        hu_file_names files = {0};
        char *folder = NULL;
        if (present && !present[c]) continue;
        hu_status st = hu_path_join(directory, classes->name[c], &folder);
        if (st == HU_OK) st = list_files(folder, choice, &files, NULL);
        total += (double)files.count;
        hu_file_names_free(&files);
        hu_free(folder);
        if (st != HU_OK) return st;
    }
    *share = wanted / total;
    if (wanted < total) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found %g images, expected more than the %g to test with",
                   directory, total, wanted);
}

/* ---- one half ---- */

/* What is known of a half while its classes are listed one after the other. */
typedef struct half_files {
    const char *directory;
    hu_image_list *list;
    size_t bytes, capacity; /* of list->names */
    size_t *next;           /* [classes] where the next name of each class begins */
    int64_t *left;          /* [classes] files of each */
    int64_t total;
} half_files;

/* Puts names after those that are present. */
static hu_status append(half_files *half, const hu_file_names *names) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < names->count; i++) {
        size_t length = strlen(names->name[i]) + 1;
        if (half->bytes + length > UINT32_MAX)
            return hu_fail(HU_ERR_LIMIT, "%s: found more than 4 GiB of names of files",
                           half->directory);
        while (half->capacity - half->bytes < length) {
            void *block = half->list->names;
            size_t capacity = half->capacity ? 2 * half->capacity : NAMES_FIRST;
            HU_TRY(hu_realloc(&block, capacity));
            half->list->names = block;
            half->capacity = capacity;
        }
        memcpy(half->list->names + half->bytes, names->name[i], length);
        half->bytes += length;
    }
done:
    return st;
}

static hu_status list_class(half_files *half, int32_t c, const char *class_name,
                            const hu_image_choice *choice, const test_draw *held,
                            bool is_training) {
    hu_status st;
    hu_file_names names = {0};
    const char *folder = half->list->folder[c];
    HU_TRY(list_files(folder, choice, &names, half->list));
    HU_TRY(choose_held(folder, class_name, choice->seed, held, &names));
    if (is_training) HU_TRY(choose_part(folder, class_name, choice, &names));
    half->next[c] = half->bytes;
    half->left[c] = (int64_t)names.count;
    half->total += (int64_t)names.count;
    HU_TRY(append(half, &names));
    if (choice->told) choice->told(choice->context, half->directory, half->total);
done:
    hu_file_names_free(&names);
    return st;
}

/* Takes the names out of the classes in turns: up to `limit` of them. */
static hu_status take_turns(half_files *half, int64_t limit) {
    hu_status st;
    hu_image_list *list = half->list;
    int64_t wanted = hu_limited(half->total, limit);
    HU_TRY(HU_NEW_ARRAY(&list->name, (size_t)wanted));
    HU_TRY(HU_NEW_ARRAY(&list->label, (size_t)wanted));
    while (list->count < wanted)
        for (int64_t c = 0; c < list->folders && list->count < wanted; c++) {
            if (half->left[c] == 0) continue;
            half->left[c]--;
            list->name[list->count] = (uint32_t)half->next[c];
            list->label[list->count++] = (int32_t)c;
            half->next[c] += strlen(list->names + half->next[c]) + 1;
        }
done:
    return st;
}

/* present: which of the classes this half has; NULL: all, and the choice of a part holds. */
static hu_status list_half(const char *directory, const hu_file_names *classes, const bool *present,
                           int64_t limit, const hu_image_choice *choice, const test_draw *held,
                           hu_image_list *list) {
    hu_status st;
    half_files half = {.directory = directory, .list = list};
    HU_TRY(HU_NEW_ARRAY(&list->folder, classes->count));
    HU_TRY(HU_NEW_ARRAY(&half.next, classes->count));
    HU_TRY(HU_NEW_ARRAY(&half.left, classes->count));
    for (size_t c = 0; c < classes->count; c++) {
        HU_TRY(hu_path_join(directory, classes->name[c], &list->folder[c]));
        list->folders++;
        if (!present || present[c])
            HU_TRY(list_class(&half, (int32_t)c, classes->name[c], choice, held, !present));
    }
    if (half.total == 0) {
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no image of a class of the training half",
                     directory);
        goto done;
    }
    HU_TRY(take_turns(&half, limit));
    void *names = list->names;
    HU_TRY(hu_realloc(&names, half.bytes)); /* without the room for more */
    list->names = names;
done:
    hu_free(half.next);
    hu_free(half.left);
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

/* DIR/NAME; NULL: it is no folder. */
static hu_status find_half(const char *directory, const char *name, char **half) {
    bool is_present = false;
    hu_status st = hu_path_join(directory, name, half);
    if (st == HU_OK) st = hu_folder_find(*half, &is_present);
    if (st == HU_OK && is_present) return st;
    hu_free(*half);
    *half = NULL;
    return st;
}

/* DIR/train and DIR/val, or DIR/test, which is NULL where there is neither; without train and them
 * DIR itself is what there is to train on. */
static hu_status find_halves(const char *directory, char *halves[2]) {
    hu_status st;
    HU_TRY(find_half(directory, "val", &halves[1]));
    if (!halves[1]) HU_TRY(find_half(directory, "test", &halves[1]));
    HU_TRY(find_half(directory, "train", &halves[0]));
    if (!halves[0] && halves[1]) st = hu_path_join(directory, "train", &halves[0]);
    if (!halves[0] && !halves[1]) st = hu_strdup(directory, &halves[0]);
done:
    return st;
}

/* Both lists of the test half, whose folders the classes of a model are found by name. Where a
 * model was trained on some classes of many, the others are left out. draws: it is no test half of
 * its own, and some are drawn as for one. */
static hu_status list_known(const char *half, bool draws, const hu_data_limits *limits,
                            const hu_image_choice *choice, hu_image_list *train,
                            hu_image_list *test) {
    const hu_data_known *known = &choice->known;
    test_draw held = {draws ? HELD_ALONE : ALL, 0.0};
    hu_file_names folders = {0}, chosen = {0};
    bool *present = NULL;
    hu_status st;
    const char *name = known->class_names;
    HU_TRY(hu_file_names_of_folders(half, &folders));
    HU_TRY(HU_NEW_ARRAY(&chosen.name, (size_t)known->classes));
    HU_TRY(HU_NEW_ARRAY(&present, (size_t)known->classes));
    for (; chosen.count < (size_t)known->classes; name += strlen(name) + 1)
        chosen.name[chosen.count++] = (char *)name;
    for (size_t i = 0; i < folders.count; i++) {
        int64_t at = hu_class_names_find(known->class_names, known->classes, folders.name[i]);
        if (at < 0 && choice->classes > 0) continue;
        HU_TRY(
            hu_class_names_expect(known->class_names, known->classes, half, folders.name[i], &at));
        present[at] = true;
    }
    if (draws) HU_TRY(find_share(half, &chosen, present, choice, &held.share));
    HU_TRY(list_half(half, &chosen, present, limits->train, choice, &held, train));
    HU_TRY(list_half(half, &chosen, present, limits->test, choice, &held, test));
    test->is_held = draws;
done:
    hu_file_names_free(&folders);
    hu_file_names_free(&chosen);
    hu_free(present);
    return st;
}

/* Files that somebody names: their classes are what a model is asked for. */
hu_status hu_image_list_of_files(const char *const *path, size_t count, hu_image_list *list) {
    hu_status st;
    size_t bytes = 0, at = 0;
    *list = (hu_image_list){.count = (int64_t)count};
    for (size_t i = 0; i < count; i++) bytes += strlen(path[i]) + 1;
    if (bytes > UINT32_MAX) return hu_fail(HU_ERR_LIMIT, "found more than 4 GiB of names of files");
    HU_TRY(HU_NEW_ARRAY(&list->names, bytes));
    HU_TRY(HU_NEW_ARRAY(&list->name, count));
    HU_TRY(HU_NEW_ARRAY(&list->label, count));
    for (size_t i = 0; i < count; at += strlen(path[i++]) + 1) {
        list->name[i] = (uint32_t)at;
        list->label[i] = HU_UNLABELLED;
        strcpy(list->names + at, path[i]);
    }
done:
    return st;
}

/* Test images are drawn out of each class of the only half that there is. */
static hu_status list_held(const char *directory, const hu_file_names *chosen,
                           const hu_data_limits *limits, const hu_image_choice *choice,
                           hu_image_list *train, hu_image_list *test) {
    hu_status st;
    bool *all = NULL;
    test_draw held = {WITHOUT_HELD, 0.0};
    if (choice->held <= 0.0)
        return hu_fail(HU_ERR_MISSING,
                       "%s: found no folder of test images beside it or in it, expected val/CLASS "
                       "or test/CLASS beside train/CLASS, or data.validation=0.2 to draw some",
                       directory);
    HU_TRY(find_share(directory, chosen, NULL, choice, &held.share));
    HU_TRY(list_half(directory, chosen, NULL, limits->train, choice, &held, train));
    HU_TRY(HU_NEW_ARRAY(&all, chosen->count));
    for (size_t c = 0; c < chosen->count; c++) all[c] = true;
    held.side = HELD_ALONE;
    HU_TRY(list_half(directory, chosen, all, limits->test, choice, &held, test));
    test->is_held = true;
done:
    hu_free(all);
    return st;
}

/* Both halves of the chosen classes. */
static hu_status list_halves(char *const halves[2], const hu_file_names *folders,
                             const hu_file_names *chosen, const hu_data_limits *limits,
                             const hu_image_choice *choice, hu_image_list *train,
                             hu_image_list *test) {
    const test_draw all = {ALL, 0.0};
    bool *present = NULL;
    hu_status st;
    if (!halves[1]) return list_held(halves[0], chosen, limits, choice, train, test);
    HU_TRY(match_classes(halves[1], folders, chosen, &present));
    HU_TRY(list_half(halves[0], chosen, NULL, limits->train, choice, &all, train));
    HU_TRY(list_half(halves[1], chosen, present, limits->test, choice, &all, test));
done:
    hu_free(present);
    return st;
}

hu_status hu_image_list_make(const char *directory, const hu_data_limits *limits,
                             const hu_image_choice *choice, hu_image_list *train,
                             hu_image_list *test, char **class_names, int64_t *classes) {
    hu_status st;
    char *halves[2] = {NULL, NULL};
    hu_file_names all = {0}, chosen = {0};
    *train = *test = (hu_image_list){0};
    HU_TRY(find_halves(directory, halves));
    if (choice->known.only_test) {
        *classes = choice->known.classes;
        HU_TRY(hu_class_names_copy(choice->known.class_names, *classes, class_names));
        st = list_known(halves[1] ? halves[1] : halves[0], !halves[1] && choice->held > 0.0, limits,
                        choice, train, test);
        goto done;
    }
    HU_TRY(hu_file_names_of_folders(halves[0], &all));
    HU_TRY(hu_file_names_borrow(&all, &chosen));
    HU_TRY(choose_classes(halves[0], choice, &chosen));
    if (chosen.count < 2) {
        st = hu_fail(HU_ERR_CORRUPT,
                     "%s: found %zu folders of classes, expected at least 2, one for each class",
                     halves[0], chosen.count);
        goto done;
    }
    *classes = (int64_t)chosen.count;
    HU_TRY(hu_class_names_join((const char *const *)chosen.name, chosen.count, class_names));
    st = list_halves(halves, &all, &chosen, limits, choice, train, test);
done:
    hu_free(halves[0]);
    hu_free(halves[1]);
    hu_file_names_free(&all);
    hu_file_names_free(&chosen);
    return st;
}

/* ---- image held ---- */

/* The images of a folder without a test half that are drawn to test with, as
 * a text by which the same folder is known again. */

const char *hu_image_held_out_directory(const char *spec) {
    static const char *const kinds[] = {"folder:", "sounds:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(spec, kinds[i], strlen(kinds[i])) == 0) return spec + strlen(kinds[i]);
    return NULL;
}

hu_status hu_image_held_out_is_flat(const char *directory, bool *is_flat) {
    hu_status st = hu_folder_find(directory, is_flat);
    if (st == HU_OK && *is_flat)
        *is_flat = !hu_has_folder(directory, "val") && !hu_has_folder(directory, "test");
    return st;
}

/* The path without the directory, which may have moved; the size, as other folders may call their
 * files the same. */
static hu_status write_image(const hu_image_list *list, int64_t i, hu_scratch *room,
                             hu_byte_writer *out) {
    hu_status st;
    char *path, size[32];
    uint64_t bytes;
    const char *class_name = hu_path_name(list->folder[list->label[i]]);
    HU_TRY(hu_image_list_path(list, i, room, &path));
    HU_TRY(hu_file_size(path, &bytes));
    int digits = snprintf(size, sizeof size, "%" PRIu64 " ", bytes);
    HU_TRY(hu_write_bytes(out, size, (size_t)digits));
    HU_TRY(hu_write_bytes(out, class_name, strlen(class_name)));
    HU_TRY(hu_write_bytes(out, "/", 1));
    HU_TRY(hu_write_bytes(out, hu_path_name(path), strlen(hu_path_name(path))));
    HU_TRY(hu_write_bytes(out, "\n", 1));
done:
    return st;
}

hu_status hu_image_held_out_list(const char *directory, const hu_image_choice *choice,
                                 char **text) {
    hu_status st;
    static const hu_data_limits everything = {0, 0};
    hu_image_list train = {0}, test = {0};
    hu_scratch room = {0};
    hu_byte_writer out = {0};
    char *names = NULL;
    int64_t classes;
    bool is_flat;
    *text = NULL;
    HU_TRY(hu_image_held_out_is_flat(directory, &is_flat));
    if (!is_flat || choice->held <= 0.0) goto done;
    HU_TRY(hu_image_list_make(directory, &everything, choice, &train, &test, &names, &classes));
    for (int64_t i = 0; i < test.count; i++) HU_TRY(write_image(&test, i, &room, &out));
    HU_TRY(hu_write_bytes(&out, "", 1));
    *text = (char *)out.data;
    out.data = NULL;
done:
    hu_free(out.data);
    hu_scratch_free(&room);
    hu_free(names);
    hu_image_list_free(&train);
    hu_image_list_free(&test);
    return st;
}
