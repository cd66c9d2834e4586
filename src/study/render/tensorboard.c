/* The only file that knows protobuf-c and ISA-L. */
#include "render/tensorboard.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "base/text.h"
#include "base/text_file.h"

enum { HEAD_BYTES = 12, TAIL_BYTES = 4, EVENT_SCALARS = 32 };
static const char prefix[] = "events.out.tfevents.", version[] = "brain.Event:2";

struct hu_tensorboard {
    hu_append *file;
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
        return hu_fail(HU_ERR_LIMIT, "%s: an event of %zu bytes", hu_append_path(board->file),
                       bytes);
    record->size = 0;
    HU_TRY(hu_write_u64(record, bytes));
    HU_TRY(hu_write_u32(record, masked_crc(record->data, sizeof(uint64_t))));
    HU_TRY(hu_writer_reserve(record, bytes + TAIL_BYTES));
    record->size += hu__event__pack(event, record->data + record->size);
    HU_TRY(hu_write_u32(record, masked_crc(record->data + HEAD_BYTES, bytes)));
    hu_append_bytes(board->file, record->data, record->size);
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
    Hu__SummaryMetadata words[EVENT_SCALARS];
    for (size_t i = 0; i < count; i++) {
        hu__value__init(&made[i]);
        made[i].tag = borrowed(scalar[i].tag);
        made[i].value_case = HU__VALUE__VALUE_SIMPLE_VALUE;
        made[i].simple_value = (float)scalar[i].value;
        value[i] = &made[i];
        if (!scalar[i].title) continue;
        hu__summary_metadata__init(&words[i]);
        words[i].display_name = borrowed(scalar[i].title);
        words[i].summary_description = borrowed(scalar[i].about);
        made[i].metadata = &words[i];
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
    return st == HU_OK ? hu_append_end(board->file) : st;
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

/* Protobuf-c gets its memory from us, so that the ledger's allocator counts it. context: the status
 * of the last that failed. */
static void *take(void *context, size_t bytes) {
    void *block = NULL;
    hu_status st = hu_alloc(bytes, &block);
    if (st != HU_OK) *(hu_status *)context = st;
    return block;
}

static void give(void *context, void *block) {
    (void)context;
    hu_free(block);
}

/* A file that is looked through record by record. */
typedef struct records {
    int descriptor;
    const char *path;
    uint64_t size;
    hu_byte_writer record; /* the present one */
} records;

/* The next bytes of the record; false: the file ends before them. */
static hu_status read_part(records *r, uint64_t offset, size_t bytes, bool *is_present) {
    size_t got;
    hu_status st = hu_writer_reserve(&r->record, bytes);
    if (st != HU_OK) return st;
    st = hu_io_read_at(r->descriptor, r->path, offset + r->record.size,
                       r->record.data + r->record.size, bytes, &got);
    r->record.size += got;
    *is_present = got == bytes;
    return st;
}

/* The step of an event; -1: it has none. *is_event false: there is no event. */
static hu_status read_step(const uint8_t *body, size_t bytes, bool *is_event, int64_t *step) {
    hu_status st = HU_OK;
    ProtobufCAllocator allocator = {take, give, &st};
    Hu__Event *event = hu__event__unpack(&allocator, bytes, body);
    *is_event = event;
    if (!event) return st;
    *step = event->what_case == HU__EVENT__WHAT_SUMMARY ? event->step : -1;
    hu__event__free_unpacked(event, &allocator);
    return HU_OK;
}

/* Whether the record at offset is whole and sound; *step and *end of it. */
static hu_status read_record(records *r, uint64_t offset, bool *is_sound, int64_t *step,
                             uint64_t *end) {
    hu_status st = HU_OK;
    uint64_t length;
    uint32_t head_crc, tail_crc;
    *is_sound = false;
    r->record.size = 0;
    HU_TRY(read_part(r, offset, HEAD_BYTES, is_sound));
    if (!*is_sound) goto done;
    hu_byte_reader reader = {"events", r->record.data, HEAD_BYTES, 0};
    HU_TRY(hu_read_u64_le(&reader, "length", &length));
    HU_TRY(hu_read_u32_le(&reader, "crc", &head_crc));
    *is_sound = head_crc == masked_crc(r->record.data, sizeof length) && length <= INT_MAX &&
                length + TAIL_BYTES <= r->size - offset - HEAD_BYTES;
    if (!*is_sound) goto done;
    HU_TRY(read_part(r, offset, (size_t)length + TAIL_BYTES, is_sound));
    if (!*is_sound) goto done;
    const uint8_t *body = r->record.data + HEAD_BYTES;
    reader = (hu_byte_reader){"events", r->record.data, r->record.size, HEAD_BYTES + length};
    HU_TRY(hu_read_u32_le(&reader, "crc", &tail_crc));
    *is_sound = tail_crc == masked_crc(body, (size_t)length);
    if (*is_sound) HU_TRY(read_step(body, (size_t)length, is_sound, step));
    *end = offset + HEAD_BYTES + length + TAIL_BYTES;
done:
    return st;
}

/* *kept: where the last event before `step` ends; bytes that are no record end it too. *is_torn:
 * they did. */
static hu_status find_end(const hu_append *file, int64_t step, uint64_t *kept, bool *is_torn) {
    records r = {.path = hu_append_path(file), .size = hu_append_size(file)};
    uint64_t end = 0;
    int64_t found = -1;
    bool is_sound = true;
    *kept = 0;
    hu_status st = hu_io_open(r.path, O_RDONLY, &r.descriptor);
    if (st != HU_OK) return st;
    while (*kept < r.size) {
        HU_TRY(read_record(&r, *kept, &is_sound, &found, &end));
        if (!is_sound || found >= step) break;
        *kept = end;
    }
    *is_torn = !is_sound;
done:
    close(r.descriptor);
    hu_writer_free(&r.record);
    return st;
}

/* A new file begins with the version event. */
static hu_status begin(hu_tensorboard *board) {
    Hu__Event event = HU__EVENT__INIT;
    event.what_case = HU__EVENT__WHAT_FILE_VERSION;
    event.file_version = borrowed(version);
    return write_event(board, &event);
}

/* Whether a file of the folder is one of events that goes on. */
static bool is_board(const char *name) {
    size_t length = strlen(name), ending = sizeof HU_DAMAGED - 1;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           strcmp(name + (length < ending ? 0 : length - ending), HU_DAMAGED) != 0;
}

/* The folder's event file: the last by name, or a new name. */
static hu_status find_file(const char *directory, char **path) {
    char name[256] = "";
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_board(entry->d_name) && strcmp(entry->d_name, name) > 0)
            snprintf(name, sizeof name, "%s", entry->d_name);
    if (folder) closedir(folder);
    if (!name[0]) snprintf(name, sizeof name, "%s%.0f.halfulp", prefix, wall_time());
    return hu_path_join(directory, name, path);
}

/* An existing file is cut and continued; one that holds no event at all makes room for a new one.
 */
static hu_status open_file(hu_tensorboard *board, const char *path, int64_t step, char *note,
                           size_t capacity) {
    hu_status st = HU_OK;
    uint64_t kept;
    bool is_torn;
    HU_TRY(hu_append_open(path, &board->file));
    uint64_t size = hu_append_size(board->file);
    HU_TRY(find_end(board->file, step, &kept, &is_torn));
    if (is_torn && kept == 0) {
        hu_append_close(board->file);
        board->file = NULL;
        HU_TRY(hu_file_set_aside(path, note, capacity));
        HU_TRY(hu_append_open(path, &board->file));
        return begin(board);
    }
    if (is_torn)
        hu_note_add(note, capacity, "\n", "%s: %" PRIu64 " bytes behind its last whole event go",
                    hu_path_name(path), size - kept);
    if (kept < size) HU_TRY(hu_append_cut(board->file, kept));
    if (kept == 0) st = begin(board);
done:
    return st;
}

hu_status hu_tensorboard_open(const char *directory, int64_t step, char *note, size_t capacity,
                              hu_tensorboard **board) {
    hu_status st;
    hu_tensorboard *made = NULL;
    char *path = NULL;
    *board = NULL;
    HU_TRY(HU_NEW(&made));
    HU_TRY(find_file(directory, &path));
    HU_TRY(open_file(made, path, step, note, capacity));
    *board = made;
    made = NULL;
done:
    hu_free(path);
    hu_tensorboard_close(made);
    return st;
}

hu_status hu_tensorboard_sync(hu_tensorboard *board) {
    hu_status st = hu_append_end(board->file);
    return st == HU_OK ? hu_append_sync(board->file) : st;
}

void hu_tensorboard_close(hu_tensorboard *board) {
    if (!board) return;
    if (board->file) (void)hu_append_end(board->file); /* a helper: a training has ended well */
    hu_append_close(board->file);
    hu_writer_free(&board->record);
    hu_free(board->numbers);
    hu_free(board);
}
