#include "data/directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

/* ---- What lies beside the files of a list and is not read, counted ---- */

/* The row of an ending; NULL: there is no room for another one. */
static int64_t *row_of(hu_skipped_files *left, const char *ending) {
    for (int k = 0; k < left->kinds; k++)
        if (strcmp(left->kind[k].ending, ending) == 0) return &left->kind[k].count;
    if (left->kinds == HU_LEFT_KINDS) return NULL;
    strcpy(left->kind[left->kinds].ending, ending);
    return &left->kind[left->kinds++].count;
}

/* What is too long to be an ending is none, nor is one of signs. */
static void take_ending(const char *name, char ending[HU_LEFT_ENDING_BYTES]) {
    const char *dot = strrchr(name, '.');
    size_t i = 0;
    if (dot && strlen(dot) < HU_LEFT_ENDING_BYTES)
        for (; dot[i] && (i == 0 || isalnum((unsigned char)dot[i])); i++)
            ending[i] = (char)tolower((unsigned char)dot[i]);
    ending[dot && !dot[i] ? i : 0] = '\0';
}

static void add(hu_skipped_files *left, const char *ending, int64_t count) {
    int64_t *row = row_of(left, ending);
    *(row ? row : &left->others) += count;
}

/* Counts one more. */
static void hu_skipped_files_count(hu_skipped_files *left, const char *name, bool is_folder) {
    char ending[HU_LEFT_ENDING_BYTES];
    left->folders += is_folder;
    if (is_folder) return;
    take_ending(name, ending);
    add(left, ending, 1);
}

void hu_skipped_files_add(hu_skipped_files *left, const hu_skipped_files *more) {
    for (int k = 0; k < more->kinds; k++) add(left, more->kind[k].ending, more->kind[k].count);
    left->others += more->others;
    left->folders += more->folders;
}

/* Pictures of other kinds, and what makes such of them as are read. */
static const char *advice_for(const char *ending) {
    static const struct {
        const char *ending, *advice;
    } known[] = {
        {".heic", "heif-convert makes .jpg of them"}, {".heif", "heif-convert makes .jpg of them"},
        {".avif", "heif-convert makes .jpg of them"}, {".jxl", "djxl makes .png of them"},
        {".bmp", "convert makes .png of them"},       {".gif", "convert makes .png of them"},
        {".jp2", "convert makes .png of them"},       {".tif", "convert makes .png of them"},
        {".tiff", "convert makes .png of them"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].ending, ending) == 0) return known[i].advice;
    return NULL;
}

static int by_ending(const void *a, const void *b) {
    return strcmp(a, b); /* each begins with its ending */
}

static hu_status write_part(hu_byte_writer *out, int64_t count, const char *what,
                            const char *advice) {
    char text[160];
    int bytes =
        snprintf(text, sizeof text, "%s%" PRId64 " %s%s%s%s", out->size > 0 ? ", " : "", count,
                 what, advice ? " (not supported: " : "", advice ? advice : "", advice ? ")" : "");
    return hu_write_bytes(out, text, (size_t)bytes);
}

/* "9 .heic (not supported: heif-convert makes .jpg of them), 1 .txt, 3 folders"; NULL: nothing was
 * left. Owner frees. HU_ERR_MEMORY. */
static hu_status hu_skipped_files_words(const hu_skipped_files *left, char **words) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    hu_skipped_files sorted = *left;
    *words = NULL;
    qsort(sorted.kind, (size_t)sorted.kinds, sizeof *sorted.kind, by_ending);
    for (int k = 0; k < left->kinds; k++) {
        const char *ending = sorted.kind[k].ending;
        HU_TRY(write_part(&out, sorted.kind[k].count, ending[0] ? ending : "without an ending",
                          advice_for(ending)));
    }
    if (left->others > 0) HU_TRY(write_part(&out, left->others, "other files", NULL));
    if (left->folders > 0)
        HU_TRY(write_part(&out, left->folders, left->folders == 1 ? "folder" : "folders", NULL));
    if (out.size == 0) goto done;
    HU_TRY(hu_write_bytes(&out, "", 1));
    *words = (char *)out.data;
    out.data = NULL;
done:
    hu_free(out.data);
    return st;
}

/* ---- Sorted names in a directory ---- */

enum { FIRST_BYTES = 4096 };

/* After the others; their addresses are taken when the block has grown for the last time. */
static hu_status add_name(hu_file_names *names, const char *name) {
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

hu_status hu_test_split(const char *directory, const char **half) {
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
    hu_skipped_files *left;     /* NULL: nobody */
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
    if (!is_wanted && c->left) hu_skipped_files_count(c->left, entry->d_name, is_folder);
    return is_wanted ? add_name(names, entry->d_name) : HU_OK;
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
                                          hu_skipped_files *left) {
    return list(directory, &(choice){.wanted = FILES, .endings = of_images, .left = left}, names);
}

hu_status hu_file_names_of_others(const char *directory, hu_file_names *names) {
    return list(directory, &(choice){.wanted = OTHER_FILES, .endings = of_images}, names);
}

hu_status hu_file_names_of_sounds(const char *directory, hu_file_names *names) {
    return list(directory, &(choice){.wanted = FILES, .endings = of_sounds}, names);
}

/* ---- Sentences about the files of a data set, for who opens it ---- */

hu_status hu_note(char **note, const char *format, ...) {
    enum { LINE_BYTES = 1024 }; /* a longer one is cut */
    char line[LINE_BYTES];
    size_t used = *note ? strlen(*note) + 1 : 0;
    void *block = *note;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (char *c = line; *c; c++)
        if (*c == '\n') *c = ' '; /* of a file's name */
    hu_status st = hu_realloc(&block, used + strlen(line) + 1);
    if (st != HU_OK) return st;
    *note = block;
    if (used > 0) (*note)[used - 1] = '\n';
    strcpy(*note + used, line);
    return HU_OK;
}

hu_status hu_note_left(char **note, const char *directory, const hu_skipped_files *left) {
    char *words;
    hu_status st = hu_skipped_files_words(left, &words);
    if (st == HU_OK && words)
        st = hu_note(note, "%s: beside the pictures, left out: %s", directory, words);
    hu_free(words);
    return st;
}
