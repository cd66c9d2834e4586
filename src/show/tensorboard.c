/* The only file that knows protobuf-c and ISA-L. */
#include "show/tensorboard.h"

#include <dirent.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tensorboard.pb-c.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

enum { HEAD_BYTES = 12, TAIL_BYTES = 4, FILE_LIMIT = 1 << 30, EVENT_SCALARS = 32 };
static const char prefix[] = "events.out.tfevents.", version[] = "brain.Event:2";

struct hu_tensorboard {
    FILE *file;
    char *path;
    hu_byte_writer record;
    void *numbers; /* limits and buckets of one histogram */
    size_t numbers_bytes;
};

/* CRC-32C, rotated and shifted, because the CRC of data that holds its own CRC is a constant. */
static uint32_t masked_crc(const uint8_t *data, size_t bytes) {
    uint8_t *readable = (uint8_t *)(uintptr_t)data; /* ISA-L only reads */
    uint32_t crc = ~crc32_iscsi(readable, (int)bytes, UINT32_MAX);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static hu_status io_error(const hu_tensorboard *board, const char *what) {
    return hu_fail(HU_ERR_IO, "%s: cannot %s: %s", board->path, what,
                   errno == ENOSPC ? "no space left" : strerror(errno));
}

/* Seconds since 1970, as TensorBoard wants them. */
static double wall_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* --- writing -----------------------------------------------------------------------------------*/

/* One record: length (8 bytes), its CRC, the message, its CRC. Source: TensorFlow (TFRecord). */
static hu_status write_event(hu_tensorboard *board, Hu__Event *event) {
    hu_status st;
    hu_byte_writer *record = &board->record;
    event->wall_time = wall_time();
    size_t bytes = hu__event__get_packed_size(event);
    if (bytes > INT_MAX)
        return hu_fail(HU_ERR_LIMIT, "%s: an event of %zu bytes", board->path, bytes);
    record->size = 0;
    HU_TRY(hu_write_u64(record, bytes));
    HU_TRY(hu_write_u32(record, masked_crc(record->data, sizeof(uint64_t))));
    HU_TRY(hu_writer_reserve(record, bytes + TAIL_BYTES));
    record->size += hu__event__pack(event, record->data + record->size);
    HU_TRY(hu_write_u32(record, masked_crc(record->data + HEAD_BYTES, bytes)));
    if (fwrite(record->data, 1, record->size, board->file) != record->size)
        st = io_error(board, "write");
done:
    return st;
}

/* One event of a step with its values. */
static hu_status write_values(hu_tensorboard *board, int64_t step, Hu__Value **value,
                              size_t count) {
    Hu__Summary summary = HU__SUMMARY__INIT;
    Hu__Event event = HU__EVENT__INIT;
    summary.n_value = count;
    summary.value = value;
    event.step = step;
    event.what_case = HU__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return write_event(board, &event);
}

/* Protobuf-c takes texts that it does not change as char *. */
static char *borrowed(const char *text) {
    return (char *)(uintptr_t)text;
}

/* At most EVENT_SCALARS numbers, as one event. */
static hu_status write_scalars(hu_tensorboard *board, int64_t step, const hu_scalar *scalar,
                               size_t count) {
    Hu__Value made[EVENT_SCALARS], *value[EVENT_SCALARS];
    for (size_t i = 0; i < count; i++) {
        hu__value__init(&made[i]);
        made[i].tag = borrowed(scalar[i].tag);
        made[i].value_case = HU__VALUE__VALUE_SIMPLE_VALUE;
        made[i].simple_value = (float)scalar[i].value;
        value[i] = &made[i];
    }
    return write_values(board, step, value, count);
}

hu_status hu_tensorboard_scalars(hu_tensorboard *board, int64_t step, const hu_scalar *scalar,
                                 size_t count) {
    hu_status st = HU_OK;
    for (size_t first = 0; first < count && st == HU_OK; first += EVENT_SCALARS) {
        size_t left = count - first;
        st =
            write_scalars(board, step, scalar + first, left < EVENT_SCALARS ? left : EVENT_SCALARS);
    }
    if (st == HU_OK && fflush(board->file) != 0) st = io_error(board, "write");
    return st;
}

/* Room for the limits and counts of a histogram. */
static hu_status make_room(hu_tensorboard *board, size_t count) {
    size_t bytes = 2 * count * sizeof(double);
    if (bytes <= board->numbers_bytes) return HU_OK;
    hu_status st = hu_realloc(&board->numbers, bytes);
    if (st == HU_OK) board->numbers_bytes = bytes;
    return st;
}

/* An exponent e stands in the bucket that ends at e + 1/2. */
hu_status hu_tensorboard_exponents(hu_tensorboard *board, int64_t step, const char *tag,
                                   int32_t first, const uint64_t *bucket, size_t count) {
    Hu__HistogramProto histogram = HU__HISTOGRAM_PROTO__INIT;
    Hu__Value made = HU__VALUE__INIT, *value = &made;
    hu_status st = make_room(board, count);
    if (st != HU_OK) return st;
    double *limit = board->numbers, *share = limit + count;
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        double exponent = (double)first + (double)i, times = (double)bucket[i];
        limit[i] = exponent + 0.5;
        share[i] = times;
        histogram.num += times;
        histogram.sum += times * exponent;
        histogram.sum_squares += times * exponent * exponent;
        if (bucket[i] == 0) continue;
        if (!has_any) histogram.min = exponent;
        histogram.max = exponent;
        has_any = true;
    }
    histogram.n_bucket_limit = histogram.n_bucket = count;
    histogram.bucket_limit = limit;
    histogram.bucket = share;
    made.tag = borrowed(tag);
    made.value_case = HU__VALUE__VALUE_HISTO;
    made.histo = &histogram;
    return write_values(board, step, &value, 1);
}

/* --- opening -----------------------------------------------------------------------------------*/

/* Protobuf-c gets its memory from us, so that the ledger's allocator counts it. */
static void *take(void *context, size_t bytes) {
    void *block = NULL;
    (void)context;
    return hu_alloc(bytes, &block) == HU_OK ? block : NULL;
}

static void give(void *context, void *block) {
    (void)context;
    hu_free(block);
}

/* Whether the record at offset is whole and sound; *step and *end of it. */
static bool read_record(const uint8_t *data, size_t bytes, size_t offset, int64_t *step,
                        size_t *end) {
    ProtobufCAllocator allocator = {take, give, NULL};
    hu_byte_reader reader = {"events", data, bytes, offset};
    uint64_t length;
    uint32_t head_crc, tail_crc;
    if (hu_read_u64_le(&reader, "length", &length) != HU_OK ||
        hu_read_u32_le(&reader, "crc", &head_crc) != HU_OK ||
        head_crc != masked_crc(data + offset, sizeof length) || length > INT_MAX ||
        hu_reader_left(&reader) < length + TAIL_BYTES)
        return false;
    const uint8_t *body = data + reader.offset;
    reader.offset += length;
    if (hu_read_u32_le(&reader, "crc", &tail_crc) != HU_OK ||
        tail_crc != masked_crc(body, (size_t)length))
        return false;
    Hu__Event *event = hu__event__unpack(&allocator, (size_t)length, body);
    if (!event) return false;
    *step = event->what_case == HU__EVENT__WHAT_SUMMARY ? event->step : -1;
    *end = reader.offset;
    hu__event__free_unpacked(event, &allocator);
    return true;
}

/* Cuts the file behind the last event before `step`; bytes that are no record end it too. */
static hu_status cut_file(const char *path, int64_t step) {
    hu_status st;
    uint8_t *data = NULL;
    size_t bytes = 0, kept = 0, end = 0;
    int64_t found = -1;
    HU_TRY(hu_file_read_plain(path, FILE_LIMIT, &data, &bytes));
    while (kept < bytes && read_record(data, bytes, kept, &found, &end) && found < step) kept = end;
    if (bytes > 0 && kept == 0)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: offset 0: found no event, expected a TensorBoard file",
                       path));
    if (kept < bytes && truncate(path, (off_t)kept) != 0)
        st = hu_fail(HU_ERR_IO, "%s: cannot cut: %s", path, strerror(errno));
done:
    hu_free(data);
    return st;
}

/* The folder's event file: the last by name, or a new name. */
static hu_status find_file(const char *directory, char **path) {
    char name[256] = "";
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
            strcmp(entry->d_name, name) > 0)
            snprintf(name, sizeof name, "%s", entry->d_name);
    if (folder) closedir(folder);
    if (!name[0]) snprintf(name, sizeof name, "%s%.0f.halfulp", prefix, wall_time());
    return hu_path_join(directory, name, path);
}

/* An existing file is cut and continued; a new one begins with the version event. */
static hu_status open_file(hu_tensorboard *board, int64_t step) {
    hu_status st = HU_OK;
    if (hu_file_exists(board->path)) HU_TRY(cut_file(board->path, step));
    board->file = fopen(board->path, "ab");
    if (!board->file) return io_error(board, "open");
    if (fseek(board->file, 0, SEEK_END) == 0 && ftell(board->file) > 0) return HU_OK;
    Hu__Event event = HU__EVENT__INIT;
    event.what_case = HU__EVENT__WHAT_FILE_VERSION;
    event.file_version = borrowed(version);
    st = write_event(board, &event);
done:
    return st;
}

hu_status hu_tensorboard_open(const char *directory, int64_t step, hu_tensorboard **board) {
    hu_status st;
    hu_tensorboard *made = NULL;
    *board = NULL;
    HU_TRY(HU_NEW(&made));
    HU_TRY(find_file(directory, &made->path));
    HU_TRY(open_file(made, step));
    *board = made;
    return HU_OK;
done:
    hu_tensorboard_close(made);
    return st;
}

hu_status hu_tensorboard_close(hu_tensorboard *board) {
    hu_status st = HU_OK;
    if (!board) return HU_OK;
    if (board->file && fclose(board->file) != 0) st = io_error(board, "write");
    hu_writer_free(&board->record);
    hu_free(board->numbers);
    hu_free(board->path);
    hu_free(board);
    return st;
}
