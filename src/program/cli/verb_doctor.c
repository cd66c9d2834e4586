/* halfulp doctor: is this machine fit to give the results it should? */
#include <fenv.h>
#include <halfulp/data.h>
#include <halfulp/format.h>
#include <halfulp/round.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "cli/verb.h"
#include "format/value.h"
#include "product/onednn.h"
#include "render/table.h"

/* Numbers for each format and mode, and bytes of a line. */
enum { VALUES = 4096, TEXT_BYTES = 512 };

/* warn: slower or smaller than it could be; fail: results may be wrong, or cannot be had. */
typedef enum verdict { IS_OK, IS_WARN, IS_FAIL } verdict;

static const char *const verdict_names[] = {"ok", "warn", "fail"};

/* The checkup so far. */
typedef struct checkup {
    const hu_config *config;
    json_t *rows; /* NULL: print lines as they come */
    int fails;
} checkup;

static void note(checkup *up, verdict result, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One line of the checkup, at once for people, collected for JSON. */
static void note(checkup *up, verdict result, const char *what, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    up->fails += result == IS_FAIL;
    if (up->rows)
        json_array_append_new(up->rows, json_pack("{s:s, s:s, s:s}", "check", what, "result",
                                                  verdict_names[result], "text", text));
    else
        printf("%-4s  %-11s %s\n", verdict_names[result], what, text);
}

/* Processor, threads, oneDNN, memory. A capped instruction set is a warning: results stay, speed
 * does not. */
static void check_machine(checkup *up) {
    const char *cap = getenv("HALFULP_MAX_ISA");
    hu_isa used = hu_cpu_isa(), native = hu_cpu_isa_native();
    note(up, hu_cpu_is_capped() ? IS_WARN : IS_OK, "kernels", "%s%s (machine: %s%s%.40s)",
         hu_isa_name(used), hu_cpu_has_vbmi() ? " with VBMI" : "", hu_isa_name(native),
         cap ? ", HALFULP_MAX_ISA=" : "", cap ? cap : "");
    note(up, IS_OK, "threads", "%d of %ld processors", omp_get_max_threads(),
         sysconf(_SC_NPROCESSORS_ONLN));
    char version[32];
    hu_dnn_version(version, sizeof version);
    if (hu_dnn_is_there())
        note(up, IS_OK, "oneDNN", "%s", version);
    else
        note(up, IS_OK, "oneDNN", "%s: no run.products=onednn", hu_dnn_absence());
    double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 0x1p30;
    note(up, gib >= 1 ? IS_OK : IS_WARN, "memory", "%.1f GiB", gib);
}

/* Number of threads whose floating-point state flushes subnormals or rounds otherwise than to
 * nearest; 0 is right, because both would change results silently. */
static int count_bad_threads(void) {
    int bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
        bool flushes = false;
#if defined(__x86_64__)
        flushes = (_mm_getcsr() & (_MM_FLUSH_ZERO_MASK | 0x0040u)) != 0; /* FTZ, DAZ */
#endif
        /* The smallest subnormal: volatile, so that the compiler cannot compute the products
         * itself. */
        volatile float tiny = 0x1p-149f;
        bad += flushes || tiny * 0.5f != 0 || tiny * 2 == 0 || fegetround() != FE_TONEAREST;
    }
    return bad;
}

/* Rounding and subnormals are the process's own state, which other libraries may change. */
static void check_float(checkup *up) {
    int bad = count_bad_threads();
    if (bad)
        note(up, IS_FAIL, "float", "%d threads flush subnormals or do not round to nearest", bad);
    else
        note(up, IS_OK, "float", "subnormals kept (FTZ and DAZ off), rounding to nearest");
}

/* Test operands: random words, of which every second is brought into the range of the format, where
 * its grid is fine. */
static void fill_operands(const hu_format *format, const hu_random_key *key, float *x) {
    hu_format_limits limits = hu_format_limits_of(format);
    int least = limits.emin - hu_format_precision(format) - 2, span = limits.emax - least + 2;
    for (uint32_t i = 0; i < VALUES; i++) {
        uint32_t word = hu_random_word(key, i);
        if (i % 2) {
            uint32_t exponent = (uint32_t)(least + 127) + (word >> 23 & 0xff) % (uint32_t)span;
            if (exponent < 255) word = (word & 0x807fffff) | exponent << 23;
        }
        memcpy(&x[i], &word, sizeof word);
    }
}

/* Values of one format and mode where the vector kernel and the reference differ in a bit. */
static hu_status count_differences(const hu_format *format, hu_rounding mode, const float *x,
                                   float *y, uint64_t *differences) {
    hu_random_key key = {1, hu_stream_id("doctor", "round"), mode};
    hu_status st = hu_round_f32(VALUES, x, y, format, mode, &key, 0, NULL);
    for (uint32_t i = 0; st == HU_OK && i < VALUES; i++) {
        float truth = hu_format_round(format, mode, x[i], hu_random_word(&key, i));
        *differences += memcmp(&truth, &y[i], sizeof truth) != 0;
    }
    return st;
}

/* Every named format in every mode, against the integer reference. */
static hu_status compare_all(uint64_t *differences, uint32_t *formats) {
    void *x = NULL, *y = NULL;
    hu_status st;
    *differences = 0;
    *formats = hu_format_named_count();
    HU_TRY(hu_alloc_array(VALUES, sizeof(float), &x));
    HU_TRY(hu_alloc_array(VALUES, sizeof(float), &y));
    for (uint32_t i = 0; i < *formats; i++) {
        hu_format format;
        const char *description;
        const char *name = hu_format_named(i, &format, &description);
        hu_random_key key = {1, hu_stream_id("doctor", name), 0};
        fill_operands(&format, &key, x);
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
            HU_TRY(count_differences(&format, (hu_rounding)mode, x, y, differences));
    }
done:
    hu_free(x);
    hu_free(y);
    return st;
}

/* One difference is a failure: kernels promise the reference's bits. */
static void check_rounding(checkup *up) {
    uint64_t differences;
    uint32_t formats;
    if (compare_all(&differences, &formats) != HU_OK)
        note(up, IS_FAIL, "rounding", "%s", hu_last_error());
    else
        note(up, differences ? IS_FAIL : IS_OK, "rounding",
             "%llu differences from the reference: %u formats x %d modes x %d values",
             (unsigned long long)differences, formats, HU_ROUND_COUNT, VALUES);
}

/* Fashion-MNIST, which the first examples use, and the data set that was asked for. */
static void check_data(checkup *up) {
    const char *name;
    bool has_fashion = hu_dataset_available("fashion-mnist");
    note(up, has_fashion ? IS_OK : IS_WARN, "data", "fashion-mnist %s",
         has_fashion ? "is there"
                     : "is missing: apt-get install dataset-fashion-mnist, "
                       "or use data=glyphs");
    if (!hu_config_given(up->config, "data")) return;
    if (hu_config_text(up->config, "data", &name) != HU_OK) return;
    bool is_present = hu_dataset_available(name);
    note(up, is_present ? IS_OK : IS_FAIL, "data", "%.200s %s", name,
         is_present ? "is there" : "is not available");
}

/* Writes, reads back and removes a small file where runs would go. */
static void check_disk(checkup *up) {
    const char *directory = ".";
    char *path = NULL, name[64];
    struct statvfs disk;
    /* A folder that was not named is made below this one. */
    if (!hu_config_is_auto(up->config, "run.dir"))
        hu_config_text(up->config, "run.dir", &directory);
    snprintf(name, sizeof name, ".halfulp-doctor-%ld", (long)getpid());
    /* The way that runs write their files: beside, sync, rename. */
    if (hu_path_join(directory, name, &path) != HU_OK ||
        hu_file_replace(path, "halfulp\n", 8) != HU_OK) {
        note(up, IS_FAIL, "disk", "%s", hu_last_error());
    } else {
        unlink(path);
        double gib = statvfs(directory, &disk) == 0
                         ? (double)disk.f_bavail * (double)disk.f_frsize / 0x1p30
                         : 0;
        note(up, gib >= 0.5 ? IS_OK : IS_WARN, "disk", "'%.200s' can be written, %.1f GiB free",
             directory, gib);
    }
    hu_free(path);
}

/* A clock before 2023 or a coarse timer makes names and rates wrong, not results. */
static void check_clock(checkup *up) {
    struct timespec now = {0}, grain = {0};
    char text[64] = "?";
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_getres(CLOCK_MONOTONIC, &grain);
    if (gmtime_r(&now.tv_sec, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    bool is_sane = now.tv_sec > 1700000000 && grain.tv_sec == 0 && grain.tv_nsec <= 1000000;
    note(up, is_sane ? IS_OK : IS_WARN, "clock", "%s, timer resolution %ld ns", text,
         grain.tv_nsec);
}

/* In the order of what depends on what. */
static void run_checks(checkup *up) {
    note(up, IS_OK, "halfulp", "version %s", HALFULP_VERSION);
    check_machine(up);
    check_float(up);
    check_rounding(up);
    check_data(up);
    check_disk(up);
    check_clock(up);
}

/* One object: version, whether all is well, the lines, and the resolved configuration as YAML. */
static hu_status print_json(const checkup *up) {
    char *yaml;
    hu_status st = hu_keys_print(hu_config_tree(up->config), &yaml);
    if (st != HU_OK) return st;
    json_t *object =
        json_pack("{s:s, s:b, s:i, s:O, s:s}", "version", HALFULP_VERSION, "ok", up->fails == 0,
                  "fails", up->fails, "checks", up->rows, "config", yaml);
    hu_free(yaml);
    return hu_json_print(object);
}

static hu_status run_doctor(hu_config *config, int *exit_code) {
    bool as_json = hu_config_flag(config, "json", NULL);
    checkup up = {.config = config};
    if (as_json) {
        up.rows = json_array();
        if (!up.rows) return hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
    }
    run_checks(&up);
    hu_status st = HU_OK;
    if (as_json)
        st = print_json(&up);
    else
        printf("\n%s\n", up.fails ? "something is wrong: see the lines that fail" : "all is well");
    json_decref(up.rows);
    /* Warnings do not fail the checkup: scripts may ask for a sound machine, not for a fast one. */
    *exit_code = up.fails ? 1 : 0;
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const doctor_keys[] = {HU_TRAINING_KEYS, NULL};

const hu_verb hu_verb_doctor = {
    .name = "doctor",
    .group = HU_VERBS_MACHINE,
    .help = "check this machine, its rounding, data and disk",
    .usage = "[key=value ...] [--json]",
    .details =
        "Every line is ok, warn or fail; exit code 1 if one fails. data=NAME and run.dir=DIR\n"
        "are checked if given; --json also holds the resolved configuration as YAML.\n",
    .flags = flags,
    .min_subjects = 0,
    .max_subjects = 0,
    .keys = doctor_keys,
    .examples = {{"doctor", "is this machine fit, and what is slower than it could be"},
                 {"doctor data=cifar10:DIR", "are the data there"}},
    .run = run_doctor,
};
