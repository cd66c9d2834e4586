#include "bench/bench.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/peak/peak.h"
#include "product/onednn.h"
#include "render/json.h"

enum {
    TURNS = 20,
    PEAK_MACS = 1000000,
    ROUNDS = 20000,
    STEPS = 32, /* additions of a round */
    CACHED_BYTES = 1 << 14,
    CACHED_COPIES = 64,
    MEMORY_BYTES = 1 << 26,
    MEMORY_TURNS = 4,
    LINE_BYTES = 8192
};

/* Copies what stands after "name : " of a line into text. */
static void take_value(const char *line, char *text, size_t capacity) {
    const char *value = strchr(line, ':');
    if (!value) return;
    value += 1 + strspn(value + 1, " \t");
    snprintf(text, capacity, "%.*s", (int)strcspn(value, "\n"), value);
}

/* Of all that a processor names, what kernels here and elsewhere compute with. */
static void take_sets(const char *line, char *text, size_t capacity) {
    static const char *const words[] = {
        "sse4_2",   "avx",      "f16c",     "fma",         "avx2",        "avx_vnni",
        "avx512f",  "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
        "amx_bf16", "amx_int8", "asimd",    "asimdhp",     "sve",         "bf16"};
    size_t used = 0;
    text[0] = '\0';
    for (size_t w = 0; w < sizeof words / sizeof *words && used < capacity; w++) {
        size_t length = strlen(words[w]);
        const char *at = line;
        while ((at = strstr(at, words[w])) != NULL) {
            bool is_word = strchr(" \t", at[-1]) && strchr(" \n", at[length]);
            if (is_word) break;
            at += length;
        }
        if (at)
            used +=
                (size_t)snprintf(text + used, capacity - used, "%s%s", used ? " " : "", words[w]);
    }
}

/* Of the first processor. */
static void read_names(hu_bench_machine *machine) {
    char line[LINE_BYTES];
    snprintf(machine->name, sizeof machine->name, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    while (fgets(line, sizeof line, file) && strcmp(line, "\n") != 0) {
        if (strncmp(line, "model name", 10) == 0)
            take_value(line, machine->name, sizeof machine->name);
        bool has_sets = strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0;
        if (has_sets) take_sets(line, machine->sets, sizeof machine->sets);
    }
    fclose(file);
}

/* Additions, each of the sum before it: every processor takes a cycle for one. Gives how many. */
static double add_in_chain(void *context) {
    uint64_t sum = 1, addend = 1;
    (void)context;
    for (int round = 0; round < ROUNDS; round++)
        for (int step = 0; step < STEPS; step++) {
            sum += addend;
            __asm__ volatile("" : "+r"(sum), "+r"(addend));
        }
    return (double)ROUNDS * STEPS;
}

static double multiply_add(void *context) {
    return (double)hu_peak_run(PEAK_MACS, context);
}

static double mix(void *context) {
    return (double)hu_peak_mixed_run(PEAK_MACS, context);
}

/* Two arrays, of which one is copied to the other so many times a turn. */
typedef struct copy {
    char *from, *to;
    size_t bytes;
    int copies;
} copy;

static double copy_bytes(void *context) {
    const copy *c = context;
    for (int i = 0; i < c->copies; i++) {
        memcpy(c->to, c->from, c->bytes);
        __asm__ volatile("" ::"r"(c->to), "r"(c->from) : "memory"); /* every copy counts */
    }
    return (double)c->bytes * c->copies;
}

/* What a turn does, by the seconds of its first quartile; the first turn warms up. */
static hu_status measure(double (*turn)(void *context), void *context, int turns, double *rate) {
    hu_status st = HU_OK;
    hu_bench_times times = {0};
    double done = turn(context);
    for (int i = 0; i < turns; i++) {
        double start = hu_bench_seconds(1);
        done = turn(context);
        HU_TRY(hu_bench_times_add(&times, hu_bench_seconds(1) - start));
    }
    *rate = done / hu_bench_times_quartile(&times);
done:
    hu_bench_times_free(&times);
    return st;
}

static hu_status measure_copy(size_t bytes, int turns, int copies, double *rate) {
    hu_status st = HU_OK;
    copy c = {.bytes = bytes, .copies = copies};
    HU_TRY(HU_NEW_ARRAY(&c.from, bytes));
    HU_TRY(HU_NEW_ARRAY(&c.to, bytes));
    memset(c.from, 1, bytes);
    HU_TRY(measure(copy_bytes, &c, turns, rate));
done:
    hu_free(c.from);
    hu_free(c.to);
    return st;
}

hu_status hu_bench_machine_measure(hu_bench_machine *machine) {
    hu_status st = HU_OK;
    float sink;
    *machine = (hu_bench_machine){.processors = omp_get_num_procs(), .copy_memory = NAN};
    read_names(machine);
    HU_TRY(measure(add_in_chain, NULL, TURNS, &machine->hertz));
    HU_TRY(measure(multiply_add, &sink, TURNS, &machine->peak));
    HU_TRY(measure(mix, &sink, TURNS, &machine->mixed));
    HU_TRY(measure_copy(CACHED_BYTES, TURNS, CACHED_COPIES, &machine->copy_cached));
done:
    return st;
}

hu_status hu_bench_machine_measure_memory(hu_bench_machine *machine) {
    return measure_copy(MEMORY_BYTES, MEMORY_TURNS, 1, &machine->copy_memory);
}

hu_status hu_bench_machine_tell(const hu_bench_machine *machine, hu_bench_part *part) {
    hu_status st = HU_OK;
    char onednn[32], memory[64] = "";
    hu_dnn_version(onednn, sizeof onednn);
    if (!isnan(machine->copy_memory))
        snprintf(memory, sizeof memory, ", %.1f GB/s from memory", 1e-9 * machine->copy_memory);
    HU_TRY(hu_bench_tell(part, "%s, %lld processor%s; instruction sets: %s", machine->name,
                         (long long)machine->processors, machine->processors == 1 ? "" : "s",
                         machine->sets[0] ? machine->sets : "not told"));
    HU_TRY(hu_bench_tell(part, "kernels of %s (the machine has %s); halfulp %s, oneDNN %s",
                         hu_isa_name(hu_cpu_isa()), hu_isa_name(hu_cpu_isa_native()),
                         HALFULP_VERSION, onednn));
    HU_TRY(hu_bench_tell(part,
                         "one core: %.2f GHz, %.1f multiply-adds a cycle (%.1f G/s: the peak), "
                         "%.1f with logical operations among them; memcpy %.1f GB/s in cache%s",
                         1e-9 * machine->hertz, machine->peak / machine->hertz,
                         1e-9 * machine->peak, machine->mixed / machine->hertz,
                         1e-9 * machine->copy_cached, memory));
done:
    return st;
}

json_t *hu_bench_machine_json(const hu_bench_machine *machine) {
    char onednn[32];
    hu_dnn_version(onednn, sizeof onednn);
    return json_pack(
        "{s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "processor",
        machine->name, "processors", (json_int_t)machine->processors, "instruction_sets",
        machine->sets, "isa", hu_isa_name(hu_cpu_isa()), "isa_of_machine",
        hu_isa_name(hu_cpu_isa_native()), "hertz", hu_json_number(machine->hertz),
        "peak_gmacs_per_second", hu_json_number(1e-9 * machine->peak), "macs_per_cycle",
        hu_json_number(machine->peak / machine->hertz), "mixed_operations_per_cycle",
        hu_json_number(machine->mixed / machine->hertz), "memcpy_cached_bytes_per_second",
        hu_json_number(machine->copy_cached), "memcpy_memory_bytes_per_second",
        hu_json_number(machine->copy_memory), "halfulp", HALFULP_VERSION, "onednn", onednn);
}
