/* data/kind_unknown.c - what data= of no known kind may have been meant to be. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/file_names.h"
#include "data/kind.h"

enum { WORD_BYTES = 64, NEAREST_BYTES = 256, MOST_KINDS = 64 };

/* Kinds under names that they have elsewhere, in torchvision and in papers. NULL: none. */
static const char *find_advice(const char *word) {
    static const char *const known[][2] = {
        {"mnist", "idx:DIR for its files, or fashion-mnist"},
        {"fashionmnist", "fashion-mnist"},
        {"fmnist", "fashion-mnist"},
        {"cifar", "cifar10:DIR or cifar100:DIR"},
        {"cifar-10", "cifar10:DIR"},
        {"cifar-100", "cifar100:DIR"},
        {"imagenet", "folder:DIR, with DIR/train/CLASS and DIR/val/CLASS"},
        {"imagefolder", "folder:DIR"},
        {"voc", "boxes:DIR"},
        {"librispeech", "speech:DIR"},
        {"wikitext", "text:FILE"},
        {"shakespeare", "text:FILE"},
        {"multi30k", "parallel:DIR"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i][0], word) == 0) return known[i][1];
    return NULL;
}

/* The kind whose files lie there, else the one whose name stands in the path ("/data/cifar": a
 * part of cifar10), else a folder of images. */
static const char *kind_of_path(const char *path, const hu_data_kind *kinds, size_t count) {
    enum { LEAST = 4 }; /* letters of a name that tell anything */
    for (size_t i = 0; i < count && hu_is_folder(path); i++)
        if (kinds[i].available && kinds[i].advice[0] && !kinds[i].takes_text &&
            !kinds[i].takes_parallel && kinds[i].available(&kinds[i], path))
            return kinds[i].name;
    if (hu_file_exists(path) && !hu_is_folder(path)) return "text";
    for (size_t i = 0; i < count; i++) {
        char stem[WORD_BYTES];
        size_t length = strcspn(kinds[i].name, "0123456789");
        snprintf(stem, sizeof stem, "%.*s", (int)length, kinds[i].name);
        if (length >= LEAST && strstr(path, stem)) return kinds[i].name;
    }
    return "folder";
}

/* A known name of elsewhere first, then a path, then what it may be a slip of. */
hu_status hu_data_kind_unknown(const char *spec, const hu_data_kind *kinds, size_t count) {
    const char *names[MOST_KINDS];
    char word[WORD_BYTES], nearest[NEAREST_BYTES];
    bool is_path = strchr(spec, '/') || spec[0] == '.' || spec[0] == '~' || hu_file_exists(spec);
    size_t length = strcspn(spec, ":");
    snprintf(word, sizeof word, "%.*s", length < WORD_BYTES ? (int)length : WORD_BYTES, spec);
    char lower[WORD_BYTES]; /* kinds have small letters */
    for (size_t i = 0; i < WORD_BYTES; i++) lower[i] = (char)tolower((unsigned char)word[i]);
    for (size_t i = 0; i < count && strcmp(lower, word) != 0; i++)
        if (strcmp(kinds[i].name, lower) == 0)
            return hu_fail(HU_ERR_UNKNOWN, "data: found '%s', expected %s%s", spec, lower,
                           spec[length] ? spec + length : "");
    const char *advice = find_advice(lower);
    if (advice) return hu_fail(HU_ERR_UNKNOWN, "data: found '%s', expected %s", word, advice);
    if (is_path && !strchr(spec, ':'))
        return hu_fail(HU_ERR_UNKNOWN,
                       "data: found the path '%s' alone, expected its kind in front, as %s:%s; "
                       "`halfulp help data` lists all kinds",
                       spec, kind_of_path(spec, kinds, count), spec);
    for (size_t i = 0; i < count && i < MOST_KINDS; i++) names[i] = kinds[i].name;
    hu_nearest(word, names, count < MOST_KINDS ? count : MOST_KINDS, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "data: found '%s', expected one like %s; `halfulp help data` lists all", word,
                   nearest);
}
