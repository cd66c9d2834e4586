#include "base/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* What a file of /proc says behind a name, in KiB there; 0 if it says nothing. */
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
