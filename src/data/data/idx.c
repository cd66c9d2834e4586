/* IDX files (LeCun's MNIST page): big-endian magic 0x0000TTDD (type 8 = unsigned byte, DD
 * dimensions), one 32-bit extent per dimension, the elements. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/directory.h"
#include "data/kinds.h"

/* Third byte 8: elements are unsigned bytes; fourth byte: 3 extents (images), 1 extent (labels).
 * EXTENT_MAX bounds what a damaged header can ask for. */
enum {
    IMAGE_MAGIC = 0x803,
    LABEL_MAGIC = 0x801,
    EXTENT_MAX = 4096,
    HEAD_MOST = 16,
    SLACK = 1 << 12
};
#define FILE_MOST ((uint64_t)UINT32_MAX) /* bytes of a file, inflated */

/* One half of the set: prefixes of its file names, NULL-terminated. */
static const char *const train_names[] = {"train", NULL};
static const char *const test_names[] = {"t10k", "test", NULL};

/* The two files of a half: images-idx3, labels-idx1. */
typedef struct file_kind {
    const char *what, *extents;
} file_kind;
static const file_kind image_file = {"images", "idx3"}, label_file = {"labels", "idx1"};

/* Whether DIR/NAME is a file: some copies have folders of these names too. Owner frees *path where
 * it is. */
static hu_status look_for(const char *directory, const char *name, char **path, bool *is_present) {
    bool is_folder = false;
    hu_status st = hu_path_join(directory, name, path);
    if (st == HU_OK) st = hu_file_find(*path, is_present);
    if (st == HU_OK && *is_present) st = hu_folder_find(*path, &is_folder);
    *is_present = st == HU_OK && *is_present && !is_folder;
    if (*is_present) return HU_OK;
    hu_free(*path);
    *path = NULL;
    return st;
}

/* Path of the first that exists of PREFIX-WHAT-idxN-ubyte and PREFIX-WHAT.idxN-ubyte, as other
 * copies have it, plain and .gz; HU_ERR_MISSING if none. */
static hu_status find_file(const char *directory, const char *const *prefixes,
                           const file_kind *kind, char **path) {
    enum { FORMS = 4 };
    bool is_present = false;
    *path = NULL;
    for (const char *const *prefix = prefixes; *prefix; prefix++)
        for (int f = 0; f < FORMS; f++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s%c%s-ubyte%s", *prefix, kind->what, f / 2 ? '.' : '-',
                     kind->extents, f % 2 ? ".gz" : "");
            hu_status st = look_for(directory, name, path, &is_present);
            if (st != HU_OK || is_present) return st;
        }
    return hu_fail(HU_ERR_MISSING, "%s: found no %s-%s-%s-ubyte (or .%s-ubyte), plain or .gz",
                   directory, prefixes[0], kind->what, kind->extents, kind->extents);
}

bool hu_idx_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    bool available = true;
    for (int i = 0; i < 4 && available; i++) {
        char *path = NULL;
        available = find_file(directory, i < 2 ? train_names : test_names,
                              i % 2 ? &label_file : &image_file, &path) == HU_OK;
        hu_free(path);
    }
    return available;
}

/* Reads one extent and checks it against [1, most], or against expected if that is not 0. */
static hu_status read_extent(hu_byte_reader *reader, const char *field, uint32_t most,
                             int64_t expected, int64_t *extent) {
    uint32_t value = 0;
    size_t offset = reader->offset;
    hu_status st = hu_read_u32_be(reader, field, &value);
    if (st != HU_OK) return st;
    if (expected && value != expected)
        return hu_reader_fail(reader, offset, field, "found %u, expected %lld", value,
                              (long long)expected);
    if (value < 1 || value > most)
        return hu_reader_fail(reader, offset, field, "found %u, expected 1..%u", value, most);
    *extent = value;
    return HU_OK;
}

/* The whole word is compared: another element type would change the meaning of every byte after
 * it. */
static hu_status read_magic(hu_byte_reader *reader, uint32_t expected) {
    uint32_t magic = 0;
    hu_status st = hu_read_u32_be(reader, "magic", &magic);
    if (st == HU_OK && magic != expected)
        return hu_reader_fail(reader, 0, "magic", "found 0x%08x, expected 0x%08x", magic, expected);
    return st;
}

/* The part of a file image that is wanted moves to its beginning, or where there is more into a
 * block of its own: who owns the block can be told by the part. */
static hu_status keep_part(void **image, const uint8_t **part, size_t whole, size_t wanted) {
    void *block;
    if (wanted == whole) {
        memmove(*image, *part, whole);
        *part = *image;
        return HU_OK;
    }
    hu_status st = hu_alloc(wanted, &block);
    if (st != HU_OK) return st;
    memcpy(block, *part, wanted);
    hu_free(*image);
    *image = block;
    *part = block;
    return HU_OK;
}

/* Elements that the extents after the magic promise; FILE_MOST if there are more. */
static uint64_t count_elements(hu_byte_reader *reader, int extents) {
    uint64_t count = 1;
    for (int i = 0; i < extents; i++) {
        uint32_t extent = 0;
        if (hu_read_u32_be(reader, "extent", &extent) != HU_OK) return FILE_MOST;
        count *= extent; /* below 2^64: both are below 2^32 */
        if (count > FILE_MOST) return FILE_MOST;
    }
    return count;
}

/* Whether the file itself begins as IDX files do, whatever it is called: some that end in .gz were
 * unpacked on their way. */
static hu_status find_plain(const char *path, uint32_t magic, bool *is_plain) {
    uint8_t word[4];
    size_t got;
    uint64_t bytes;
    hu_status st = hu_file_head(path, word, sizeof word, &got, &bytes);
    *is_plain = st == HU_OK && got == sizeof word &&
                ((uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 |
                 word[3]) == magic;
    return st;
}

/* The whole file, of which little more is read than its head says: as much as a gzip stream of that
 * may be longer than its contents, which also shows that there are more bytes. A head that cannot
 * be had alone (of a pipe, or after damage) bounds nothing. */
static hu_status read_file(const char *path, uint32_t magic, int extents, uint8_t **data,
                           size_t *bytes) {
    uint8_t head[HEAD_MOST];
    size_t got, size = 4 + 4 * (size_t)extents;
    uint64_t most = FILE_MOST;
    bool is_plain;
    *data = NULL;
    hu_status st = find_plain(path, magic, &is_plain);
    if (st == HU_OK) st = hu_file_head_inflated(path, head, size, &got);
    if (st != HU_OK) return st;
    hu_byte_reader reader = {path, head, got, 0};
    if (got == size) {
        st = read_magic(&reader, magic);
        most = size + count_elements(&reader, extents);
        most += most / 1024 + SLACK;
    }
    if (most > FILE_MOST) most = FILE_MOST;
    if (st == HU_OK)
        st = is_plain ? hu_file_read_plain(path, most, data, bytes)
                      : hu_file_read(path, most, data, bytes);
    if (st != HU_ERR_LIMIT || most >= FILE_MOST) return st;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: offset %llu: found more bytes, expected fewer, as the extents say", path,
                   (unsigned long long)most);
}

/* Extents of the field: expected, or 0 for whatever the file says. count: images in the file. */
static hu_status read_images(const char *path, int64_t limit, hu_dataset *dataset, void **owned,
                             hu_split *split, int64_t *count) {
    uint8_t *data = NULL;
    size_t bytes = 0;
    const uint8_t *pixels;
    hu_status st = HU_OK;
    HU_TRY(read_file(path, IMAGE_MAGIC, 3, &data, &bytes));
    *owned = data;
    hu_byte_reader reader = {path, data, bytes, 0};
    HU_TRY(read_magic(&reader, IMAGE_MAGIC));
    HU_TRY(read_extent(&reader, "number of images", INT32_MAX, 0, count));
    int64_t *extent = dataset->field[HU_FIELD_IMAGE].extent;
    /* The file's order: count, rows, columns. The test half must have the extents of the training
     * half. */
    HU_TRY(read_extent(&reader, "height", EXTENT_MAX, extent[0], &extent[0]));
    HU_TRY(read_extent(&reader, "width", EXTENT_MAX, extent[1], &extent[1]));
    size_t image_bytes = (size_t)(extent[0] * extent[1]);
    size_t total = (size_t)*count * image_bytes; /* < 2^55 */
    HU_TRY(hu_read_span(&reader, "pixels", total, &pixels));
    /* Bytes after the last pixel mean that the extents are not those of this file. */
    HU_TRY(hu_read_end(&reader));
    split->count = hu_limited(*count, limit);
    HU_TRY(keep_part(owned, &pixels, total, (size_t)split->count * image_bytes));
    split->rows[HU_FIELD_IMAGE] = pixels;
done:
    return st;
}

/* Widens labels to int32; each must be below classes, or below 256 and raises *highest. */
static hu_status widen_labels(const hu_byte_reader *reader, const uint8_t *labels, int64_t count,
                              int64_t classes, int32_t *wide, int64_t used, int64_t *highest) {
    for (int64_t i = 0; i < count; i++) {
        if (classes && labels[i] >= classes)
            return hu_reader_fail(reader, (size_t)(labels + i - reader->data), "label",
                                  "found %d, expected 0..%lld", labels[i], (long long)classes - 1);
        if (labels[i] > *highest) *highest = labels[i];
        if (i < used) wide[i] = labels[i];
    }
    return HU_OK;
}

/* images: how many labels there must be. The whole file is checked, also where a limit takes
 * few. */
static hu_status read_labels(const char *path, int64_t images, int64_t classes, void **owned,
                             hu_split *split, int64_t *highest) {
    uint8_t *data = NULL;
    size_t bytes;
    const uint8_t *labels;
    int64_t count = 0;
    hu_status st = HU_OK;
    HU_TRY(read_file(path, LABEL_MAGIC, 1, &data, &bytes));
    hu_byte_reader reader = {path, data, bytes, 0};
    HU_TRY(read_magic(&reader, LABEL_MAGIC));
    HU_TRY(read_extent(&reader, "number of labels (one per image)", INT32_MAX, images, &count));
    HU_TRY(hu_read_span(&reader, "labels", (size_t)count, &labels));
    HU_TRY(hu_read_end(&reader));
    HU_TRY(hu_alloc_array((size_t)split->count, sizeof(int32_t), owned));
    split->rows[HU_FIELD_LABEL] = *owned;
    HU_TRY(widen_labels(&reader, labels, count, classes, *owned, split->count, highest));
done:
    hu_free(data);
    return st;
}

static hu_status open_half(const char *directory, const char *const *names, int64_t limit,
                           hu_dataset *dataset, void **owned, hu_split *split) {
    char *images = NULL, *labels = NULL;
    int64_t count = 0, highest = 0;
    hu_status st = HU_OK;
    HU_TRY(find_file(directory, names, &image_file, &images));
    HU_TRY(find_file(directory, names, &label_file, &labels));
    HU_TRY(read_images(images, limit, dataset, &owned[0], split, &count));
    int64_t *classes = &dataset->field[HU_FIELD_LABEL].classes;
    HU_TRY(read_labels(labels, count, *classes, &owned[1], split, &highest));
    /* Classes of a set without a fixed number: one more than the highest label of the training
     * half. */
    if (!*classes) *classes = highest + 1;
done:
    hu_free(images);
    hu_free(labels);
    return st;
}

hu_status hu_idx_open(const hu_data_kind *kind, const char *directory, const hu_data_limits *limits,
                      const hu_image_choice *choice, hu_dataset *dataset) {
    (void)choice;
    /* Extents of 0 are filled in by the training half, and the test half is checked against
     * them. */
    hu_dataset_set_images(dataset, kind->height, kind->width, 1, kind->classes);
    hu_status st =
        open_half(directory, train_names, limits->train, dataset, dataset->owned, &dataset->train);
    if (st == HU_OK)
        st = open_half(directory, test_names, limits->test, dataset, dataset->owned + 2,
                       &dataset->test);
    return st;
}
