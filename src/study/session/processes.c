#include "session/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/transport.h"
#include "data/fingerprint.h"

/* Name of the transport that the keys and the launcher ask for; NULL: none. A process that was
 * started alone needs none. *processes: of the launcher, 0 where it does not tell. */
static hu_status chosen_transport(const hu_config *config, const char **name, int32_t *processes) {
    const char *text;
    hu_status st = hu_config_text(config, "comm.transport", &text);
    if (st != HU_OK) return st;
    *name = hu_transport_of_launcher(processes);
    if (strcmp(text, "mpi") == 0 && !*name)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "comm.transport=mpi: found no launcher of MPI, expected `mpirun -np N "
                       "halfulp ...`; comm.transport=emulated runs all workers in one process");
    if (strcmp(text, "emulated") == 0 && *processes > 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "comm.transport=emulated: found %d processes, expected one, which runs all "
                       "workers",
                       *processes);
    if (strcmp(text, "emulated") == 0 || (strcmp(text, "auto") == 0 && *processes == 1))
        *name = NULL;
    return HU_OK;
}

/* An MPI that does not know its launcher takes every process for one that is alone. */
static hu_status check_size(const hu_transport *transport, int32_t processes) {
    if (processes == 0 || processes == transport->size) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "the launcher started %d processes, but %s joins %d: expected the launcher of "
                   "that MPI (for SLURM, srun --mpi=pmix or --mpi=pmi2)",
                   processes, transport->kind->name, transport->size);
}

/* Left open, there are as many workers as processes. */
static hu_status set_workers(hu_config *config, const hu_transport *transport) {
    hu_status st = HU_OK;
    char workers[32];
    hu_keys *tree = NULL;
    if (hu_config_given(config, "comm.workers")) return HU_OK;
    snprintf(workers, sizeof workers, "%d", transport->size);
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, transport->kind->name, &tree));
    HU_TRY(hu_keys_set_text(tree, "comm.workers", workers, transport->kind->name));
    HU_TRY(hu_config_merge(config, tree));
done:
    hu_keys_free(tree);
    return st;
}

static hu_status check_workers(const hu_config *config, const hu_transport *transport) {
    int64_t count;
    hu_status st = hu_config_i64(config, "comm.workers", &count);
    if (st != HU_OK || count == transport->size) return st;
    return hu_fail(HU_ERR_ARGUMENT,
                   "found %lld workers in %d processes, expected one worker in each process: "
                   "mpirun -np %lld, or no mpirun",
                   (long long)count, transport->size, (long long)count);
}

hu_status hu_processes_open(hu_config *config, const volatile sig_atomic_t *stop,
                            hu_processes *peers) {
    hu_status st = HU_OK;
    const char *name;
    int32_t processes;
    *peers = (hu_processes){.wait.is_ending = stop};
    HU_TRY(hu_config_f64(config, "comm.timeout", &peers->wait.timeout));
    HU_TRY(hu_config_bool(config, "comm.overlap", &peers->overlap));
    HU_TRY(chosen_transport(config, &name, &processes));
    if (!name) return HU_OK;
    HU_TRY(hu_transport_open(name, &peers->transport));
    HU_TRY(hu_rendezvous_create(peers->transport, &peers->wait, &peers->job));
    st = check_size(peers->transport, processes);
    if (st == HU_OK) st = set_workers(config, peers->transport);
    if (st == HU_OK) st = check_workers(config, peers->transport);
    HU_TRY(hu_processes_agree(peers, st));
done:
    return st;
}

void hu_processes_close(hu_processes *peers, hu_status status) {
    hu_transport *transport = peers->transport;
    if (!transport) return;
    hu_rendezvous_free(peers->job);
    peers->job = NULL;
    peers->transport = NULL;
    /* Where a peer is lost each process says so itself, and there is nobody to take leave of. */
    if (status == HU_ERR_PEER) return;
    if (status == HU_OK || peers->is_agreed)
        transport->kind->close(transport);
    else
        transport->kind->end_job(transport, hu_status_exit_code(status));
}

/* Rows of all processes, between reductions. */
static hu_status meet(const hu_processes *peers, const char *where, size_t bytes, void *all) {
    hu_status st = hu_rendezvous_gather(peers->job, bytes, all);
    return st == HU_OK ? st : hu_fail_within(st, "rank %d, %s: ", peers->transport->rank, where);
}

/* ---- how it went ---- */

/* What a process tells the others. Travels: no padding. */
typedef struct verdict {
    int32_t status;
    char text[1020];
} verdict;

hu_status hu_processes_agree(hu_processes *peers, hu_status own) {
    hu_status st = HU_OK;
    verdict *all = NULL;
    if (!peers->job) return own;
    int32_t count = peers->transport->size, rank = peers->transport->rank, first = 0;
    HU_TRY(HU_NEW_ARRAY(&all, (size_t)count));
    all[rank].status = (int32_t)own;
    if (own != HU_OK) snprintf(all[rank].text, sizeof all->text, "%s", hu_last_error());
    st = meet(peers, "where all have opened", sizeof *all, all);
    /* Its own words are better than that the others went away. */
    if (st != HU_OK && own != HU_OK) st = hu_fail(own, "%s", all[rank].text);
    HU_TRY(st);
    while (first < count && all[first].status == HU_OK) first++;
    if (first == count) goto done;
    peers->is_agreed = true;
    st = (hu_status)all[first].status;
    st = first == 0 ? hu_fail(st, "%s", all[first].text)
                    : hu_fail(st, "worker %d: %s", first, all[first].text);
done:
    hu_free(all);
    return st;
}

/* Open MPI's mpirun sends SIGKILL a second after SIGTERM, unless told otherwise. */
double hu_processes_grace(const hu_processes *peers) {
    const double usual = 1.0, moment = 0.4;
    if (!peers->transport || strcmp(peers->transport->kind->name, "openmpi") != 0) return 0.0;
    const char *text = getenv("OMPI_MCA_odls_base_sigkill_timeout");
    double given = text ? strtod(text, NULL) : usual;
    return given > 2.0 * moment ? given - moment : 0.5 * given;
}

hu_status hu_processes_team(void *context, const hu_comm_plan *plan, float *const *gradient,
                            hu_process_group **team) {
    const hu_processes *peers = context;
    return hu_process_group_process(plan, gradient, peers->job, peers->overlap, team);
}

void hu_processes_join(const hu_processes *peers, hu_train_comm *comm) {
    if (!peers || !peers->transport) return;
    comm->join = hu_processes_team;
    comm->context = (void *)peers; /* handed back to hu_processes_team alone, which reads it */
    comm->first = peers->transport->rank;
    /* A job of one process is one, too. */
    if (comm->options.workers < 1) comm->options.workers = 1;
}

/* ---- do all train the same? ---- */

/* A text that grows. */
typedef struct lines {
    char *text;
    size_t length, capacity;
} lines;

static hu_status add_line(lines *all, const char *name, const char *value) {
    size_t needed = all->length + strlen(name) + strlen(value) + 4;
    void *block = all->text;
    if (needed > all->capacity) {
        hu_status st = hu_realloc(&block, 2 * needed);
        if (st != HU_OK) return st;
        all->text = block;
        all->capacity = 2 * needed;
    }
    all->length += (size_t)snprintf(all->text + all->length, all->capacity - all->length, "%s %s\n",
                                    name, value);
    return HU_OK;
}

/* One key with its value, or the items of its list one by one. */
static hu_status add_key(lines *all, const hu_config *config, const char *name) {
    const hu_keys *node = hu_keys_find(hu_config_tree(config), name);
    if (!node) return HU_OK;
    if (hu_keys_kind_of(node) == HU_KEYS_TEXT) return add_line(all, name, hu_keys_value(node));
    for (size_t i = 0; i < hu_keys_count(node); i++) {
        hu_status st = add_line(all, name, hu_keys_value(hu_keys_at(node, i)));
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

static hu_status add_number(lines *all, const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return add_line(all, name, text);
}

/* Keys in which processes may differ: what each does for itself, and what one does alone. */
static bool may_differ(const char *key) {
    static const char *const names[] = {"run.dir",      "run.threads",  "run.quiet",     "run.keep",
                                        "comm.timeout", "comm.overlap", "comm.transport"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i]) == 0) return true;
    return strncmp(key, "out.", strlen("out.")) == 0;
}

/* The data, line by line: classes, samples, numbers in memory and files. */
static hu_status add_data(lines *all, const char *fingerprint) {
    char *text;
    hu_status st = hu_fingerprint_sum(fingerprint, &text);
    for (char *line = text, *end; st == HU_OK && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        st = add_line(all, "data:", line);
    }
    hu_free(text);
    return st;
}

/* All that decides about what the processes do together. */
static hu_status write_lines(const hu_config *config, const hu_trainer *trainer,
                             const char *fingerprint, lines *all) {
    hu_status st = HU_OK;
    HU_TRY(add_line(all, "version", HALFULP_VERSION));
    for (size_t i = 0; i < hu_config_key_count; i++)
        if (!may_differ(hu_config_keys[i].name))
            HU_TRY(add_key(all, config, hu_config_keys[i].name));
    if (!trainer) goto done;
    HU_TRY(add_data(all, fingerprint));
    HU_TRY(add_number(all, "step", (uint64_t)hu_trainer_progress(trainer)->step));
    HU_TRY(add_number(all, "hash of the weights", hu_trainer_weights_hash(trainer)));
done:
    return st;
}

/* Where two texts begin to differ: the beginning of that line. */
static size_t first_difference(const char *a, const char *b) {
    size_t at = 0, line = 0;
    for (; a[at] && a[at] == b[at]; at++)
        if (a[at] == '\n') line = at + 1;
    return line;
}

/* rows[count][bytes] of equal texts, or the first that differs from worker 0's. */
static hu_status compare_rows(const char *rows, size_t bytes, int32_t count) {
    for (int32_t w = 1; w < count; w++) {
        const char *own = rows + (size_t)w * bytes;
        size_t at = first_difference(rows, own);
        if (!own[at] && !rows[at]) continue;
        return hu_fail(HU_ERR_ARGUMENT,
                       "worker %d has '%.*s', worker 0 has '%.*s': expected the "
                       "same of all",
                       w, (int)strcspn(own + at, "\n"), own + at, (int)strcspn(rows + at, "\n"),
                       rows + at);
    }
    return HU_OK;
}

static const char at_start[] = "comparing keys before the first step";

/* The texts of all processes, rows[size][*bytes]. Owner frees. */
static hu_status gather_texts(const hu_processes *peers, const lines *own, char **rows,
                              size_t *bytes) {
    hu_status st = HU_OK;
    uint64_t *length = NULL;
    size_t count = (size_t)peers->transport->size, rank = (size_t)peers->transport->rank;
    *bytes = 0;
    HU_TRY(HU_NEW_ARRAY(&length, count));
    length[rank] = own->length + 1;
    HU_TRY(meet(peers, at_start, sizeof *length, length));
    for (size_t w = 0; w < count; w++)
        if (length[w] > *bytes) *bytes = (size_t)length[w];
    HU_TRY(hu_new_array(count, *bytes, rows));
    memcpy(*rows + rank * *bytes, own->text, own->length + 1);
    HU_TRY(meet(peers, at_start, *bytes, *rows));
done:
    hu_free(length);
    return st;
}

hu_status hu_processes_compare(hu_processes *peers, const hu_config *config,
                               const hu_trainer *trainer, const char *fingerprint) {
    hu_status st = HU_OK;
    lines own = {0};
    size_t bytes;
    char *rows = NULL;
    if (!peers->job) return HU_OK;
    HU_TRY(write_lines(config, trainer, fingerprint, &own));
    HU_TRY(gather_texts(peers, &own, &rows, &bytes));
    st = compare_rows(rows, bytes, peers->transport->size);
    peers->is_agreed = st != HU_OK;
done:
    hu_free(own.text);
    hu_free(rows);
    return st;
}

/* hash[count] of equal weights, or who has others than worker 0. */
static hu_status compare_hashes(const uint64_t *hash, int32_t count, int64_t step) {
    for (int32_t w = 1; w < count; w++)
        if (hash[w] != hash[0])
            return hu_fail(HU_ERR_INTERNAL,
                           "behind step %lld worker %d has weights of hash %016llx, worker 0 of "
                           "%016llx: expected the same of all",
                           (long long)step, w, (unsigned long long)hash[w],
                           (unsigned long long)hash[0]);
    return HU_OK;
}

hu_status hu_processes_compare_weights(hu_processes *peers, const hu_trainer *trainer) {
    hu_status st = HU_OK;
    uint64_t *hash = NULL;
    char where[96];
    int64_t step = hu_trainer_progress(trainer)->step;
    if (!peers || !peers->job) return HU_OK;
    snprintf(where, sizeof where, "comparing weights behind training step %lld",
             (long long)step - 1);
    HU_TRY(HU_NEW_ARRAY(&hash, (size_t)peers->transport->size));
    hash[peers->transport->rank] = hu_trainer_weights_hash(trainer);
    HU_TRY(meet(peers, where, sizeof *hash, hash));
    st = compare_hashes(hash, peers->transport->size, step);
    peers->is_agreed = st != HU_OK;
done:
    hu_free(hash);
    return st;
}
