#include "runlog/folder.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_file.h"

/* Bytes that the beginning of a line is judged by; of one copy; and how many steps a line may be
 * after those before it (rows of kept steps are written after the events of later ones). */
enum { HEAD_BYTES = 48, COPY_BYTES = 1 << 16, BEHIND = 64 };

static const char *const names[HU_HISTORIES] = {"metrics.csv", "metrics.jsonl", "numerics.jsonl",
                                                "histograms.jsonl", "bits.jsonl"};

/* One history that is being mended. */
typedef struct history {
    const char *name;
    bool is_rows; /* metrics.csv: its first line is that of the titles, which are its reader's */
    char *path;
    hu_lines *lines; /* NULL: there is no such file */
    int64_t step;    /* lines from there on go */
} history;

/* The step that a line of a history begins with, 12,... in rows and {"step":12,... with or without
 * a blank in the others; -1 for anything else: the titles of rows, or a part of a line. */
static int64_t step_of(const history *h, const char *text, size_t bytes) {
    static const char key[] = "{\"step\":";
    char head[HEAD_BYTES] = "", *end;
    memcpy(head, text, bytes < HEAD_BYTES - 1 ? bytes : HEAD_BYTES - 1);
    const char *number = head;
    if (!h->is_rows) {
        if (strncmp(number, key, sizeof key - 1) != 0) return -1;
        number += sizeof key - 1;
        number += *number == ' ';
    }
    if (!isdigit((unsigned char)*number)) return -1;
    long long step = strtoll(number, &end, 10);
    return *end == ',' || *end == '}' ? step : -1;
}

/* No text holds a zero: a part of the file that never came to the disk does. */
static int64_t step_of_line(const history *h, const hu_line *line) {
    bool is_whole = line->has_end && !memchr(line->text, 0, line->bytes);
    return is_whole ? step_of(h, line->text, line->bytes) : -1;
}

static hu_status open_history(const char *folder, const char *name, int64_t step, history *h) {
    *h = (history){.name = name, .is_rows = strstr(name, ".csv"), .step = step};
    hu_status st = hu_path_join(folder, name, &h->path);
    if (st == HU_OK) st = hu_lines_open(h->path, &h->lines);
    return st == HU_ERR_MISSING ? HU_OK : st;
}

static void close_history(history *h) {
    hu_lines_close(h->lines);
    hu_free(h->path);
    *h = (history){0};
}

/* Of the line that ends at a place: where it begins, and its step (-1: no whole line of a step). */
static hu_status line_before(const history *h, uint64_t end, uint64_t *start, int64_t *step) {
    char head[HEAD_BYTES], last = 0;
    size_t got;
    hu_status st = hu_lines_start_of(h->lines, end, start);
    if (st == HU_OK) st = hu_lines_peek(h->lines, end - 1, &last, 1, &got);
    size_t bytes = end - *start < HEAD_BYTES ? (size_t)(end - *start) : HEAD_BYTES;
    if (st == HU_OK) st = hu_lines_peek(h->lines, *start, head, bytes, &got);
    if (st != HU_OK) return st;
    *step = last == '\n' ? step_of(h, head, got) : -1;
    return HU_OK;
}

/* How far it goes, if it ended at a place. */
static hu_status mark_at(const history *h, uint64_t end, hu_history_mark *mark) {
    uint64_t start;
    *mark = (hu_history_mark){.bytes = (int64_t)end, .step = -1};
    return end > 0 ? line_before(h, end, &start, &mark->step) : HU_OK;
}

static hu_status mark_of(const char *folder, const char *name, hu_history_mark *mark) {
    history h;
    *mark = (hu_history_mark){.step = -1};
    hu_status st = open_history(folder, name, 0, &h);
    if (st == HU_OK && h.lines) st = mark_at(&h, hu_lines_size(h.lines), mark);
    close_history(&h);
    return st;
}

hu_status hu_history_marks(const char *folder, hu_history_mark mark[HU_HISTORIES]) {
    hu_status st = HU_OK;
    for (int i = 0; i < HU_HISTORIES && st == HU_OK; i++) st = mark_of(folder, names[i], &mark[i]);
    return st;
}

/* ---- cutting ---- */

static hu_status cut(const history *h, uint64_t bytes) {
    hu_append *file;
    hu_status st = hu_append_open(h->path, &file);
    if (st == HU_OK) st = hu_append_cut(file, bytes);
    hu_append_close(file);
    return st;
}

/* Whether the history still has what the mark tells of; if so, what is after it goes. */
static hu_status cut_to_mark(const history *h, const hu_history_mark *mark, bool *is_done) {
    hu_status st = HU_OK;
    hu_history_mark found;
    uint64_t size = hu_lines_size(h->lines), wanted = (uint64_t)mark->bytes;
    *is_done = false;
    if (mark->bytes < 0 || wanted > size) return HU_OK;
    HU_TRY(mark_at(h, wanted, &found));
    /* Without a step (titles alone) there is nothing to know them by. */
    *is_done = wanted == 0 || (found.step >= 0 && found.step == mark->step);
    if (*is_done && wanted < size) st = cut(h, wanted);
done:
    return st;
}

/* Where the lines begin that are to be looked at: those before were written before the step. */
static hu_status find_tail(const history *h, uint64_t *tail) {
    int64_t step;
    uint64_t start;
    *tail = hu_lines_size(h->lines);
    while (*tail > 0) {
        hu_status st = line_before(h, *tail, &start, &step);
        if (st != HU_OK) return st;
        if (step >= 0 && step < h->step - BEHIND) break;
        *tail = start;
    }
    return HU_OK;
}

/* What is to become of the tail. */
typedef struct verdict {
    uint64_t kept;      /* bytes before the first line that goes */
    bool has_more;      /* lines after it stay */
    uint64_t fragments; /* parts of lines among those that go */
} verdict;

static bool stays(const history *h, const hu_line *line, int64_t *step) {
    *step = step_of_line(h, line);
    return (h->is_rows && line->offset == 0) || (*step >= 0 && *step < h->step);
}

static hu_status judge(const history *h, uint64_t tail, verdict *v) {
    hu_status st = HU_OK;
    hu_line line;
    bool is_present, has_gone = false;
    int64_t step;
    *v = (verdict){.kept = hu_lines_size(h->lines)};
    hu_lines_seek(h->lines, tail);
    for (;;) {
        HU_TRY(hu_lines_next(h->lines, &line, &is_present));
        if (!is_present) break;
        if (stays(h, &line, &step)) {
            v->has_more |= has_gone;
            continue;
        }
        if (!has_gone) v->kept = line.offset;
        has_gone = true;
        v->fragments += step < 0;
    }
done:
    return st;
}

static hu_status copy_front(const history *h, uint64_t bytes, hu_atomic_file *made) {
    hu_status st = HU_OK;
    char block[COPY_BYTES];
    size_t got = 1;
    for (uint64_t at = 0; at < bytes && got > 0; at += got) {
        uint64_t left = bytes - at;
        size_t wanted = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        HU_TRY(hu_lines_peek(h->lines, at, block, wanted, &got));
        HU_TRY(hu_atomic_file_write(made, block, got));
    }
done:
    return st;
}

/* The lines that stay, after each other in a file of their own. */
static hu_status rewrite(const history *h, uint64_t kept) {
    hu_status st = HU_OK;
    hu_atomic_file *made = NULL;
    hu_line line;
    bool is_present;
    int64_t step;
    HU_TRY(hu_atomic_file_open(h->path, &made));
    HU_TRY(copy_front(h, kept, made));
    hu_lines_seek(h->lines, kept);
    for (;;) {
        HU_TRY(hu_lines_next(h->lines, &line, &is_present));
        if (!is_present) break;
        /* Its end is the byte after it. */
        if (stays(h, &line, &step)) HU_TRY(hu_atomic_file_write(made, line.text, line.bytes + 1));
    }
    st = hu_atomic_file_commit(made);
    made = NULL;
done:
    hu_atomic_file_drop(made);
    return st;
}

/* Lines of steps from h->step on go, and parts of lines. */
static hu_status cut_by_step(const history *h, char *note, size_t capacity) {
    hu_status st = HU_OK;
    uint64_t tail;
    verdict v;
    HU_TRY(find_tail(h, &tail));
    HU_TRY(judge(h, tail, &v));
    if (v.fragments > 0)
        hu_note_add(note, capacity, "\n",
                    "%s: parts of lines that a crash left are dropped: %" PRIu64, h->name,
                    v.fragments);
    if (v.has_more)
        st = rewrite(h, v.kept);
    else if (v.kept < hu_lines_size(h->lines))
        st = cut(h, v.kept);
done:
    return st;
}

/* ---- all of them ---- */

static void tell_missing(const char *name, const hu_history_mark *found,
                         const hu_history_mark *mark, char *note, size_t capacity) {
    if (found->step < mark->step)
        hu_note_add(note, capacity, "\n",
                    "%s: lines of steps %" PRId64 " to %" PRId64 " are missing (lost in a crash?)",
                    name, found->step + 1, mark->step);
    else if (found->bytes < mark->bytes)
        hu_note_add(note, capacity, "\n", "%s: some lines up to step %" PRId64 " are missing", name,
                    mark->step);
}

static hu_status mend(const char *folder, const char *name, const hu_history_mark *mark,
                      int64_t step, char *note, size_t capacity) {
    hu_status st = HU_OK;
    history h;
    hu_history_mark found;
    bool is_done = false;
    HU_TRY(open_history(folder, name, step, &h));
    if (h.lines && mark) HU_TRY(cut_to_mark(&h, mark, &is_done));
    if (is_done) goto done;
    if (h.lines) HU_TRY(cut_by_step(&h, note, capacity));
    HU_TRY(mark_of(folder, name, &found));
    if (mark) tell_missing(name, &found, mark, note, capacity);
done:
    close_history(&h);
    return st;
}

hu_status hu_history_truncate(const char *folder, const hu_history_mark *mark, int64_t step,
                              char *note, size_t capacity) {
    hu_status st = HU_OK;
    for (int i = 0; i < HU_HISTORIES && st == HU_OK; i++)
        st = mend(folder, names[i], mark ? &mark[i] : NULL, step, note, capacity);
    return st;
}
