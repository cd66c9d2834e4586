#include "session/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/load.h"
#include "config/used.h"

/* Name of the transport that the keys and the launcher ask for; NULL: none. */
static hu_status chosen_transport(const hu_config *config, const char **name) {
    const char *text;
    hu_status st = hu_config_text(config, "comm.transport", &text);
    if (st != HU_OK) return st;
    *name = strcmp(text, "emulated") == 0 ? NULL : hu_transport_of_launcher();
    if (strcmp(text, "mpi") == 0 && !*name)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "comm.transport=mpi: found no launcher of MPI, expected `mpirun -np N "
                       "halfulp ...`; comm.transport=emulated runs all workers in one process");
    return HU_OK;
}

hu_status hu_peers_open(hu_config *config, const volatile sig_atomic_t *stop, hu_peers *peers) {
    hu_status st = HU_OK;
    const char *name;
    char workers[32];
    int64_t count;
    *peers = (hu_peers){.options.wait.is_ending = stop};
    HU_TRY(hu_config_f64(config, "comm.timeout", &peers->options.wait.timeout));
    HU_TRY(hu_config_bool(config, "comm.overlap", &peers->options.overlap));
    HU_TRY(chosen_transport(config, &name));
    if (!name) return HU_OK;
    HU_TRY(hu_transport_open(name, &peers->transport));
    snprintf(workers, sizeof workers, "%d", peers->transport->size);
    if (!hu_config_given(config, "comm.workers")) {
        hu_keys *tree;
        HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, name, &tree));
        st = hu_keys_set_text(tree, "comm.workers", workers, name);
        if (st == HU_OK) st = hu_config_merge(config, tree);
        hu_keys_free(tree);
        HU_TRY(st);
    }
    HU_TRY(hu_config_i64(config, "comm.workers", &count));
    if (count != peers->transport->size)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "found %lld workers in %d processes, expected one worker in each process; "
                       "comm.transport=emulated runs all workers in one process",
                       (long long)count, peers->transport->size));
done:
    return st;
}

/* Ends that all processes reach in the same step. */
static bool is_shared(hu_status status) {
    return status == HU_OK || status == HU_ERR_NONFINITE || status == HU_ERR_INTERRUPTED ||
           status == HU_ERR_ARGUMENT;
}

void hu_peers_close(hu_peers *peers, hu_status status) {
    hu_transport *transport = peers->transport;
    peers->transport = NULL;
    if (!transport) return;
    /* Where a peer is lost each process says so itself, and there is nobody to take leave of. */
    if (status == HU_ERR_PEER) return;
    if (is_shared(status))
        transport->kind->close(transport);
    else
        transport->kind->end_job(transport, hu_status_exit_code(status));
}

/* Open MPI's mpirun sends SIGKILL a second after SIGTERM, unless told otherwise. */
double hu_peers_grace(const hu_peers *peers) {
    const double usual = 1.0, moment = 0.4;
    if (!peers->transport || strcmp(peers->transport->kind->name, "openmpi") != 0) return 0.0;
    const char *text = getenv("OMPI_MCA_odls_base_sigkill_timeout");
    double given = text ? strtod(text, NULL) : usual;
    return given > 2.0 * moment ? given - moment : 0.5 * given;
}

hu_status hu_peers_team(void *context, const hu_comm_plan *plan, float *const *gradient,
                        hu_team **team) {
    const hu_peers *peers = context;
    return hu_team_process(plan, gradient, peers->transport, &peers->options, team);
}

void hu_peers_join(const hu_peers *peers, hu_train_comm *comm) {
    if (!peers || !peers->transport) return;
    comm->join = hu_peers_team;
    comm->context = (void *)peers; /* handed back to hu_peers_team alone, which reads it */
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

/* All that decides about the bits of a training. */
static hu_status write_lines(const hu_config *config, const hu_trainer *trainer,
                             const hu_dataset *dataset, lines *all) {
    hu_status st = HU_OK;
    HU_TRY(add_line(all, "version", HALFULP_VERSION));
    for (size_t i = 0; i < hu_config_key_count; i++)
        if (!hu_config_key_is_free(hu_config_keys[i].name))
            HU_TRY(add_key(all, config, hu_config_keys[i].name));
    HU_TRY(add_number(all, "training samples", (uint64_t)dataset->train.count));
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

hu_status hu_peers_compare(const hu_peers *peers, const hu_config *config, hu_trainer *trainer,
                           const hu_dataset *dataset) {
    hu_status st = HU_OK;
    lines own = {0};
    uint64_t *length = NULL, most = 0;
    char *rows = NULL;
    if (!peers || !peers->transport) return HU_OK;
    size_t count = (size_t)peers->transport->size, rank = (size_t)peers->transport->rank;
    HU_TRY(write_lines(config, trainer, dataset, &own));
    HU_TRY(HU_NEW_ARRAY(&length, count));
    length[rank] = own.length + 1;
    HU_TRY(hu_trainer_tell_all(trainer, sizeof *length, length));
    for (size_t w = 0; w < count; w++)
        if (length[w] > most) most = length[w];
    HU_TRY(HU_NEW_ARRAY(&rows, count * most));
    memcpy(rows + rank * most, own.text, own.length + 1);
    HU_TRY(hu_trainer_tell_all(trainer, most, rows));
    HU_TRY(compare_rows(rows, most, (int32_t)count));
done:
    hu_free(own.text);
    hu_free(length);
    hu_free(rows);
    return st;
}

hu_status hu_peers_compare_weights(const hu_peers *peers, hu_trainer *trainer) {
    hu_status st = HU_OK;
    uint64_t *hash = NULL;
    if (!peers || !peers->transport) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&hash, (size_t)peers->transport->size));
    hash[peers->transport->rank] = hu_trainer_weights_hash(trainer);
    HU_TRY(hu_trainer_tell_all(trainer, sizeof *hash, hash));
    for (int32_t w = 1; w < peers->transport->size; w++)
        if (hash[w] != hash[0])
            HU_TRY(hu_fail(HU_ERR_INTERNAL,
                           "behind step %lld worker %d has weights of hash %016llx, worker 0 of "
                           "%016llx: expected the same of all",
                           (long long)hu_trainer_progress(trainer)->step, w,
                           (unsigned long long)hash[w], (unsigned long long)hash[0]));
done:
    hu_free(hash);
    return st;
}
