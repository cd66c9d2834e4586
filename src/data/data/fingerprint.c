#include "data/fingerprint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/parallel_for.h"
#include "data/reader.h"

enum {
    NAMES_MAX = 1000,       /* classes with a line each */
    FILES_MAX = 1 << 16,    /* files of a part with a line each */
    CONTENTS_MAX = 1 << 28, /* bytes of a part's files that are read */
    NAME_BYTES = 1024,      /* of an escaped name */
    LINE_BYTES = NAME_BYTES + 128
};

__attribute__((format(printf, 2, 3))) static hu_status put(hu_byte_writer *out, const char *format,
                                                           ...) {
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t used = bytes < (int)sizeof line ? (size_t)bytes : sizeof line - 1;
    return hu_write_bytes(out, line, used);
}

/* ---- names ---- */

/* Names that end with a zero each. */
static hu_status put_names(const char *what, const char *names, int64_t count,
                           hu_byte_writer *out) {
    const char *end = names;
    for (int64_t i = 0; i < count; i++) end += strlen(end) + 1;
    return put(out, "%s: %lld %016" PRIx64 "\n", what, (long long)count,
               (uint64_t)XXH64(names, (size_t)(end - names), 0));
}

static hu_status put_classes(const hu_dataset *d, hu_byte_writer *out) {
    hu_status st = HU_OK;
    char name[NAME_BYTES];
    bool has_lines = d->unit == HU_TEXT_BYTES && d->class_name_count <= NAMES_MAX;
    if (d->source_names)
        HU_TRY(put_names("source names", d->source_names, d->source_name_count, out));
    if (!d->class_names) goto done;
    if (!has_lines) return put_names("names", d->class_names, d->class_name_count, out);
    for (int64_t c = 0; c < d->class_name_count; c++) {
        hu_escape(hu_dataset_class_name(d, c), name, sizeof name);
        HU_TRY(put(out, "class %lld: %s\n", (long long)c, name));
    }
done:
    return st;
}

/* ---- files ---- */

typedef struct file_fact {
    char *path;
    uint64_t bytes, hash;
} file_fact;

/* The files of one part. */
typedef struct file_facts {
    file_fact *file;
    int64_t count;
    size_t root; /* bytes of the data's folder in front of each path */
    bool is_read;
} file_facts;

static void free_facts(file_facts *facts) {
    for (int64_t i = 0; i < facts->count; i++) hu_free(facts->file[i].path);
    hu_free(facts->file);
}

static hu_status list_files(const hu_reader *reader, file_facts *facts) {
    size_t capacity = 0;
    for (;;) {
        char *path;
        hu_status st = reader->list(reader, facts->count, &path);
        if (st != HU_OK || !path) return st;
        st = hu_grow(&facts->file, (size_t)facts->count, &capacity, sizeof *facts->file);
        if (st != HU_OK) {
            hu_free(path);
            return st;
        }
        facts->file[facts->count++] = (file_fact){.path = path};
    }
}

static hu_status measure(void *context, int64_t i) {
    const file_facts *facts = context;
    return hu_file_size(facts->file[i].path, &facts->file[i].bytes);
}

static hu_status read_contents(void *context, int64_t i) {
    const file_facts *facts = context;
    file_fact *file = &facts->file[i];
    uint8_t *data;
    size_t bytes;
    hu_status st = hu_file_read_plain(file->path, CONTENTS_MAX, &data, &bytes);
    if (st == HU_OK) file->hash = (uint64_t)XXH64(data, bytes, 0);
    hu_free(data);
    return st;
}

/* Small parts are read. */
static hu_status measure_all(file_facts *facts) {
    uint64_t all = 0;
    hu_status st = hu_data_each(facts->count, measure, facts);
    for (int64_t i = 0; st == HU_OK && i < facts->count; i++) all += facts->file[i].bytes;
    facts->is_read = st == HU_OK && all <= CONTENTS_MAX;
    return facts->is_read ? hu_data_each(facts->count, read_contents, facts) : st;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const file_fact *)a)->path, ((const file_fact *)b)->path);
}

static hu_status put_file(const file_facts *facts, int64_t i, const char *part,
                          hu_byte_writer *out) {
    const file_fact *file = &facts->file[i];
    char name[NAME_BYTES];
    hu_escape(file->path + facts->root, name, sizeof name);
    if (!facts->is_read) return put(out, "%s file %s: %" PRIu64 " -\n", part, name, file->bytes);
    return put(out, "%s file %s: %" PRIu64 " %016" PRIx64 "\n", part, name, file->bytes,
               file->hash);
}

/* Bytes of the path's folder. */
static size_t folder_bytes(const char *path) {
    return (size_t)(hu_path_name(path) - path);
}

/* Files first .. *next-1 lie in one folder. */
static hu_status put_folder(const file_facts *facts, int64_t first, const char *part,
                            hu_byte_writer *out, int64_t *next) {
    const char *path = facts->file[first].path;
    size_t folder = folder_bytes(path);
    uint64_t bytes = 0;
    char name[NAME_BYTES], plain[NAME_BYTES];
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (*next = first; *next < facts->count; ++*next) {
        const file_fact *file = &facts->file[*next];
        if (folder_bytes(file->path) != folder || memcmp(file->path, path, folder) != 0) break;
        XXH64_update(&state, file->path + folder, strlen(file->path + folder) + 1);
        XXH64_update(&state, &file->bytes, sizeof file->bytes);
        XXH64_update(&state, &file->hash, sizeof file->hash);
        bytes += file->bytes;
    }
    size_t shown = folder > facts->root ? folder - facts->root : 0;
    snprintf(plain, sizeof plain, "%.*s", (int)(shown < NAME_BYTES ? shown : NAME_BYTES - 1),
             path + facts->root);
    hu_escape(plain, name, sizeof name);
    return put(out, "%s folder %s: %lld %" PRIu64 " %016" PRIx64 "\n", part, name,
               (long long)(*next - first), bytes, (uint64_t)XXH64_digest(&state));
}

static const hu_reader *reader_of(const hu_split *split) {
    const hu_reader *reader = split->reader ? split->reader : split->files;
    return reader && reader->list ? reader : NULL;
}

/* Paths begin with the folder of the data, which may have another one tomorrow. */
static size_t root_of(const hu_dataset *dataset, const char *path) {
    const char *colon = strchr(dataset->name, ':'), *root = colon ? colon + 1 : "";
    size_t length = strlen(root);
    if (length == 0 || strncmp(path, root, length) != 0) return folder_bytes(path);
    while (path[length] == '/') length++;
    return length;
}

static hu_status put_files(const hu_dataset *dataset, const hu_split *split, const char *part,
                           hu_byte_writer *out) {
    hu_status st = HU_OK;
    file_facts facts = {.count = 0};
    const hu_reader *reader = reader_of(split);
    if (!reader) return HU_OK;
    HU_TRY(list_files(reader, &facts));
    if (facts.count == 0) goto done;
    facts.root = root_of(dataset, facts.file[0].path);
    HU_TRY(measure_all(&facts));
    qsort(facts.file, (size_t)facts.count, sizeof *facts.file, by_path);
    for (int64_t i = 0; facts.count <= FILES_MAX && i < facts.count; i++)
        HU_TRY(put_file(&facts, i, part, out));
    for (int64_t i = 0; facts.count > FILES_MAX && i < facts.count;)
        HU_TRY(put_folder(&facts, i, part, out, &i));
done:
    free_facts(&facts);
    return st;
}

/* ---- arrays ---- */

static size_t bytes_of(hu_field_type type) {
    return type == HU_FIELD_U8 ? sizeof(uint8_t) : sizeof(float);
}

/* Numbers of one sample as they are stored. */
static size_t stored_elements(const hu_field *field) {
    size_t elements = 1;
    for (int i = 0; i < field->rank; i++)
        elements *= (size_t)(field->extent[i] + (i < 2 ? 2 * field->margin : 0));
    return elements;
}

/* What a decoder made of files is not looked at. */
static bool is_decoded(const hu_split *split, const hu_field *field) {
    return reader_of(split) && field->type != HU_FIELD_I32 && !field->is_boxes;
}

/* samples: as many as the arrays have, those held out too. */
static hu_status put_rows(const hu_dataset *dataset, const hu_split *split, int64_t samples,
                          const char *part, hu_byte_writer *out) {
    hu_status st = HU_OK;
    const hu_field *field = split->field ? split->field : dataset->field;
    for (int f = 0; f < dataset->field_count; f++) {
        if (!split->rows[f] || is_decoded(split, &field[f])) continue;
        size_t bytes = (size_t)samples * stored_elements(&field[f]) * bytes_of(field[f].type);
        HU_TRY(put(out, "%s rows %s: %zu %016" PRIx64 "\n", part, field[f].name, bytes,
                   (uint64_t)XXH64(split->rows[f], bytes, 0)));
    }
done:
    return st;
}

/* Files come before arrays: they tell more. */
static hu_status put_part(const hu_dataset *dataset, const hu_split *split, int64_t held,
                          const char *part, hu_byte_writer *out) {
    hu_status st;
    HU_TRY(put(out, "%s samples: %lld\n", part, (long long)(split->count + held)));
    HU_TRY(put_files(dataset, split, part, out));
    st = put_rows(dataset, split, split->count + held, part, out);
done:
    return st;
}

hu_status hu_fingerprint_make(const hu_dataset *dataset, char **text) {
    hu_status st;
    char name[NAME_BYTES];
    hu_byte_writer out = {0};
    *text = NULL;
    hu_escape(dataset->name ? dataset->name : "", name, sizeof name);
    HU_TRY(put(&out, "data: %s\n", name));
    HU_TRY(put_classes(dataset, &out));
    HU_TRY(put_part(dataset, &dataset->train, dataset->validation.count, "train", &out));
    HU_TRY(put_part(dataset, &dataset->test, 0, "test", &out));
    HU_TRY(hu_write_u8(&out, 0));
    *text = (char *)out.data;
    out.data = NULL;
done:
    hu_free(out.data);
    return st;
}

/* ---- Two fingerprints, line by line: what has changed in words ---- */

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
