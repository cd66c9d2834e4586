/* data/fingerprint_compare.c - two fingerprints, line by line: what has changed in words. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/fingerprint.h"

/* "KEY: VALUE", not ended by zeros. */
typedef struct line {
    const char *key, *value;
    size_t key_bytes, value_bytes;
    bool is_file; /* VALUE is "BYTES HASH" */
} line;

typedef struct lines {
    line *line;
    size_t count;
} lines;

static bool begins(const char *text, size_t bytes, const char *word) {
    size_t length = strlen(word);
    return bytes >= length && memcmp(text, word, length) == 0;
}

/* Names of files may hold a colon, names of classes too: what is a name stands in the key of the
 * former and in the value of the latter. */
static line split(const char *text, size_t bytes) {
    line l = {.key = text, .key_bytes = bytes, .value = text + bytes};
    l.is_file = begins(text, bytes, "train file ") || begins(text, bytes, "test file ");
    bool is_last =
        l.is_file || begins(text, bytes, "train folder ") || begins(text, bytes, "test folder ");
    for (size_t i = 0; i + 1 < bytes; i++) {
        if (text[i] != ':' || text[i + 1] != ' ') continue;
        l.key_bytes = i;
        l.value = text + i + 2;
        l.value_bytes = bytes - i - 2;
        if (!is_last) break;
    }
    return l;
}

static hu_status split_all(const char *text, lines *all) {
    size_t count = 0;
    for (const char *c = text; *c; c++) count += *c == '\n';
    *all = (lines){0};
    hu_status st = HU_NEW_ARRAY(&all->line, count + 1);
    if (st != HU_OK) return st;
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        if (end > text) all->line[all->count++] = split(text, (size_t)(end - text));
    }
    return HU_OK;
}

static int by_key(const void *a, const void *b) {
    const line *one = a, *two = b;
    size_t bytes = one->key_bytes < two->key_bytes ? one->key_bytes : two->key_bytes;
    int order = memcmp(one->key, two->key, bytes);
    return order ? order : (one->key_bytes > two->key_bytes) - (one->key_bytes < two->key_bytes);
}

static bool is_equal(const line *a, const line *b) {
    if (a->value_bytes == b->value_bytes && memcmp(a->value, b->value, a->value_bytes) == 0)
        return true;
    /* What was not read is equal to everything of its size. */
    bool is_unread = a->value_bytes > 0 && b->value_bytes > 0 &&
                     (a->value[a->value_bytes - 1] == '-' || b->value[b->value_bytes - 1] == '-');
    const char *blank = a->is_file ? memchr(a->value, ' ', a->value_bytes) : NULL;
    size_t size = blank ? (size_t)(blank - a->value) + 1 : 0;
    return is_unread && size > 0 && size <= b->value_bytes && memcmp(a->value, b->value, size) == 0;
}

/* ---- in words ---- */

enum { TOLD = 3, SHOWN = 96 };

typedef struct telling {
    char *what;
    size_t used;
    int64_t count;
} telling;

static int shown(size_t bytes) {
    return (int)(bytes < SHOWN ? bytes : SHOWN);
}

__attribute__((format(printf, 2, 3))) static void say(telling *t, const char *format, ...) {
    size_t room = HU_FINGERPRINT_BYTES - t->used;
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(t->what + t->used, room, format, args);
    va_end(args);
    t->used += bytes > 0 && (size_t)bytes < room ? (size_t)bytes : 0;
}

/* "BYTES HASH" of files and arrays. */
static bool has_bytes(const line *l) {
    return l->is_file || begins(l->key, l->key_bytes, "train rows ") ||
           begins(l->key, l->key_bytes, "test rows ");
}

static size_t first_word(const line *l) {
    const char *blank = memchr(l->value, ' ', l->value_bytes);
    return blank ? (size_t)(blank - l->value) : l->value_bytes;
}

/* A hash tells nobody anything. */
static void say_values(telling *t, const line *kept, const line *found) {
    size_t was = first_word(kept), is = first_word(found);
    if (has_bytes(kept) && was == is && memcmp(kept->value, found->value, is) == 0)
        say(t, " has other contents");
    else if (has_bytes(kept))
        say(t, ": found %.*s bytes, expected %.*s", shown(is), found->value, shown(was),
            kept->value);
    else
        say(t, ": found '%.*s', expected '%.*s'", shown(found->value_bytes), found->value,
            shown(kept->value_bytes), kept->value);
}

/* kept or found NULL: it is new, or gone. */
static void tell(telling *t, const line *kept, const line *found) {
    const line *one = kept ? kept : found;
    if (t->count++ >= TOLD) return;
    say(t, "%s%.*s", t->count > 1 ? "; " : "", shown(one->key_bytes), one->key);
    if (!kept)
        say(t, " is new");
    else if (!found)
        say(t, " is not there any more");
    else
        say_values(t, kept, found);
}

static bool is_name(const line *l) {
    return begins(l->key, l->key_bytes, "class ") || begins(l->key, l->key_bytes, "names") ||
           begins(l->key, l->key_bytes, "source names");
}

static bool is_compared(const line *l, bool only_names) {
    return is_name(l) || (!only_names && !begins(l->key, l->key_bytes, "data"));
}

/* Classes that had numbers alone may be given names. */
static bool gives_names(const lines *kept, const line *l) {
    bool has_names = false;
    for (size_t i = 0; i < kept->count && !has_names; i++) has_names = is_name(&kept->line[i]);
    return is_name(l) && !has_names;
}

/* In the order of the first list, whose lines are looked for in the second. */
static hu_status look(const lines *list, const lines *other, bool is_kept, bool only_names,
                      telling *t) {
    line *sorted;
    hu_status st = HU_NEW_ARRAY(&sorted, other->count + 1);
    if (st != HU_OK) return st;
    if (other->count > 0) memcpy(sorted, other->line, other->count * sizeof *sorted);
    qsort(sorted, other->count, sizeof *sorted, by_key);
    for (size_t i = 0; i < list->count; i++) {
        const line *own = &list->line[i];
        if (!is_compared(own, only_names)) continue;
        const line *its = bsearch(own, sorted, other->count, sizeof *sorted, by_key);
        if (!its && !is_kept && gives_names(other, own)) continue;
        if (!its)
            tell(t, is_kept ? own : NULL, is_kept ? NULL : own);
        else if (is_kept && !is_equal(own, its))
            tell(t, own, its);
    }
    hu_free(sorted);
    return HU_OK;
}

hu_status hu_fingerprint_compare(const char *kept, const char *found, bool only_names, char *what) {
    hu_status st;
    lines was = {0}, is = {0};
    telling t = {.what = what};
    what[0] = '\0';
    HU_TRY(split_all(kept, &was));
    HU_TRY(split_all(found, &is));
    HU_TRY(look(&was, &is, true, only_names, &t));
    HU_TRY(look(&is, &was, false, only_names, &t));
    if (t.count > TOLD) say(&t, "; and %lld more", (long long)(t.count - TOLD));
done:
    hu_free(was.line);
    hu_free(is.line);
    return st;
}

/* ---- for processes ---- */

/* Files of a part, while they pass by. */
typedef struct summing {
    XXH64_state_t state;
    long long count;
    const char *part;
} summing;

static hu_status end_sum(summing *s, hu_byte_writer *out) {
    char text[96];
    if (s->count == 0) return HU_OK;
    int bytes = snprintf(text, sizeof text, "%s files: %lld %016" PRIx64 "\n", s->part, s->count,
                         (uint64_t)XXH64_digest(&s->state));
    s->count = 0;
    return hu_write_bytes(out, text, (size_t)bytes);
}

static void add_to_sum(summing *s, const line *l) {
    if (s->count == 0) XXH64_reset(&s->state, 0);
    s->part = begins(l->key, l->key_bytes, "train") ? "train" : "test";
    s->count++;
    XXH64_update(&s->state, l->key, (size_t)(l->value + l->value_bytes - l->key));
}

hu_status hu_fingerprint_sum(const char *fingerprint, char **text) {
    hu_status st;
    lines all = {0};
    hu_byte_writer out = {0};
    summing sum = {.count = 0};
    *text = NULL;
    HU_TRY(split_all(fingerprint, &all));
    for (size_t i = 0; i < all.count; i++) {
        const line *l = &all.line[i];
        if (l->is_file || begins(l->key, l->key_bytes, "train folder ") ||
            begins(l->key, l->key_bytes, "test folder ")) {
            add_to_sum(&sum, l);
            continue;
        }
        HU_TRY(end_sum(&sum, &out));
        if (begins(l->key, l->key_bytes, "data")) continue;
        HU_TRY(hu_write_bytes(&out, l->key, (size_t)(l->value + l->value_bytes - l->key)));
        HU_TRY(hu_write_u8(&out, '\n'));
    }
    HU_TRY(end_sum(&sum, &out));
    HU_TRY(hu_write_u8(&out, 0));
    *text = (char *)out.data;
    out.data = NULL;
done:
    hu_free(all.line);
    hu_free(out.data);
    return st;
}
