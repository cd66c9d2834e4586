/* data/fingerprint.c - what a data set is, as lines of a text. */
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
#include "data/each.h"
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
