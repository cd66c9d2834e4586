#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <halfulp/data.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "comm/process_group.h"
#include "comm/transport.h"
#include "help/manual.h"
#include "model/model.h"
#include "precision/precision.h"
#include "render/json.h"
#include "render/table.h"
#include "render/terminal.h"

/* ---- mpi peers ---- */

/* Seconds that MPI's start and end may take at least, whatever comm.timeout says: on a machine with
 * other work they take some. */
static const double start_least = 30.0;

static double guard_seconds(double timeout) {
    return timeout > start_least ? timeout : start_least;
}

hu_status hu_join_peers(hu_config *config, const volatile sig_atomic_t *flag,
                        hu_processes *processes) {
    double timeout;
    hu_status st = hu_config_f64(config, "comm.timeout", &timeout);
    if (st != HU_OK) return st;
    hu_interrupt_guard("halfulp: peer lost: the processes of the job did not all start\n",
                       HU_ERR_PEER, guard_seconds(timeout));
    st = hu_processes_open(config, flag, processes);
    hu_interrupt_unguard();
    /* Without this one the others would wait: it says why. */
    if (st != HU_OK) hu_leave_peers(processes, st);
    if (st == HU_OK && hu_processes_grace(processes) > 0.0)
        hu_interrupt_last_words(hu_comm_status_line, hu_processes_grace(processes));
    return st;
}

static bool is_told;

/* Writes "halfulp: STATUS: last error" unless it was written before, or somebody else does it. */
static void hu_failure_tell(hu_status status) {
    if (is_told) return;
    is_told = true;
    bool wanted = hu_colour_wanted(STDERR_FILENO);
    fprintf(stderr, "%shalfulp: %s:%s %s\n", hu_colour_begin(HU_COLOUR_BAD, wanted),
            hu_status_text(status), hu_colour_end(wanted), hu_last_error());
    fflush(stderr);
}

/* Launchers kill all processes once one has ended the job: its words are carried first. */
static void tell_before_the_end(hu_status status) {
    const struct timespec moment = {.tv_nsec = 300000000};
    hu_failure_tell(status);
    nanosleep(&moment, NULL);
}

/* Another process of the job tells it. */
static void hu_failure_leave(void) {
    is_told = true;
}

/* All know of a failure, and end with it: one says it, and a launcher that ends those who are
 * still on their way out has nothing to add. */
static void leave_with(hu_processes *processes, hu_status status) {
    if (hu_processes_lead(processes))
        hu_failure_tell(status);
    else
        hu_failure_leave();
    hu_interrupt_guard("", status, guard_seconds(processes->wait.timeout));
    hu_processes_close(processes, status);
    hu_interrupt_unguard();
}

void hu_leave_peers(hu_processes *processes, hu_status status) {
    bool has_failed = processes->transport && status != HU_OK && status != HU_ERR_PEER;
    if (has_failed && processes->is_agreed) {
        leave_with(processes, status);
        return;
    }
    if (has_failed) tell_before_the_end(status);
    hu_interrupt_guard("halfulp: peer lost: the processes of the job did not all take leave\n",
                       HU_ERR_PEER, guard_seconds(processes->wait.timeout));
    hu_processes_close(processes, status);
    hu_interrupt_unguard();
}

/* ---- Which key a word may be a value of ---- */

/* "glyphs", "folder:DIR" */
static bool is_data(const char *word) {
    size_t length = strcspn(word, ":");
    for (size_t i = 0; hu_data_kind_name(i); i++) {
        const char *name = hu_data_kind_name(i);
        if (strcspn(name, ":") == length && memcmp(name, word, length) == 0) return true;
    }
    return false;
}

/* "model" of the name of a model, "precision" of a format or a named precision, "data" of a kind of
 * data with or without its path; NULL: none of them. The last error is lost. */
static const char *key_of_word(const char *word) {
    hu_precision precision;
    for (int i = 0; i < hu_model_count; i++)
        if (strcmp(hu_model_table[i].name, word) == 0) return "model";
    if (is_data(word)) return "data";
    if (hu_precision_parse(word, &precision) != HU_OK) return NULL;
    hu_precision_free(&precision);
    return "precision";
}

/* ---- The one line on stderr that says why the program failed ---- */

/* Whether main is over, and exit is the program's own. */
static volatile sig_atomic_t is_ending;

static void on_exit_of_others(void) {
    static const char line[] = "halfulp: out of memory: a library ended the program; a run can be "
                               "resumed from its newest checkpoint\n";
    if (is_ending) return;
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
    (void)ignored;
    _exit(hu_status_exit_code(HU_ERR_MEMORY));
}

/* From now on until failure_end a library that ends the process by exit, as the OpenMP runtime
 * does where it gets neither memory nor threads for its team, ends it with the exit code of
 * HU_ERR_MEMORY and a line of ours after its own. What a checkpoint holds stays, as after a kill.
 * The runtime asks anew for every loop, so that no team made at the start would prevent it. */
static void failure_watch(void) {
    (void)atexit(on_exit_of_others); /* as the first of at least 32 it needs no memory */
}

static void failure_end(void) {
    is_ending = 1;
}

/* ---- The table of verbs: one row for each line of HU_VERB_LIST ---- */

const hu_verb *const hu_verbs[] = {
#define HU_VERB_ROW(name) &hu_verb_##name,
    HU_VERB_LIST(HU_VERB_ROW)
#undef HU_VERB_ROW
        NULL};

/* ---- Halfulp VERB [key=value ...] [--flags] ---- */

enum { VERBS_MOST = 64, NEAREST_BYTES = 256 };

/* `halfulp`, `halfulp --help` and `halfulp VERB --help`. verb NULL: none. */
static hu_status tell(const hu_verb *verb, bool wants_help) {
    char *text = NULL;
    hu_status st = verb         ? hu_manual_verb(verb, &text)
                   : wants_help ? hu_manual_overview(hu_verbs, &text)
                                : hu_manual_short(hu_verbs, &text);
    return hu_show_text(st, text);
}

/* The verb of this name; NULL: none. */
static const hu_verb *find_verb(const char *name) {
    for (size_t i = 0; hu_verbs[i]; i++)
        if (strcmp(hu_verbs[i]->name, name) == 0) return hu_verbs[i];
    return NULL;
}

/* Words that other programs have for what a verb does here; NULL: none. */
static const char *verb_elsewhere(const char *name) {
    static const char *const known[][2] = {{"test", "halfulp eval RUN"},
                                           {"val", "halfulp eval RUN"},
                                           {"validate", "halfulp eval RUN"},
                                           {"evaluate", "halfulp eval RUN"},
                                           {"fit", "halfulp train"},
                                           {"run", "halfulp train"},
                                           {"info", "halfulp model NAME"},
                                           {"summary", "halfulp model NAME"},
                                           {"infer", "halfulp predict RUN"},
                                           {"inference", "halfulp predict RUN"},
                                           {"generate", "halfulp predict RUN text=TEXT"},
                                           {"convert", "halfulp export RUN"},
                                           {"save", "halfulp export RUN"},
                                           {"continue", "halfulp resume RUN"},
                                           {"search", "halfulp assign budget=memory:0.35"},
                                           {"benchmark", "halfulp bench"},
                                           {"formats", "halfulp help formats"},
                                           {"models", "halfulp help models"},
                                           {"runs", "halfulp list"},
                                           {"version", "halfulp --version"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i][0], name) == 0) return known[i][1];
    return NULL;
}

/* HU_ERR_UNKNOWN with what it is called here, or the nearest verbs. */
static hu_status unknown_verb(const char *name) {
    const char *names[VERBS_MOST];
    if (verb_elsewhere(name))
        return hu_fail(HU_ERR_UNKNOWN, "unknown verb '%s', expected `%s`, as it is called here",
                       name, verb_elsewhere(name));
    size_t count = 0;
    for (; hu_verbs[count] && count < VERBS_MOST; count++) names[count] = hu_verbs[count]->name;
    char nearest[NEAREST_BYTES];
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "unknown verb '%.100s', expected one that halfulp --help lists; nearest: %s",
                   name, nearest);
}

/* Place of a word of the command line, 0 if it is missing. */
static int has_word(int argc, char **argv, const char *word) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0) return i;
    return 0;
}

/* First word that is no flag; 0 if there is none. */
static int find_verb_index(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
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

/* Keys of other verbs are told: what was typed in vain is a mistake. Those of files are not, which
 * may serve several verbs. */
static void warn_of_keys(const hu_verb *verb, const hu_config *config) {
    for (size_t i = 0; verb->keys && !verb->refuses_others && i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name, *word = hu_config_typed(config, key);
        if (word && !hu_verb_takes(verb, key))
            hu_listener_tell(&hu_progress_messages,
                             "warning: %.100s has no effect: halfulp %s does not read it", word,
                             verb->name);
    }
}

/* A closed pipe ends a verb that only tells something, as any program. A training is not lost with
 * its reader: what nobody reads is dropped, and that the result could not be written is told in the
 * end. */
static void outlive_readers(const hu_verb *verb) {
    static const char *const trains[] = {"train", "resume", "demo", "compare", "assign", "why"};
    for (size_t i = 0; i < sizeof trains / sizeof *trains; i++)
        if (strcmp(verb->name, trains[i]) == 0) signal(SIGPIPE, SIG_IGN);
}

/* Reads the words that follow the verb, then runs it. */
static hu_status run_verb(const hu_verb *verb, int argc, char **argv, int index, int *exit_code) {
    hu_config_request request = {argc, argv, index, verb->flags, verb->max_subjects, key_of_word};
    hu_config *config;
    hu_status st = hu_cap_check();
    if (st == HU_OK) st = check_processes(verb);
    if (st == HU_OK) st = hu_config_load(&request, &config);
    if (st != HU_OK) return st;
    outlive_readers(verb);
    warn_of_keys(verb, config);
    if (hu_config_subjects(config) < verb->min_subjects)
        st = missing_subject(verb);
    else
        st = hu_outputs_check(verb, config, argc, argv);
    if (st == HU_OK) st = verb->run(config, exit_code);
    hu_config_free(config);
    return st;
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

int hu_program(int argc, char **argv) {
    hu_descriptors_fill();
    hu_json_guard();
    hu_stdout_open();
    /* Before anything else: the program may begin again here, and memory is not asked for yet. */
    wait_briefly(argv);
    failure_watch();
    give_memory_back();
    hu_interrupt_with_parent();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a failed write, reported as such */
    int exit_code = 0;
    hu_status st = HU_OK;
    /* The verb need not come first: flags may stand before it. */
    int index = find_verb_index(argc, argv);
    const hu_verb *verb = index ? find_verb(argv[index]) : NULL;
    bool wants_help = has_word(argc, argv, "-h") || has_word(argc, argv, "--help");
    if (has_word(argc, argv, "--version"))
        puts("halfulp " HALFULP_VERSION);
    else if (verb && wants_help)
        st = tell(verb, true);
    else if (verb)
        st = run_verb(verb, argc, argv, index, &exit_code);
    else if (index)
        st = unknown_verb(argv[index]);
    else if (argc == 1 || wants_help)
        st = tell(NULL, wants_help);
    else
        st = hu_fail(HU_ERR_UNKNOWN,
                     "found '%.100s' without a verb, expected halfulp VERB ...; "
                     "halfulp --help lists them",
                     argv[1]);
    /* The verb's failure is the one that is told; a full disk is told if there is no other. */
    hu_status closed = hu_stdout_end();
    if (st == HU_OK) st = closed;
    if (st == HU_OK && hu_json_ran_out())
        st = hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
    failure_end();
    if (st == HU_OK) return exit_code;
    hu_failure_tell(st);
    let_others_speak(st);
    return hu_status_exit_code(st);
}

int main(int argc, char **argv) {
    return hu_program(argc, argv);
}
