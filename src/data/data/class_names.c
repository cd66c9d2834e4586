#include "data/class_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_file.h"

hu_status hu_class_names_join(const char *const *names, size_t count, char **text) {
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < count; i++) bytes += strlen(names[i]) + 1;
    hu_status st = HU_NEW_ARRAY(text, bytes);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < count; at += strlen(names[i++]) + 1) strcpy(*text + at, names[i]);
    return HU_OK;
}

hu_status hu_class_names_copy(const char *names, int64_t count, char **text) {
    const char *end = names;
    for (int64_t c = 0; c < count; c++) end += strlen(end) + 1;
    hu_status st = HU_NEW_ARRAY(text, (size_t)(end - names));
    if (st == HU_OK) memcpy(*text, names, (size_t)(end - names));
    return st;
}

/* Lines become names, in place: text has a zero after its bytes. Returns how many there are before
 * an empty one, or the end. */
static int64_t split(char *text) {
    int64_t count = 0;
    char *to = text;
    for (const char *from = text; *from; count++) {
        size_t length = strcspn(from, "\r\n");
        if (length == 0) break;
        const char *next = from + length;
        next += strspn(next, "\r");
        if (*next == '\n') next++;
        memmove(to, from, length);
        to[length] = '\0';
        to += length + 1;
        from = next;
    }
    return count;
}

/* What JSON and terminals cannot show is refused where it stands: text [count names]. */
static hu_status check_names(const char *path, const char *text, int64_t count) {
    for (int64_t line = 1; line <= count; line++, text += strlen(text) + 1) {
        size_t sound = hu_text_utf8_bytes(text);
        if (text[sound])
            return hu_fail(HU_ERR_CORRUPT, "%s: line %lld, byte %zu: found 0x%02x, expected UTF-8",
                           path, (long long)line, sound + 1, (unsigned char)text[sound]);
    }
    return HU_OK;
}

hu_status hu_class_names_read_file(const char *path, int64_t classes, char **text) {
    enum { MOST = 1 << 26 };
    char *block = NULL;
    size_t bytes;
    hu_status st;
    HU_TRY(hu_text_read(path, MOST, &block, &bytes));
    int64_t count = split(block);
    if (count < classes)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found %lld names of classes, expected %lld", path,
                       (long long)count, (long long)classes));
    HU_TRY(check_names(path, block, classes));
    *text = block;
    block = NULL;
done:
    hu_free(block);
    return st;
}

hu_status hu_class_names_read(const char *directory, int64_t classes, char **text) {
    char *path;
    bool is_present = false;
    *text = NULL;
    hu_status st = hu_path_join(directory, HU_CLASS_NAMES_FILE, &path);
    if (st == HU_OK) st = hu_file_find(path, &is_present);
    if (st == HU_OK && is_present) st = hu_class_names_read_file(path, classes, text);
    hu_free(path);
    return st;
}

int64_t hu_class_names_find(const char *names, int64_t count, const char *name) {
    for (int64_t c = 0; c < count; c++, names += strlen(names) + 1)
        if (strcmp(names, name) == 0) return c;
    return -1;
}

hu_status hu_class_names_expect(const char *names, int64_t count, const char *where,
                                const char *name, int64_t *number) {
    char nearest[256];
    const char **list;
    *number = hu_class_names_find(names, count, name);
    if (*number >= 0) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&list, (size_t)count);
    if (st != HU_OK) return st;
    for (int64_t c = 0; c < count; c++, names += strlen(names) + 1) list[c] = names;
    hu_nearest(name, list, (size_t)count, nearest, sizeof nearest);
    hu_free(list);
    return hu_fail(
        HU_ERR_CORRUPT,
        "%s: found class '%.64s', which no training picture has; the nearest of %lld classes: %s",
        where, name, (long long)count, nearest);
}

/* ---- names that are found fast ---- */

typedef struct hu_class_place {
    const char *name;
    int64_t number;
} class_place;

/* Of equal names the first one is the class. */
static int compare_places(const void *a, const void *b) {
    const class_place *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : (x->number > y->number) - (x->number < y->number);
}

static int compare_name(const void *name, const void *place) {
    return strcmp(name, ((const class_place *)place)->name);
}

hu_status hu_class_index_create(const char *names, int64_t count, hu_class_index *index) {
    *index = (hu_class_index){.names = names, .count = count};
    hu_status st = HU_NEW_ARRAY(&index->place, (size_t)count);
    if (st != HU_OK) return st;
    for (int64_t c = 0; c < count; c++, names += strlen(names) + 1)
        index->place[c] = (class_place){names, c};
    qsort(index->place, (size_t)count, sizeof *index->place, compare_places);
    return HU_OK;
}

void hu_class_index_free(hu_class_index *index) {
    hu_free(index->place);
    *index = (hu_class_index){0};
}

hu_status hu_class_index_expect(const hu_class_index *index, const char *where, const char *name,
                                int64_t *number) {
    const class_place *found =
        bsearch(name, index->place, (size_t)index->count, sizeof *index->place, compare_name);
    if (!found) return hu_class_names_expect(index->names, index->count, where, name, number);
    while (found > index->place && strcmp(found[-1].name, name) == 0) found--;
    *number = found->number;
    return HU_OK;
}

/* Both have names: the numbers are to mean the same. */
hu_status hu_class_names_compare(const char *directory, const char *names, int64_t count) {
    char *text;
    hu_status st = hu_class_names_read(directory, count, &text);
    if (st != HU_OK || !text) return st;
    const char *found = text;
    for (int64_t c = 0; st == HU_OK && c < count; c++) {
        if (strcmp(found, names) != 0)
            st = hu_fail(HU_ERR_CORRUPT,
                         "%s/classes.txt: line %lld: found '%.64s', expected '%.64s' as the run "
                         "calls class %lld",
                         directory, (long long)c + 1, found, names, (long long)c);
        found += strlen(found) + 1;
        names += strlen(names) + 1;
    }
    hu_free(text);
    return st;
}

/* A line, in UTF-8. */
static bool are_lines(const char *names, int64_t count) {
    for (int64_t c = 0; c < count; c++, names += strlen(names) + 1)
        if (!names[0] || strpbrk(names, "\r\n") || names[hu_text_utf8_bytes(names)]) return false;
    return true;
}

hu_status hu_class_names_write(const char *path, const char *names, int64_t count) {
    hu_byte_writer out = {0};
    hu_status st = HU_OK;
    if (!are_lines(names, count)) return HU_OK;
    if (count > 0) HU_TRY(hu_text_write_mark(&out, names));
    for (int64_t c = 0; c < count; c++, names += strlen(names) + 1) {
        HU_TRY(hu_write_bytes(&out, names, strlen(names)));
        HU_TRY(hu_write_bytes(&out, "\n", 1));
    }
    st = hu_file_replace(path, out.data, out.size);
done:
    hu_writer_free(&out);
    return st;
}

hu_status hu_class_names_recall(const char *path, char **names, int64_t *count) {
    enum { MOST = 1 << 28 };
    size_t bytes;
    bool is_present;
    hu_status st;
    *names = NULL;
    *count = 0;
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) return HU_OK;
    HU_TRY(hu_text_read(path, MOST, names, &bytes));
    *count = split(*names);
    st = check_names(path, *names, *count);
    if (st == HU_OK && *count > 0) return HU_OK;
    hu_free(*names);
    *names = NULL;
done:
    return st;
}
