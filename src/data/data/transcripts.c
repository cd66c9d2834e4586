#include "data/transcripts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "data/vocabulary.h"

/* ---- alphabet ---- */

/* The characters of a language as class numbers, for sequences without marks. */

enum { POINT_BYTES = 4, TAIL_BITS = 6, TAIL_MASK = 0x3f };

/* The first character of sound UTF-8 and how many bytes it takes. */
static uint32_t first_point(const char *text, size_t *bytes) {
    const uint8_t *b = (const uint8_t *)text;
    *bytes = b[0] < 0xc0 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : POINT_BYTES;
    uint32_t point = *bytes == 1 ? b[0] : b[0] & (0x7fu >> *bytes);
    for (size_t i = 1; i < *bytes; i++) point = point << TAIL_BITS | (b[i] & TAIL_MASK);
    return point;
}

/* As UTF-8, without a final zero; returns the bytes. */
static size_t put_point(uint32_t point, char *text) {
    size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : POINT_BYTES;
    for (size_t i = bytes; i-- > 1; point >>= TAIL_BITS)
        text[i] = (char)(0x80 | (point & TAIL_MASK));
    static const uint8_t head[] = {0, 0, 0xc0, 0xe0, 0xf0};
    text[0] = (char)(head[bytes] | point);
    return bytes;
}

static int compare_characters(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool is_letter(uint32_t point) {
    return point >= 'a' && point <= 'z';
}

/* Class of a character, 0 if the alphabet lacks it. */
static int32_t number_of(const hu_alphabet *a, uint32_t point) {
    if (is_letter(point)) return (int32_t)(point - 'a') + 1;
    const uint32_t *others = a->point + HU_ALPHABET_LETTERS;
    size_t count = a->count - HU_ALPHABET_LETTERS;
    if (count == 0) return 0;
    const uint32_t *found = bsearch(&point, others, count, sizeof *others, compare_characters);
    return found ? (int32_t)(found - a->point) + 1 : 0;
}

/* Others are kept sorted: a text has few kinds of them. */
static hu_status add(hu_alphabet *a, uint32_t point) {
    if (number_of(a, point) > 0) return HU_OK;
    hu_status st = hu_grow(&a->point, a->count, &a->capacity, sizeof *a->point);
    if (st != HU_OK) return st;
    size_t at = a->count++;
    for (; at > HU_ALPHABET_LETTERS && a->point[at - 1] > point; at--)
        a->point[at] = a->point[at - 1];
    a->point[at] = point;
    return HU_OK;
}

/* a to z. */
static hu_status begin(hu_alphabet *alphabet) {
    *alphabet = (hu_alphabet){.capacity = 2 * HU_ALPHABET_LETTERS};
    hu_status st = HU_NEW_ARRAY(&alphabet->point, alphabet->capacity);
    for (uint32_t letter = 'a'; st == HU_OK && letter <= 'z'; letter++)
        alphabet->point[alphabet->count++] = letter;
    return st;
}

hu_status hu_alphabet_create(const char *const *texts, size_t count, hu_alphabet *alphabet) {
    hu_status st;
    size_t bytes;
    HU_TRY(begin(alphabet));
    for (size_t i = 0; i < count; i++)
        for (const char *text = texts[i]; *text; text += bytes)
            HU_TRY(add(alphabet, first_point(text, &bytes)));
done:
    return st;
}

void hu_alphabet_free(hu_alphabet *alphabet) {
    hu_free(alphabet->point);
    *alphabet = (hu_alphabet){0};
}

int64_t hu_alphabet_length(const char *text) {
    int64_t length = 0;
    size_t bytes;
    for (; *text; text += bytes, length++) first_point(text, &bytes);
    return length;
}

hu_status hu_alphabet_spell(const hu_alphabet *alphabet, const char *text, int32_t *number) {
    size_t bytes;
    for (; *text; text += bytes, number++) {
        *number = number_of(alphabet, first_point(text, &bytes));
        if (*number == 0) return hu_fail(HU_ERR_CORRUPT, "'%.*s'", (int)bytes, text);
    }
    return HU_OK;
}

hu_status hu_alphabet_names(const hu_alphabet *alphabet, char **text) {
    hu_status st = HU_NEW_ARRAY(text, 1 + alphabet->count * (POINT_BYTES + 1));
    if (st != HU_OK) return st;
    char *to = *text + 1; /* after the blank's */
    for (size_t i = 0; i < alphabet->count; i++) {
        to += put_point(alphabet->point[i], to);
        *to++ = '\0';
    }
    return HU_OK;
}

/* A name is that of a class if it spells the character which the alphabet has there. */
hu_status hu_alphabet_of_names(const char *names, int64_t count, hu_alphabet *alphabet) {
    hu_status st;
    size_t bytes;
    const char *name = names + strlen(names) + 1;
    HU_TRY(begin(alphabet));
    bool is_sound = *names == '\0' && count > HU_ALPHABET_LETTERS;
    for (int64_t c = 1; is_sound && c < count; c++, name += strlen(name) + 1) {
        uint32_t point = first_point(name, &bytes);
        HU_TRY(add(alphabet, point));
        is_sound = name[0] && !name[bytes] && number_of(alphabet, point) == c;
    }
    if (!is_sound)
        st = hu_fail(HU_ERR_CORRUPT, "found other characters, expected a to z and then others in "
                                     "the order of their code points, one in each line");
done:
    return st;
}

hu_status hu_alphabet_write(const char *path, const char *names, int64_t count) {
    return hu_vocabulary_write(path, names + 1, count - 1);
}

hu_status hu_alphabet_read(const char *path, char **names, int64_t *count) {
    hu_vocabulary words = {.unknown = -1};
    hu_alphabet alphabet = {0};
    bool is_present;
    hu_status st = HU_OK;
    *names = NULL;
    *count = 0;
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) return HU_OK;
    HU_TRY(hu_vocabulary_read(path, HU_TEXT_CHARACTERS, &words));
    const hu_word *last = &words.word[words.count - 1];
    size_t bytes = (size_t)(last->at + last->length + 1 - words.text);
    HU_TRY(HU_NEW_ARRAY(names, bytes + 1));
    memcpy(*names + 1, words.text, bytes); /* after the blank's */
    *count = (int64_t)words.count + 1;
    st = hu_alphabet_of_names(*names, *count, &alphabet);
    if (st == HU_ERR_CORRUPT) st = hu_fail(st, "%s: %s", path, hu_last_error());
done:
    if (st != HU_OK) {
        hu_free(*names);
        *names = NULL;
        *count = 0;
    }
    hu_alphabet_free(&alphabet);
    hu_vocabulary_free(&words);
    return st;
}

/* ---- transcripts ---- */

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

/* block: the file with a zero after it; its lines become texts in place. */
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
    bool is_present;
    hu_status st;
    *transcripts = (hu_transcripts){0};
    HU_TRY(HU_NEW_ARRAY(&transcripts->text, sounds->count));
    HU_TRY(hu_path_join(folder, file_name, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (is_present)
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
