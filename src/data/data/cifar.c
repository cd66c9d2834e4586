/* Binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records without a header, each of
 * 1 label byte (CIFAR-100: coarse, then fine) and 3,072 bytes of red, green, blue planes. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/class_names.h"
#include "data/kinds.h"

/* Pixels; PLANE is one colour of an image, row by row. */
enum { SIDE = 32, CHANNELS = 3, PLANE = SIDE * SIDE, PIXELS = CHANNELS * PLANE };

/* Where a version keeps its records. */
typedef struct layout {
    const char *folder;                          /* as unpacked from the archive */
    const char *train[6], *test[2];              /* NULL-terminated */
    int64_t train_records_max, test_records_max; /* per file */
    size_t label_bytes;
    const char *names; /* file of them, a class in each line */
    const char *label_fields[2];
    int64_t label_bounds[2]; /* the last is the number of classes */
} layout;

static const layout cifar10 = {.folder = "cifar-10-batches-bin",
                               .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                         "data_batch_4.bin", "data_batch_5.bin"},
                               .test = {"test_batch.bin"},
                               .train_records_max = 10000,
                               .test_records_max = 10000,
                               .label_bytes = 1,
                               .names = "batches.meta.txt",
                               .label_fields = {"label"},
                               .label_bounds = {10}};

static const layout cifar100 = {.folder = "cifar-100-binary",
                                .train = {"train.bin"},
                                .test = {"test.bin"},
                                .train_records_max = 50000,
                                .test_records_max = 10000,
                                .label_bytes = 2,
                                .names = "fine_label_names.txt",
                                .label_fields = {"coarse label", "fine label"},
                                .label_bounds = {20, 100}};

static const layout *layout_of(const hu_data_kind *kind) {
    return kind->classes == 100 ? &cifar100 : &cifar10;
}

/* DIR/NAME, or DIR/FOLDER/NAME if only that exists. */
static hu_status find_file(const layout *version, const char *directory, const char *name,
                           char **path) {
    char inner[64];
    snprintf(inner, sizeof inner, "%s/%s", version->folder, name);
    const char *const names[] = {name, inner};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool is_present = false;
        hu_status st = hu_path_join(directory, names[i], path);
        if (st == HU_OK) st = hu_file_find(*path, &is_present);
        if (st == HU_OK && is_present) return st;
        hu_free(*path);
        *path = NULL;
        if (st != HU_OK) return st;
    }
    return hu_fail(HU_ERR_MISSING, "%s: found no %s", directory, name);
}

bool hu_cifar_available(const hu_data_kind *kind, const char *directory) {
    const layout *version = layout_of(kind);
    bool available = true;
    /* Five places of training files, of which CIFAR-100 fills one, then the test file. */
    for (int i = 0; i < 6 && available; i++) {
        const char *name = i < 5 ? version->train[i] : version->test[0];
        char *path = NULL;
        if (name) available = find_file(version, directory, name, &path) == HU_OK;
        hu_free(path);
    }
    return available;
}

/* From the size alone: a file without a header has no other mark, and a part of a record means that
 * the copy is not complete. */
static hu_status count_records(const char *path, size_t record_bytes, int64_t most,
                               int64_t *records) {
    uint64_t bytes;
    hu_status st = hu_file_size(path, &bytes);
    if (st != HU_OK) return st;
    uint64_t rest = bytes % record_bytes, whole = bytes / record_bytes;
    /* More than the archive's file holds: this is another file, or two files in one. */
    if (whole > (uint64_t)most)
        return hu_fail(
            HU_ERR_CORRUPT,
            "%s: offset %llu: end of file: oversized: found %llu bytes, expected at most "
            "%lld records of %zu bytes",
            path, (unsigned long long)((uint64_t)most * record_bytes), (unsigned long long)bytes,
            (long long)most, record_bytes);
    if (rest || !bytes)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: offset %llu: record %llu: truncated or oversized: found %llu bytes, "
                       "expected %zu",
                       path, (unsigned long long)(bytes - rest), (unsigned long long)whole,
                       (unsigned long long)rest, record_bytes);
    *records = (int64_t)whole;
    return HU_OK;
}

/* [3, 1024] -> [1024, 3] */
static void interleave(const uint8_t *planes, uint8_t *pixels) {
    for (size_t i = 0; i < PLANE; i++)
        for (size_t c = 0; c < CHANNELS; c++) pixels[CHANNELS * i + c] = planes[PLANE * c + i];
}

/* Checks every record of a file and stores the first used ones. */
static hu_status read_records(const layout *version, const char *path, int64_t records,
                              int64_t used, uint8_t *pixels, int32_t *labels) {
    hu_status st = HU_OK;
    uint8_t *data = NULL;
    size_t bytes, expected = (size_t)records * (version->label_bytes + PIXELS);
    HU_TRY(hu_file_read(path, expected, &data, &bytes));
    hu_byte_reader reader = {path, data, bytes, 0};
    for (int64_t i = 0; i < records; i++) {
        uint8_t label = 0;
        const uint8_t *planes;
        for (size_t k = 0; k < version->label_bytes; k++) {
            HU_TRY(hu_read_u8(&reader, version->label_fields[k], &label));
            if (label >= version->label_bounds[k]) {
                st = hu_reader_fail(&reader, reader.offset - 1, version->label_fields[k],
                                    "found %d, expected 0..%lld", label,
                                    (long long)version->label_bounds[k] - 1);
                goto done;
            }
        }
        HU_TRY(hu_read_span(&reader, "pixels", PIXELS, &planes));
        /* Records beyond the limit are checked and not kept. */
        if (i >= used) continue;
        labels[i] = label;
        interleave(planes, pixels + (size_t)i * PIXELS);
    }
    HU_TRY(hu_read_end(&reader));
done:
    hu_free(data);
    return st;
}

/* CIFAR-10 has five training batches. */
enum { FILES_MAX = 5 };

/* Paths and record counts of one half. */
typedef struct half_files {
    char *paths[FILES_MAX];
    int64_t records[FILES_MAX];
    int64_t total;
} half_files;

/* All files are found and counted before the first is read, so that a missing one is told at
 * once. */
static hu_status find_half(const layout *version, const char *directory, const char *const *names,
                           int64_t most, half_files *files) {
    hu_status st = HU_OK;
    size_t record_bytes = version->label_bytes + PIXELS;
    for (size_t i = 0; i < FILES_MAX && names[i]; i++) {
        HU_TRY(find_file(version, directory, names[i], &files->paths[i]));
        HU_TRY(count_records(files->paths[i], record_bytes, most, &files->records[i]));
        files->total += files->records[i];
    }
done:
    return st;
}

/* Records keep the order of the files. limit: most of the half, 0 for all. */
static hu_status open_half(const layout *version, const char *directory, const char *const *names,
                           int64_t most, int64_t limit, void **owned, hu_split *split) {
    hu_status st = HU_OK;
    half_files files = {0};
    HU_TRY(find_half(version, directory, names, most, &files));
    split->count = hu_limited(files.total, limit);
    HU_TRY(hu_alloc_array((size_t)split->count, PIXELS, &owned[0]));
    HU_TRY(hu_alloc_array((size_t)split->count, sizeof(int32_t), &owned[1]));
    split->rows[HU_FIELD_IMAGE] = owned[0];
    split->rows[HU_FIELD_LABEL] = owned[1];
    int64_t done_records = 0;
    for (size_t i = 0; i < FILES_MAX && files.paths[i] && done_records < split->count; i++) {
        int64_t left = split->count - done_records;
        int64_t used = left < files.records[i] ? left : files.records[i];
        HU_TRY(read_records(version, files.paths[i], files.records[i], used,
                            (uint8_t *)owned[0] + (size_t)done_records * PIXELS,
                            (int32_t *)owned[1] + done_records));
        done_records += used;
    }
done:
    for (size_t i = 0; i < FILES_MAX; i++) hu_free(files.paths[i]);
    return st;
}

/* Where the folder has the file of them, which the training does not need. */
static hu_status name_classes(const layout *version, const char *directory, int64_t classes,
                              hu_dataset *dataset) {
    char *path = NULL;
    hu_status st = find_file(version, directory, version->names, &path);
    if (st == HU_ERR_MISSING) return HU_OK;
    if (st == HU_OK) st = hu_class_names_read_file(path, classes, &dataset->class_names);
    if (st == HU_OK) dataset->class_name_count = classes;
    hu_free(path);
    return st;
}

hu_status hu_cifar_open(const hu_data_kind *kind, const char *directory,
                        const hu_data_limits *limits, const hu_image_choice *choice,
                        hu_dataset *dataset) {
    (void)choice;
    const layout *version = layout_of(kind);
    hu_dataset_set_images(dataset, SIDE, SIDE, CHANNELS, kind->classes);
    hu_status st = open_half(version, directory, version->train, version->train_records_max,
                             limits->train, dataset->owned, &dataset->train);
    if (st == HU_OK)
        st = open_half(version, directory, version->test, version->test_records_max, limits->test,
                       dataset->owned + 2, &dataset->test);
    if (st == HU_OK) st = name_classes(version, directory, kind->classes, dataset);
    return st;
}
