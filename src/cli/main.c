/* halfulp VERB [key=value ...] [--flags] */
#include <errno.h>
#include <halfulp/data.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cap.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "base/nearest.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/verb.h"
#include "comm/load.h"
#include "config/config.h"
#include "kernel/block/block.h"
#include "model/model.h"
#include "precision/plan.h"
#include "show/json.h"
#include "task/task.h"

/* One row for each line of HU_VERB_LIST, in the order of the help. */
static const hu_verb *const verbs[] = {
#define HU_VERB_ROW(name) &hu_verb_##name,
    HU_VERB_LIST(HU_VERB_ROW)
#undef HU_VERB_ROW
};

enum { VERB_COUNT = sizeof verbs / sizeof *verbs, NEAREST_BYTES = 256 };

/* What `halfulp` alone says: the verbs. */
static void print_short_help(void) {
    puts("halfulp " HALFULP_VERSION ": trains neural networks in number formats that no hardware "
         "has yet\n\nusage: halfulp VERB [key=value ...] [--json]\n\nverbs:");
    for (size_t i = 0; i < VERB_COUNT; i++) printf("  %-10s %s\n", verbs[i]->name, verbs[i]->help);
    puts("\nhalfulp VERB --help says more about a verb, halfulp --help lists keys, models, tasks, "
         "losses, data sets.");
}

static void print_task(const hu_task *task) {
    printf("  %-24s %s; loss %s; metrics", task->name, task->help, task->loss);
    for (int m = 0; task->metric[m]; m++) printf(" %s", task->metric[m]->name);
    putchar('\n');
}

/* Behind the short help of --help: everything that stands in a table of the library. */
static void print_lists(void) {
    puts("\nkeys (config=FILE reads them from YAML; words win over the file):");
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        printf("  %-24s %s", key->name, key->help);
        if (*key->words) printf(": %s", key->words);
        printf(" [%s]", key->preset);
        if (*key->short_form) printf(" (short: %s)", key->short_form);
        putchar('\n');
    }
    puts("\nmodels:");
    for (int i = 0; i < hu_model_count; i++)
        printf("  %-24s %s\n", hu_model_table[i].name, hu_model_table[i].help);
    puts("\ntasks (the first metric is the one that compare, assign and reports take):");
    for (size_t i = 0; hu_task_at(i); i++) print_task(hu_task_at(i));
    puts("\nlosses:");
    for (size_t i = 0; hu_loss_at(i); i++)
        printf("  %-24s %s\n", hu_loss_at(i)->name, hu_loss_at(i)->help);
    puts("\ndata sets:");
    for (size_t i = 0; hu_data_kind_name(i); i++)
        printf("  %-24s %s\n", hu_data_kind_name(i), hu_data_kind_help(i));
    printf("\nnamed precisions:\n ");
    for (int i = 0; i < hu_precision_name_count; i++) printf(" %s", hu_precision_names[i]);
    printf("\n\nblock formats:\n ");
    const hu_block_format *block;
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++) printf(" %s", block->name);
    puts("\n\nexit codes: 0 ok, 1 failed check, 2 usage, 3 data, 4 numerics, 5 resources, 6 peer "
         "lost, 130 interrupted");
}

static void print_verb_help(const hu_verb *verb) {
    printf("usage: halfulp %s %s\n\n%s\n", verb->name, verb->usage, verb->help);
    if (*verb->details) printf("\n%s", verb->details);
}

static const hu_verb *find_verb(const char *name) {
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
    return NULL;
}

/* HU_ERR_UNKNOWN with the nearest verbs. */
static hu_status unknown_verb(const char *name) {
    const char *names[VERB_COUNT];
    for (size_t i = 0; i < VERB_COUNT; i++) names[i] = verbs[i]->name;
    char nearest[NEAREST_BYTES];
    hu_nearest(name, names, VERB_COUNT, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "unknown verb '%.100s', expected one that halfulp --help lists; nearest: %s",
                   name, nearest);
}

/* Place of a word of the command line, 0 if it is not there. */
static int has_word(int argc, char **argv, const char *word) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0) return i;
    return 0;
}

/* `halfulp help VERB` is halfulp VERB --help. */
static bool begins_with_help(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "help") == 0;
}

/* First word that is no flag; 0 if there is none. */
static int find_verb_index(int argc, char **argv) {
    for (int i = begins_with_help(argc, argv) ? 2 : 1; i < argc; i++)
        if (argv[i][0] != '-') return i;
    return 0;
}

/* The first word of the usage is what is missing: RUN or NAME. */
static hu_status missing_subject(const hu_verb *verb) {
    bool is_run = strncmp(verb->usage, "RUN", strlen("RUN")) == 0;
    return hu_fail(HU_ERR_ARGUMENT, "found no %.*s, expected halfulp %s %s%s",
                   (int)strcspn(verb->usage, " ."), verb->usage, verb->name, verb->usage,
                   is_run ? ", RUN being the folder of a training" : "");
}

/* Verbs that do not share their work would do it once in every process. */
static hu_status check_processes(const hu_verb *verb) {
    int32_t processes;
    const char *launcher = hu_transport_of_launcher(&processes);
    if (!launcher || processes < 2 || verb->joins_others) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "found %d processes, expected one: halfulp %s works alone",
                   processes, verb->name);
}

/* Reads the words that follow the verb, then runs it. */
static hu_status run_verb(const hu_verb *verb, int argc, char **argv, int index, int *exit_code) {
    hu_config_request request = {argc, argv, index, verb->flags, verb->max_subjects};
    hu_config *config;
    hu_status st = hu_cap_check();
    if (st == HU_OK) st = check_processes(verb);
    if (st == HU_OK) st = hu_config_load(&request, &config);
    if (st != HU_OK) return st;
    if (hu_config_subjects(config) < verb->min_subjects)
        st = missing_subject(verb);
    else
        st = verb->run(config, exit_code);
    hu_config_free(config);
    return st;
}

/* Results that could not be written are no results. */
static hu_status close_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return HU_OK;
    return hu_fail(HU_ERR_IO, "cannot write the result: %s", strerror(errno));
}

/* Threads that wait for each other spin for milliseconds by default, which costs a busy machine
 * most of its time; sleeping at once costs a quiet one. The OpenMP runtime reads this before main,
 * so the program starts itself again. */
static void wait_briefly(char **argv) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    /* Only once: the program that starts anew finds the variable set. */
    if (setenv("GOMP_SPINCOUNT", "10000", 1) == 0) execv("/proc/self/exe", argv);
}

/* glibc raises the size from which blocks are mapped, and so given back to the system when freed,
 * to that of the largest block freed: a data file of 30 MB read and forgotten would stay in the
 * process beside the arena. */
static void give_memory_back(void) {
#ifdef __GLIBC__
    enum { MAPPED_FROM = 1 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
#endif
}

/* Launchers end all processes when one has failed: the others get a moment for their words. */
static void let_others_speak(hu_status status) {
    const struct timespec moment = {.tv_nsec = 300000000};
    if (status == HU_ERR_PEER) nanosleep(&moment, NULL);
}

int main(int argc, char **argv) {
    hu_descriptors_fill();
    hu_json_guard();
    /* Before anything else: the program may begin again here, and memory is not asked for yet. */
    wait_briefly(argv);
    hu_failure_watch();
    give_memory_back();
    hu_interrupt_with_parent();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a failed write, reported as such */
    int exit_code = 0;
    hu_status st = HU_OK;
    /* The verb need not come first: flags may stand before it. */
    int index = find_verb_index(argc, argv);
    const hu_verb *verb = index ? find_verb(argv[index]) : NULL;
    bool wants_help = begins_with_help(argc, argv) || has_word(argc, argv, "-h") ||
                      has_word(argc, argv, "--help");
    if (has_word(argc, argv, "--version"))
        puts("halfulp " HALFULP_VERSION);
    else if (verb && wants_help)
        print_verb_help(verb);
    else if (verb)
        st = run_verb(verb, argc, argv, index, &exit_code);
    else if (index)
        st = unknown_verb(argv[index]);
    else if (argc == 1 || wants_help)
        print_short_help();
    else
        st = hu_fail(HU_ERR_UNKNOWN,
                     "found '%.100s' without a verb, expected halfulp VERB ...; "
                     "halfulp --help lists them",
                     argv[1]);
    if (!verb && wants_help && st == HU_OK) print_lists();
    /* The verb's failure is the one that is told; a full disk is told if there is no other. */
    hu_status closed = close_output();
    if (st == HU_OK) st = closed;
    if (st == HU_OK && hu_json_ran_out())
        st = hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
    hu_failure_end();
    if (st == HU_OK) return exit_code;
    hu_failure_tell(st);
    let_others_speak(st);
    return hu_status_exit_code(st);
}
