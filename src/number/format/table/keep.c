/* format/table/keep.c - copies of tables of files, each under the hash of its path; its first line
 * says the path. */
#include "format/table/keep.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "format/table/register.h"

static const char prefix[] = "table:", head[] = "# of ";

enum { COPY_MOST = (16 << 20) + 4096 };

/* ---- keeping ---- */

/* The copy of one table. */
static hu_status keep(const char *folder, const hu_code_table *t) {
    const char *path = t->name + strlen(prefix);
    char name[32], *file = NULL, *text = NULL;
    size_t bytes = strlen(head) + strlen(path) + 1 + t->source_bytes;
    hu_status st = HU_OK;
    snprintf(name, sizeof name, "%016llx.txt", (unsigned long long)XXH64(path, strlen(path), 0));
    HU_TRY(hu_path_join(folder, name, &file));
    HU_TRY(hu_new_array(bytes + 1, 1, &text));
    int length = snprintf(text, bytes + 1, "%s%s\n", head, path);
    memcpy(text + length, t->source, t->source_bytes);
    st = hu_file_replace(file, text, (size_t)length + t->source_bytes);
done:
    hu_free(file);
    hu_free(text);
    return st;
}

hu_status hu_code_tables_keep(const char *directory) {
    char *folder = NULL;
    const hu_code_table *t;
    hu_status st = HU_OK;
    for (uint32_t i = 1; (t = hu_code_register_at(i)) != NULL; i++) {
        if (!t->source) continue;
        if (!folder) HU_TRY(hu_path_join(directory, HU_CODE_TABLES_FOLDER, &folder));
        HU_TRY(hu_directory_create(folder));
        HU_TRY(keep(folder, t));
    }
done:
    hu_free(folder);
    return st;
}

/* ---- recalling ---- */

/* Contents by path; a later one of a path counts. */
typedef struct recalled {
    char *path, *text;
    size_t bytes;
} recalled;

static struct {
    recalled *item;
    size_t count, capacity;
} list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes path and text over. */
static hu_status remember(recalled item) {
    hu_status st = HU_OK;
    pthread_mutex_lock(&lock);
    size_t at = 0;
    while (at < list.count && strcmp(list.item[at].path, item.path) != 0) at++;
    if (at == list.count) st = hu_grow(&list.item, list.count, &list.capacity, sizeof *list.item);
    if (st == HU_OK && at < list.count) {
        hu_free(list.item[at].path);
        hu_free(list.item[at].text);
    }
    if (st == HU_OK) list.item[at] = item;
    hu_memory_keep(list.item);
    if (st == HU_OK) hu_memory_keep(item.path), hu_memory_keep(item.text);
    if (st == HU_OK && at == list.count) list.count++;
    pthread_mutex_unlock(&lock);
    return st;
}

/* One copy; of a file that does not say whose it is item->path stays NULL. Owner frees both. */
static hu_status read_copy(const char *folder, const char *name, recalled *item) {
    char *file = NULL;
    hu_status st = HU_OK;
    HU_TRY(hu_path_join(folder, name, &file));
    HU_TRY(hu_text_read(file, COPY_MOST, &item->text, &item->bytes));
    size_t line = strcspn(item->text, "\n"), begin = strlen(head);
    if (strncmp(item->text, head, begin) != 0 || line <= begin) goto done;
    HU_TRY(hu_strndup(item->text + begin, line - begin, &item->path));
    /* What was read of the file begins behind the line. */
    size_t rest = line + (item->text[line] ? 1 : 0);
    item->bytes -= rest;
    memmove(item->text, item->text + rest, item->bytes + 1);
done:
    hu_free(file);
    return st;
}

/* What is done with a copy; it may take path and text over. */
typedef hu_status copy_fn(const char *folder, recalled *item);

static hu_status each_copy(const char *directory, copy_fn *each) {
    char *folder = NULL;
    DIR *open = NULL;
    hu_status st = HU_OK;
    HU_TRY(hu_path_join(directory, HU_CODE_TABLES_FOLDER, &folder));
    open = opendir(folder);
    for (struct dirent *entry; st == HU_OK && open && (entry = readdir(open));) {
        recalled item = {0};
        if (entry->d_name[0] == '.') continue;
        st = read_copy(folder, entry->d_name, &item);
        if (st == HU_OK && item.path) st = each(folder, &item);
        hu_free(item.path);
        hu_free(item.text);
    }
done:
    if (open) closedir(open);
    hu_free(folder);
    return st;
}

static hu_status recall(const char *folder, recalled *item) {
    (void)folder;
    hu_status st = remember(*item);
    if (st == HU_OK) *item = (recalled){0};
    return st;
}

hu_status hu_code_tables_recall(const char *directory) {
    return each_copy(directory, recall);
}

static hu_status check(const char *folder, recalled *item) {
    const hu_code_table *t;
    bool is_read = false;
    for (uint32_t i = 1; (t = hu_code_register_at(i)) != NULL; i++) {
        if (!t->source || strcmp(t->name + strlen(prefix), item->path) != 0) continue;
        if (t->source_bytes == item->bytes && memcmp(t->source, item->text, item->bytes) == 0)
            return HU_OK;
        is_read = true;
    }
    if (!is_read) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "%s: found other numbers than those of %s, expected the same; run.dir=NEW begins "
        "anew",
        folder, item->path);
}

hu_status hu_code_tables_check(const char *directory) {
    return each_copy(directory, check);
}

hu_status hu_code_tables_recalled(const char *path, char **text, size_t *bytes) {
    hu_status st = HU_OK;
    *text = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < list.count && st == HU_OK && !*text; i++) {
        if (strcmp(list.item[i].path, path) != 0) continue;
        *bytes = list.item[i].bytes;
        st = hu_new_array(*bytes + 1, 1, text);
        if (st == HU_OK) memcpy(*text, list.item[i].text, *bytes);
    }
    pthread_mutex_unlock(&lock);
    return st;
}
