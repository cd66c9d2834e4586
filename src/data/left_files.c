#include "data/left_files.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

/* The row of an ending; NULL: there is no room for another one. */
static int64_t *row_of(hu_left_files *left, const char *ending) {
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

static void add(hu_left_files *left, const char *ending, int64_t count) {
    int64_t *row = row_of(left, ending);
    *(row ? row : &left->others) += count;
}

void hu_left_files_count(hu_left_files *left, const char *name, bool is_folder) {
    char ending[HU_LEFT_ENDING_BYTES];
    left->folders += is_folder;
    if (is_folder) return;
    take_ending(name, ending);
    add(left, ending, 1);
}

void hu_left_files_add(hu_left_files *left, const hu_left_files *more) {
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

hu_status hu_left_files_words(const hu_left_files *left, char **words) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    hu_left_files sorted = *left;
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
