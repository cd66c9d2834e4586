#include "base/process.h"

#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- How this process was called ---- */

/* More than any system lets a process have (execve(2): 6 MiB at most on Linux). */
enum { WORDS_MOST = 1 << 26 };

/* A shell takes every character of it for itself. */
static bool is_plain(const char *word) {
    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("%+,-./:=@_", *c)) return false;
    return *word != '\0';
}

static hu_status put(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* $'...': every byte that is no printable character of ASCII by its number. */
static hu_status put_bytes(hu_byte_writer *out, const char *word) {
    char code[8];
    hu_status st = put(out, "$'");
    for (const char *c = word; *c && st == HU_OK; c++) {
        unsigned char byte = (unsigned char)*c;
        bool is_itself = byte >= ' ' && byte < 0x7f && byte != '\'' && byte != '\\';
        snprintf(code, sizeof code, is_itself ? "%c" : "\\x%02x", byte);
        st = put(out, code);
    }
    return st == HU_OK ? put(out, "'") : st;
}

static hu_status put_word(hu_byte_writer *out, const char *word) {
    enum { QUOTES = 3, OF_ONE = 4 }; /* a quote becomes four characters */
    if (is_plain(word)) return put(out, word);
    if (hu_has_controls(word) || !hu_text_is_utf8(word)) return put_bytes(out, word);
    char *quoted = NULL;
    size_t capacity = OF_ONE * strlen(word) + QUOTES;
    hu_status st = HU_NEW_ARRAY(&quoted, capacity);
    if (st == HU_OK && hu_quote_shell(word, quoted, capacity)) st = put(out, quoted);
    hu_free(quoted);
    return st;
}

hu_status hu_shell_words(const char *words, size_t bytes, char **text) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    *text = NULL;
    for (size_t at = 0; at < bytes; at += strlen(words + at) + 1) {
        if (at > 0) HU_TRY(put(&out, " "));
        HU_TRY(put_word(&out, words + at));
    }
    HU_TRY(hu_write_u8(&out, 0));
    *text = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_writer_free(&out);
    return st;
}

hu_status hu_command_line(char **text) {
    uint8_t *words = NULL;
    size_t bytes;
    *text = NULL;
    hu_status st = hu_file_read_plain("/proc/self/cmdline", WORDS_MOST, &words, &bytes);
    /* A process can write over its own words; these end with a zero all the same, or are none. */
    if (st == HU_OK && bytes > 0 && words[bytes - 1] == '\0')
        st = hu_shell_words((const char *)words, bytes, text);
    hu_free(words);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

/* ---- process ---- */

/* What a file of /proc says after a name, in KiB there; 0 if it says nothing. */
static int64_t bytes_behind(const char *path, const char *name) {
    char text[4096];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    const char *field = strstr(text, name);
    return field ? strtoll(field + strlen(name), NULL, 10) * 1024 : 0;
}

int64_t hu_peak_rss_bytes(void) {
    /* Not ru_maxrss where it can be helped: it outlives exec, so a program begins with the peak of
     * whoever called vfork for it. */
    int64_t bytes = bytes_behind("/proc/self/status", "VmHWM:");
    if (bytes > 0) return bytes;
    /* Linux gives it in KiB (getrusage(2)). */
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

int64_t hu_resident_bytes(void) {
    /* The rollup counts pages one by one; the counters of /proc/self/status may lag behind by some
     * pages for every thread. */
    return bytes_behind("/proc/self/smaps_rollup", "Anonymous:");
}

double hu_seconds_since_start(void) {
    enum { FIELDS_BEFORE = 19 }; /* of /proc/PID/stat, between the name and the start time */
    char text[1024];
    struct timespec now;
    FILE *file = fopen("/proc/self/stat", "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    const char *at = strrchr(text, ')'); /* ends the name, which may hold anything */
    for (int i = 0; at && i <= FIELDS_BEFORE; i++) at = strchr(at + 1, ' ');
    if (!at) return NAN;
    clock_gettime(CLOCK_BOOTTIME, &now);
    double ticks = strtod(at, NULL);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - ticks / (double)sysconf(_SC_CLK_TCK);
}

/* ---- A clock that only goes forward. Thread-safe ---- */

/* Nanoseconds: the latest that was told, and what is added to the system's clock. Threads that read
 * it at the same time are apart by less than a second; a clock that went back is further. */
static _Atomic int64_t latest = INT64_MIN, offset;
enum { SECOND = 1000000000 };

/* CLOCK_MONOTONIC: the date may be set back during a run. Virtual machines that are moved, and
 * libraries that make up the time, set even this clock back. */
static int64_t system_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

double hu_seconds_now(void) {
    int64_t added = atomic_load(&offset), now = system_time() + added, seen = atomic_load(&latest);
    while (now > seen)
        if (atomic_compare_exchange_weak(&latest, &seen, now)) return 1e-9 * (double)now;
    /* Whoever was stopped between its two looks is not what has gone back: the clock is asked
     * again. */
    if (seen - now > SECOND) now = system_time() + added;
    if (seen - now > SECOND) atomic_compare_exchange_strong(&offset, &added, added + seen - now);
    return 1e-9 * (double)seen;
}
