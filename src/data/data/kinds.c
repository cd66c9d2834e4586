#include "data/kinds.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/directory.h"

/* ---- Which wishes of a choice a kind of data can fulfil ---- */

/* One wish of a choice: HU_ERR_ARGUMENT unless it is fine. only: the kinds that take it; found: its
 * key and value. */
__attribute__((format(printf, 4, 5))) static hu_status
check_wish(const char *name, bool is_fine, const char *only, const char *found, ...) {
    enum { FOUND_BYTES = 80 };
    char text[FOUND_BYTES];
    va_list args;
    if (is_fine) return HU_OK;
    va_start(args, found);
    vsnprintf(text, sizeof text, found, args);
    va_end(args);
    return hu_fail(HU_ERR_ARGUMENT, "data %s: found %s, expected none: it can be chosen of %s only",
                   name, text, only);
}

/* What is asked of the pixels: sizes, crops and scales. */
static hu_status check_sizes(const hu_data_kind *kind, const hu_image_choice *c, const char *name) {
    hu_status st;
    if (hu_data_kind_has(kind, HU_DATA_TAKES_PAIRS) && c->size)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data %s: found data.size=%lld, expected none: small images are made by "
                       "data.scale",
                       name, (long long)c->size);
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_SIZE) || !c->size,
                      "folder:DIR, dense:DIR and boxes:DIR", "data.size=%lld", (long long)c->size));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_CROP) || !c->crop,
                      "folder:DIR, dense:DIR and pairs:DIR", "data.crop=%lld", (long long)c->crop));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_SCALES) || c->most_scale == 0.0,
                      "dense:DIR", "data.scales=%g-%g", c->least_scale, c->most_scale));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_SAMPLES) || !c->box_samples,
                      "boxes:DIR", "data.box_samples=on"));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_PAIRS) || !c->scale, "pairs:DIR",
                      "data.scale=%lld", (long long)c->scale));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_PAIRS) || !c->crops, "pairs:DIR",
                      "data.crops=%lld", (long long)c->crops));
done:
    return st;
}

/* What is asked of two languages. */
static hu_status check_parallel(const hu_data_kind *kind, const hu_text_choice *c,
                                const char *name) {
    static const char parallel[] = "parallel:DIR";
    const char *const key[] = {"source", "target", "test", "source_vocabulary"};
    const char *const found[] = {c->source, c->target, c->test, c->source_vocabulary};
    hu_status st = HU_OK;
    for (size_t i = 0; st == HU_OK && i < sizeof key / sizeof *key; i++)
        st = check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_PARALLEL) || !found[i], parallel,
                        "data.%s=%s", key[i], found[i]);
    return st;
}

/* What is asked of a text. */
static hu_status check_text(const hu_data_kind *kind, const hu_text_choice *c, const char *name) {
    static const char text[] = "text:FILE and segments:FILE";
    static const char both[] = "text:FILE, segments:FILE and parallel:DIR";
    bool is_text = hu_data_kind_has(kind, HU_DATA_TAKES_TEXT),
         is_either = is_text || hu_data_kind_has(kind, HU_DATA_TAKES_PARALLEL);
    hu_status st;
    HU_TRY(check_wish(name, is_text || c->unit == HU_TEXT_BYTES, text, "data.unit=%s",
                      c->unit == HU_TEXT_WORDS    ? "word"
                      : c->unit == HU_TEXT_PIECES ? "piece"
                                                  : "char"));
    if (hu_data_kind_has(kind, HU_DATA_READS_BYTES) && c->unit == HU_TEXT_BYTES && c->least_count)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "data %s: found data.min_count=%lld, which has no effect on bytes: all 256 are "
            "known; expected data.unit=word or char beside it",
            name, (long long)c->least_count);
    HU_TRY(check_wish(name, is_either || !c->least_count, both, "data.min_count=%lld",
                      (long long)c->least_count));
    HU_TRY(
        check_wish(name, is_either || !c->length, both, "data.length=%lld", (long long)c->length));
    HU_TRY(check_wish(name, is_text || !c->streams, text, "data.streams"));
    HU_TRY(check_wish(name, is_text || !c->valid, text, "data.valid=%s", c->valid));
    HU_TRY(
        check_wish(name, is_either || !c->vocabulary, both, "data.vocabulary=%s", c->vocabulary));
    st = check_parallel(kind, c, name);
done:
    return st;
}

hu_status hu_data_kind_check(const hu_data_kind *kind, const hu_image_choice *c, const char *name) {
    static const char folder[] = "folder:DIR and sounds:DIR", heard[] = "speech:DIR and sounds:DIR";
    bool takes_parts = hu_data_kind_has(kind, HU_DATA_TAKES_PARTS);
    hu_status st;
    HU_TRY(check_wish(name,
                      (takes_parts && hu_data_kind_has(kind, HU_DATA_TAKES_SIZE)) || c->area == 0.0,
                      "folder:DIR", "data.area=%g", c->area));
    HU_TRY(check_wish(name, takes_parts || !c->classes, folder, "data.classes=%lld",
                      (long long)c->classes));
    HU_TRY(check_wish(name, takes_parts || !c->parts, folder, "data.part=%lld/%lld",
                      (long long)c->part, (long long)c->parts));
    HU_TRY(check_wish(
        name, (takes_parts && hu_data_kind_has(kind, HU_DATA_TAKES_SIZE)) || !c->skips_damaged,
        "folder:DIR", "data.damaged=skip"));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_UNLABELLED) || !c->unlabelled,
                      "dense:DIR", "data.unlabelled=%lld", (long long)c->unlabelled - 1));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_UNLABELLED) || !c->label_count,
                      "dense:DIR", "data.labels"));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_FRAMES) || !c->frames, heard,
                      "data.frames=%lld", (long long)c->frames));
    HU_TRY(check_wish(name, hu_data_kind_has(kind, HU_DATA_TAKES_FRAMES) || !c->rate, heard,
                      "data.rate=%lld", (long long)c->rate));
    HU_TRY(check_text(kind, &c->text, name));
    st = check_sizes(kind, c, name);
done:
    return st;
}

/* ---- What data= of no known kind may have been meant to be ---- */

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
        if (kinds[i].available && kinds[i].advice[0] &&
            !hu_data_kind_has(&kinds[i], HU_DATA_TAKES_TEXT) &&
            !hu_data_kind_has(&kinds[i], HU_DATA_TAKES_PARALLEL) &&
            kinds[i].available(&kinds[i], path))
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
