#include "bench/bench.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "config/unused_keys.h"
#include "kernel/peak/peak.h"
#include "product/onednn.h"
#include "render/json.h"
#include "render/table.h"
#include "render/terminal.h"
#include "settings/options.h"

/* ---- machine ---- */

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
    static const char *const words[] = {"sse4_2",      "avx",        "f16c",        "fma",
                                        "avx2",        "avx_vnni",   "avx512f",     "avx512bw",
                                        "avx512vl",    "avx512vbmi", "avx512_vnni", "avx512_bf16",
                                        "avx512_fp16", "amx_bf16",   "amx_int8",    "asimd",
                                        "asimdhp",     "sve",        "bf16"};
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

/* Reads and measures all but the copy from memory, in a few milliseconds. HU_ERR_MEMORY. */
static hu_status hu_bench_machine_measure(hu_bench_machine *machine) {
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

/* The copy from memory: a tenth of a second, and two arrays of 64 MiB, which the process's peak of
 * memory shows afterwards. HU_ERR_MEMORY. */
static hu_status hu_bench_machine_measure_memory(hu_bench_machine *machine) {
    return measure_copy(MEMORY_BYTES, MEMORY_TURNS, 1, &machine->copy_memory);
}

static hu_status hu_bench_machine_tell(const hu_bench_machine *machine, hu_bench_part *part) {
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

/* Lines of text, and the object "machine" of --json (new reference). */
static json_t *hu_bench_machine_json(const hu_bench_machine *machine) {
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

/* ---- steps ---- */

/* `bench all`: steps of a few networks, which between them have what trainings are
 * made of: convolutions, recurrent layers, attention, and products with a chosen accumulator. */

/* Batches are those of the recipes where none is given. */
static const struct {
    const char *model, *precision, *accumulator, *batch;
    double weight; /* when the time is shared out */
} cases[] = {
    {"resnet20", "hfp8", "fp32", "128", 3},
    {"resnet20", "1/6/9", "fmac8:1/6/9", "32", 2},
    {"lstm-lm-s", "hfp8", "fp32", NULL, 1},
    {"transformer-lm-s", "hfp8", "fp32", NULL, 1},
};

enum { CASES = sizeof cases / sizeof *cases };

/* The user's keys, and those of the case that the user did not give, as if they had been. */
static hu_status make_config(const hu_config *config, int number, hu_config **made) {
    const char *const keys[][2] = {{"model.name", cases[number].model},
                                   {"precision.name", cases[number].precision},
                                   {"accumulator.name", cases[number].accumulator},
                                   {"run.batch", cases[number].batch}};
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    HU_TRY(hu_options_copy(config, made));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "bench all", &tree));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][1] && !hu_config_given(config, keys[i][0]))
            HU_TRY(hu_keys_set_text(tree, keys[i][0], keys[i][1], "bench all"));
    HU_TRY(hu_config_merge(*made, tree));
done:
    hu_keys_free(tree);
    return st;
}

/* Puts what one of them found after what there is. */
static hu_status take_part(hu_bench *bench, hu_bench *one) {
    hu_bench_noise_add(&bench->part.noise, &one->part.noise);
    if (bench->part.form == HU_BENCH_JSON) {
        json_array_append(json_object_get(bench->part.json, "models"), one->part.json);
        return HU_OK;
    }
    if (bench->part.form == HU_BENCH_TEXT && bench->part.text.size > 0)
        if (hu_bench_tell(&bench->part, "%s", "") != HU_OK) return HU_ERR_MEMORY;
    return hu_bench_tell_part(&bench->part, &one->part);
}

static hu_status run_case(hu_bench *bench, int number, double until) {
    hu_status st = HU_OK;
    hu_bench one = {.machine = bench->machine,
                    .repeat = bench->repeat,
                    .until = until,
                    .begun = hu_seconds_since_start(),
                    .part = {.form = bench->part.form}};
    HU_TRY(make_config(bench->config, number, &one.config));
    HU_TRY(hu_bench_step(&one));
    HU_TRY(take_part(bench, &one));
done:
    hu_bench_part_free(&one.part);
    hu_config_free(one.config);
    return st;
}

/* Steps of a few models, or of the one that the user names; for `bench all`. */
static hu_status hu_bench_steps(hu_bench *bench) {
    hu_status st = HU_OK;
    double weight = 0;
    bench->begun = hu_seconds_since_start();
    if (hu_config_given(bench->config, "model.name")) return hu_bench_step(bench);
    if (bench->part.form == HU_BENCH_JSON)
        bench->part.json = json_pack("{s:s, s:[]}", "kernel", "step", "models");
    for (int i = 0; i < CASES; i++) weight += cases[i].weight;
    for (int i = 0; i < CASES; weight -= cases[i++].weight) {
        double now = hu_seconds_now(), left = bench->until - now;
        HU_TRY(run_case(bench, i, now + left * cases[i].weight / weight));
    }
done:
    return st;
}

/* ---- bench ---- */

/* Keys that each kernel reads. */
#define OF_ALL "bench.kernel", "bench.seconds", "run.repeat", "run.threads", "run.quiet", "out.file"
#define OF_RATES "bench.format", "bench.elements"
#define OF_GEMM "gemm.m", "gemm.n", "gemm.k"
#define OF_STEP                                                                                    \
    "bench.beside", "model.*", "data.*", "precision.*", "accumulator.*", "operand.*",              \
        "optimizer.*", "lr.*", "scaler.*", "eval.*", "run.*", "init.*", "stop.*"
static const char *const step_keys[] = {OF_ALL, OF_STEP, NULL};
static const char *const round_keys[] = {OF_ALL, OF_RATES, NULL};
static const char *const pack_keys[] = {OF_ALL, OF_RATES, NULL};
static const char *const allreduce_keys[] = {OF_ALL, OF_RATES, NULL};
static const char *const gemm_keys[] = {OF_ALL, OF_GEMM, "accumulator.name",
                                        "accumulator.semantics", NULL};
static const char *const conv_keys[] = {OF_ALL, "run.chunk", NULL};
static const char *const all_keys[] = {OF_ALL, OF_RATES, OF_GEMM, OF_STEP, NULL};

typedef struct kernel {
    const char *name;
    hu_status (*run)(hu_bench *bench);
    const char *const *keys;
    double weight, seconds; /* seconds: usual ones, of it alone */
    bool is_beside_onednn;
} kernel;

enum { USUAL_SECONDS = 60, ALL_SECONDS = 300 };

static const kernel kernels[] = {
#define ROW(name, weight, is_beside)                                                               \
    {#name, hu_bench_##name, name##_keys, weight, USUAL_SECONDS, is_beside},
    HU_BENCH_LIST(ROW)
#undef ROW
};

enum { KERNELS = sizeof kernels / sizeof *kernels };

/* One measurement from words to output. */
typedef struct session {
    hu_config *config;
    const kernel *kernel;
    hu_bench_form form;
    const char *path; /* NULL: stdout */
    double seconds, start;
    hu_bench_machine machine;
    hu_bench_part head, part; /* what is printed, one after the other; JSON: the second alone */
} session;

/* The words that gave the keys, as they were typed. Cut to fit. */
static void write_command(const session *s, char *text, size_t capacity) {
    size_t used = (size_t)snprintf(text, capacity, "halfulp bench");
    if (hu_config_subjects(s->config) > 0 && used < capacity)
        used +=
            (size_t)snprintf(text + used, capacity - used, " %s", hu_config_subject(s->config, 0));
    for (size_t i = 0; i < hu_config_key_count && used < capacity; i++) {
        const char *typed = hu_config_typed(s->config, hu_config_keys[i].name);
        if (!typed) continue;
        const char *quote = strpbrk(typed, " *'\"$(") ? "\"" : "";
        used += (size_t)snprintf(text + used, capacity - used, " %s%s%s", quote, typed, quote);
    }
}

/* Above the tables: what was asked, and of which machine; then they. */
static hu_status tell_head(session *s) {
    hu_status st = HU_OK;
    char command[768];
    s->head.form = s->form;
    write_command(s, command, sizeof command);
    if (s->form == HU_BENCH_MARKDOWN) HU_TRY(hu_bench_tell(&s->head, "    %s", command));
    HU_TRY(hu_bench_machine_tell(&s->machine, &s->head));
    HU_TRY(hu_bench_tell_part(&s->head, &s->part));
    HU_TRY(hu_write_u8(&s->head.text, 0));
done:
    return st;
}

/* Progress, as trainings have it: none where a program reads JSON beside a file of messages. */
static hu_status say(const session *s, const char *name, double seconds) {
    bool is_quiet = !hu_terminal_is_live(STDERR_FILENO) && s->form == HU_BENCH_JSON;
    hu_status st = HU_OK;
    if (!hu_config_is_auto(s->config, "run.quiet"))
        st = hu_config_bool(s->config, "run.quiet", &is_quiet);
    if (st == HU_OK && !is_quiet)
        fprintf(stderr, "bench %s: at most about %.0f s\n", name, ceil(seconds));
    return st;
}

/* A blank line between what is printed. */
static hu_status tell_gap(hu_bench_part *part) {
    return part->form == HU_BENCH_TEXT ? hu_bench_tell(part, "%s", "") : HU_OK;
}

/* Measures one kernel until `until`, and puts what it finds after what there is. */
static hu_status run_kernel(session *s, const kernel *k, double until) {
    hu_status st = HU_OK;
    hu_bench bench = {.config = s->config, .machine = &s->machine, .until = until};
    bench.part.form = s->form;
    if (!hu_config_is_auto(s->config, "run.repeat"))
        HU_TRY(hu_config_i64(s->config, "run.repeat", &bench.repeat));
    bool steps = s->kernel->run == NULL && strcmp(k->name, "step") == 0;
    HU_TRY(steps ? hu_bench_steps(&bench) : k->run(&bench));
    hu_bench_noise_add(&s->part.noise, &bench.part.noise);
    if (s->form != HU_BENCH_JSON) {
        HU_TRY(tell_gap(&s->part));
        if (s->form == HU_BENCH_MARKDOWN) HU_TRY(hu_bench_tell(&s->part, "## %s", k->name));
        HU_TRY(hu_bench_tell_part(&s->part, &bench.part));
    } else if (s->part.json) {
        json_object_set_new(bench.part.json, "noise", hu_bench_noise_json(&bench.part.noise));
        json_array_append(json_object_get(s->part.json, "kernels"), bench.part.json);
    } else {
        s->part.json = json_incref(bench.part.json);
    }
done:
    hu_bench_part_free(&bench.part);
    return st;
}

/* What is measured beside oneDNN needs a build with it. */
static bool can_measure(const kernel *k) {
    return !k->is_beside_onednn || hu_dnn_is_there();
}

/* One after the other; what one leaves of its time is the others'. */
static hu_status run_all(session *s) {
    hu_status st = HU_OK;
    double weight = 0;
    if (s->form == HU_BENCH_JSON)
        s->part.json = json_pack("{s:s, s:[]}", "kernel", "all", "kernels");
    for (int i = 0; i < KERNELS; i++)
        if (can_measure(&kernels[i])) weight += kernels[i].weight;
    for (int i = 0; i < KERNELS; i++) {
        if (!can_measure(&kernels[i])) continue;
        double now = hu_seconds_now(), left = fmax(0.0, s->start + s->seconds - now);
        double seconds = left * kernels[i].weight / weight;
        HU_TRY(say(s, kernels[i].name, seconds));
        HU_TRY(run_kernel(s, &kernels[i], now + seconds));
        weight -= kernels[i].weight;
    }
done:
    return st;
}

static const kernel all = {"all", NULL, all_keys, 0, ALL_SECONDS, false};

/* The kernel by its word; keys that it does not read are refused. */
static hu_status find_kernel(session *s) {
    hu_status st = HU_OK;
    const char *name;
    if (hu_config_subjects(s->config) > 0) {
        const char *word = hu_config_subject(s->config, 0);
        if (hu_config_given(s->config, "bench.kernel"))
            return hu_fail(HU_ERR_ARGUMENT, "found '%.64s' beside kernel=, expected one of them",
                           word);
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "="), word);
        if (strchr(word, '=')) return hu_config_key_unknown("command line", key);
        HU_TRY(hu_config_set(s->config, "bench.kernel", word, "command line"));
    }
    HU_TRY(hu_config_text(s->config, "bench.kernel", &name));
    s->kernel = &all;
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0) s->kernel = &kernels[i];
    char reader[64];
    snprintf(reader, sizeof reader, "bench kernel=%s", name);
    HU_TRY(hu_keys_used(s->config, reader, s->kernel->keys));
    if (!can_measure(s->kernel))
        return hu_fail(HU_ERR_UNSUPPORTED, "bench %s measures beside oneDNN, which is %s", name,
                       hu_dnn_absence());
done:
    return st;
}

/* Whether a file can be made there is found out before minutes of work. Pipes and devices are
 * opened once, at the end. */
static hu_status check_path(const char *path) {
    struct stat facts;
    hu_atomic_file *made = NULL;
    if (!path[0]) return hu_fail(HU_ERR_ARGUMENT, "out: found '', expected a file");
    bool exists = stat(path, &facts) == 0;
    if (exists && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) return HU_OK;
    hu_status st = hu_atomic_file_open(path, &made);
    hu_atomic_file_drop(made);
    return st;
}

static hu_status read_request(session *s) {
    hu_status st = HU_OK;
    const char *path;
    HU_TRY(find_kernel(s));
    HU_TRY(hu_config_text(s->config, "out.file", &path));
    if (strcmp(path, "auto") != 0) s->path = path;
    if (s->path) HU_TRY(check_path(path));
    s->form = s->path ? HU_BENCH_MARKDOWN : HU_BENCH_TEXT;
    if (hu_config_flag(s->config, "json", NULL)) s->form = HU_BENCH_JSON;
    s->seconds = s->kernel->seconds;
    if (!hu_config_is_auto(s->config, "bench.seconds"))
        HU_TRY(hu_config_f64(s->config, "bench.seconds", &s->seconds));
done:
    return st;
}

/* Below the tables: how far to trust them, and how long they took. */
static hu_status tell_end(session *s) {
    hu_status st = HU_OK;
    double taken = hu_seconds_now() - s->start;
    if (s->form == HU_BENCH_JSON) {
        json_object_set_new(s->part.json, "machine", hu_bench_machine_json(&s->machine));
        json_object_set_new(s->part.json, "noise", hu_bench_noise_json(&s->part.noise));
        json_object_set_new(s->part.json, "seconds_asked", hu_json_number(s->seconds));
        json_object_set_new(s->part.json, "seconds_taken", hu_json_number(taken));
        return HU_OK;
    }
    HU_TRY(tell_gap(&s->part));
    if (s->form == HU_BENCH_MARKDOWN) HU_TRY(hu_bench_tell(&s->part, "## noise"));
    HU_TRY(hu_bench_noise_tell(&s->part.noise, &s->part));
    HU_TRY(hu_bench_tell(&s->part, "took %.1f s of %.3g s", taken, s->seconds));
done:
    return st;
}

/* To out.file, with a line about it on stdout, else to stdout. */
static hu_status write_result(session *s) {
    hu_status st = HU_OK;
    char *text = NULL;
    bool is_json = s->form == HU_BENCH_JSON;
    if (!s->path && is_json) return hu_json_print(json_incref(s->part.json));
    if (is_json)
        HU_TRY(hu_json_pretty(json_incref(s->part.json), &text));
    else
        HU_TRY(tell_head(s));
    const char *whole = text ? text : (const char *)s->head.text.data;
    if (!s->path) {
        fputs(whole, stdout);
        return HU_OK;
    }
    HU_TRY(hu_file_replace(s->path, whole, strlen(whole)));
    printf("wrote %s: %lld rows, %lld of them noisy\n", s->path, (long long)s->part.noise.rows,
           (long long)s->part.noise.noisy);
done:
    hu_free(text);
    return st;
}

hu_status hu_bench_run(hu_config *config) {
    enum { LEAST_SECONDS = 1 }; /* of less, a tenth is much */
    hu_status st = HU_OK;
    session s = {.config = config, .start = hu_seconds_now()};
    HU_TRY(read_request(&s));
    s.part.form = s.form;
    HU_TRY(hu_bench_machine_measure(&s.machine));
    HU_TRY(s.kernel->run ? run_kernel(&s, s.kernel, s.start + s.seconds) : run_all(&s));
    if (s.seconds >= LEAST_SECONDS) HU_TRY(hu_bench_machine_measure_memory(&s.machine));
    HU_TRY(tell_end(&s));
    HU_TRY(write_result(&s));
done:
    hu_bench_part_free(&s.head);
    hu_bench_part_free(&s.part);
    return st;
}

/* ---- The clock of measurements, and their share of what is left of it ---- */

double hu_bench_seconds(int threads) {
    struct timespec now;
    if (threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return hu_seconds_now();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

hu_bench_pace hu_bench_pace_of(const hu_bench *bench, double share, int64_t most) {
    double now = hu_seconds_now(), left = bench->until > now ? bench->until - now : 0;
    return (hu_bench_pace){.repeat = bench->repeat, .most = most, .until = now + share * left};
}
