#include "data/transcripts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text_file.h"

#define FILE_MOST ((size_t)1 << 30)

static const char file_name[] = "transcripts.txt";

/* A sound by its name without the ending. */
typedef struct sound {
    const char *name;
    size_t length, index;
} sound;

static int compare(const void *a, const void *b) {
    const sound *x = a, *y = b;
    int by_letters = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
    return by_letters ? by_letters : (x->length > y->length) - (x->length < y->length);
}

/* Sorted by name; owner frees. */
static hu_status list_sounds(const hu_file_names *names, sound **list) {
    hu_status st = HU_NEW_ARRAY(list, names->count);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < names->count; i++)
        (*list)[i] =
            (sound){names->name[i], (size_t)(strrchr(names->name[i], '.') - names->name[i]), i};
    if (names->count > 0) qsort(*list, names->count, sizeof **list, compare);
    return HU_OK;
}

static void make_small(char *text) {
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z') *text = (char)(*text - 'A' + 'a');
}

/* line: without its end. */
static hu_status take_line(const char *path, size_t number, char *line, const sound *list,
                           size_t count, const char **text) {
    size_t sound_bytes = hu_text_utf8_bytes(line);
    char *tab = strchr(line, '\t');
    if (line[sound_bytes])
        return hu_fail(HU_ERR_CORRUPT, "%s: line %zu, byte %zu: found 0x%02x, expected UTF-8", path,
                       number, sound_bytes + 1, (unsigned char)line[sound_bytes]);
    if (!tab)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: line %zu: found no tab, expected the name of a sound, a tab and what "
                       "is said",
                       path, number);
    sound wanted = {line, (size_t)(tab - line), 0};
    const sound *found = bsearch(&wanted, list, count, sizeof *list, compare);
    if (!found || text[found->index])
        return hu_fail(HU_ERR_CORRUPT, "%s: line %zu: found '%.*s', %s", path, number,
                       (int)wanted.length, line,
                       found ? "which has its text already"
                             : "expected the name of a sound beside the file, without its ending");
    make_small(tab + 1);
    text[found->index] = tab + 1;
    return HU_OK;
}

/* block: the file with a zero behind it; its lines become texts in place. */
static hu_status take_lines(const char *path, char *block, const hu_file_names *names,
                            const char **text) {
    sound *list = NULL;
    hu_status st;
    size_t number = 0;
    HU_TRY(list_sounds(names, &list));
    for (size_t i = 1; i < names->count; i++)
        if (compare(&list[i - 1], &list[i]) == 0)
            HU_TRY(hu_fail(HU_ERR_CORRUPT,
                           "%s: found %s and %s beside it, expected names that differ before their "
                           "endings",
                           path, names->name[list[i - 1].index], names->name[list[i].index]));
    for (char *line = block; *line;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (end > line && end[-1] == '\r') end[-1] = '\0';
        HU_TRY(take_line(path, ++number, line, list, names->count, text));
        line = next;
    }
    for (size_t i = 0; i < names->count; i++)
        if (!text[i])
            HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no line for %s", path, names->name[i]));
done:
    hu_free(list);
    return st;
}

static hu_status read_file(const char *path, const hu_file_names *names, hu_transcripts *t) {
    size_t bytes;
    hu_status st = hu_text_read(path, FILE_MOST, &t->block, &bytes);
    return st == HU_OK ? take_lines(path, t->block, names, t->text) : st;
}

static bool is_digit(const char *name) {
    return name[0] >= '0' && name[0] <= '9' && name[1] == '_';
}

static bool are_digits(const hu_file_names *names) {
    for (size_t i = 0; i < names->count; i++)
        if (!is_digit(names->name[i])) return false;
    return true;
}

/* DIGIT_SPEAKER_TAKE.wav */
static hu_status read_digits(const char *folder, const hu_file_names *names, hu_transcripts *t) {
    static const char *const digit[] = {"zero", "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->name[i];
        if (!is_digit(name))
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: found %s and no %s, expected a line for each sound there, or names "
                           "like 7_jackson_3.wav",
                           folder, name, file_name);
        t->text[i] = digit[name[0] - '0'];
    }
    return HU_OK;
}

hu_status hu_transcripts_read(const char *folder, const hu_file_names *sounds, bool may_lack,
                              hu_transcripts *transcripts) {
    char *path = NULL;
    bool is_there;
    hu_status st;
    *transcripts = (hu_transcripts){0};
    HU_TRY(HU_NEW_ARRAY(&transcripts->text, sounds->count));
    HU_TRY(hu_path_join(folder, file_name, &path));
    HU_TRY(hu_file_find(path, &is_there));
    if (is_there)
        st = read_file(path, sounds, transcripts);
    else if (!may_lack || are_digits(sounds))
        st = read_digits(folder, sounds, transcripts);
done:
    hu_free(path);
    return st;
}

void hu_transcripts_free(hu_transcripts *transcripts) {
    hu_free(transcripts->text);
    hu_free(transcripts->block);
    *transcripts = (hu_transcripts){0};
}
