#include "comm/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/module.h"
#include "base/process.h"
#include "base/text.h"

static hu_status failed(const hu_transport *transport) {
    return hu_fail(HU_ERR_PEER, "%s: %s", transport->kind->name, transport->error);
}

/* All parts but the last are the most that the transport takes. */
static size_t bytes_of_part(const hu_transport *transport, const hu_transfer *transfer,
                            int32_t part) {
    size_t most = transport->kind->most_bytes, left = transfer->bytes - (size_t)part * most;
    return left < most ? left : most;
}

/* Where the parts begin is the same at both ends: it depends on the bytes alone. */
static hu_status begin(hu_transport *transport, int32_t tag, uint8_t *message,
                       hu_transfer *transfer) {
    const hu_transport_kind *kind = transport->kind;
    size_t parts = transfer->bytes == 0 ? 1 : (transfer->bytes - 1) / kind->most_bytes + 1;
    if (parts > HU_TRANSPORT_PARTS)
        return hu_fail(HU_ERR_LIMIT, "message: found %zu bytes, expected at most %d times %zu",
                       transfer->bytes, HU_TRANSPORT_PARTS, kind->most_bytes);
    transfer->since = hu_seconds_now();
    for (int32_t p = 0; p < (int32_t)parts; p++) {
        uint8_t *part = message + (size_t)p * kind->most_bytes;
        size_t bytes = bytes_of_part(transport, transfer, p);
        hu_ticket *ticket = &transfer->ticket[p];
        if ((transfer->is_receive
                 ? kind->receive(transport, transfer->peer, tag, part, bytes, ticket)
                 : kind->send(transport, transfer->peer, tag, part, bytes, ticket)) != 0)
            return failed(transport);
        transfer->parts++;
    }
    return HU_OK;
}

hu_status hu_transfer_send(hu_transport *transport, int32_t peer, int32_t tag, const void *message,
                           size_t bytes, hu_transfer *transfer) {
    *transfer = (hu_transfer){.peer = peer, .bytes = bytes};
    return begin(transport, tag, (uint8_t *)(uintptr_t)message, transfer);
}

hu_status hu_transfer_receive(hu_transport *transport, int32_t peer, int32_t tag, void *message,
                              size_t bytes, hu_transfer *transfer) {
    *transfer = (hu_transfer){.is_receive = true, .peer = peer, .bytes = bytes};
    return begin(transport, tag, message, transfer);
}

/* A part is done. The rest of a message that is too short would be waited for in vain. */
static hu_status end_part(hu_transport *transport, hu_transfer *transfer, size_t bytes) {
    size_t expected = bytes_of_part(transport, transfer, transfer->done++);
    if (!transfer->is_receive || bytes == expected) return HU_OK;
    return hu_fail(HU_ERR_PEER, "message of rank %d: found %zu bytes, expected %zu", transfer->peer,
                   bytes, expected);
}

hu_status hu_transfer_wait(hu_transport *transport, hu_transfer *const *open, int32_t count,
                           double seconds, int32_t *which) {
    hu_ticket ticket[HU_TRANSPORT_WAITS];
    int32_t number[HU_TRANSPORT_WAITS], waits = 0, found;
    size_t bytes = 0;
    *which = -1;
    for (int32_t i = 0; i < count && waits < HU_TRANSPORT_WAITS; i++) {
        if (!hu_transfer_is_open(open[i])) continue;
        number[waits] = i;
        ticket[waits++] = open[i]->ticket[open[i]->done];
    }
    if (transport->kind->wait(transport, waits, ticket, seconds, &found, &bytes) != 0)
        return failed(transport);
    if (found < 0) return HU_OK;
    *which = number[found];
    return end_part(transport, open[*which], bytes);
}

void hu_transfer_cancel(hu_transport *transport, hu_transfer *transfer) {
    for (; hu_transfer_is_open(transfer); transfer->done++)
        transport->kind->cancel(transport, transfer->ticket[transfer->done]);
}

/* ---- message ---- */

/* What goes from one worker to another: a header, and pieces of the layers of a
 * bucket, each from a whole byte on.
 *
 * After the header, layer by layer of the bucket: one signed byte k per piece where pieces have
 * scales of their own (comm/plan.h), then the dense bits of its numbers (kernel/wire). All
 * numbers are little-endian: workers are machines of one kind.
 */

static uint64_t checksum(const uint8_t *message, size_t bytes) {
    return XXH3_64bits(message + sizeof(hu_comm_header), bytes - sizeof(hu_comm_header));
}

void hu_comm_seal(hu_comm_header header, uint8_t *message, size_t bytes) {
    header.magic = HU_COMM_MAGIC;
    header.bytes = bytes - sizeof header;
    header.checksum = checksum(message, bytes);
    memcpy(message, &header, sizeof header);
}

hu_status hu_comm_open(const hu_comm_header *expected, const uint8_t *message, size_t bytes) {
    hu_comm_header found;
    memcpy(&found, message, sizeof found);
    if (found.magic != HU_COMM_MAGIC || found.bytes != bytes - sizeof found)
        return hu_fail(
            HU_ERR_CORRUPT, "message: found mark %08x and %llu bytes, expected %08x and %zu",
            found.magic, (unsigned long long)found.bytes, HU_COMM_MAGIC, bytes - sizeof found);
    if (found.step != expected->step || found.bucket != expected->bucket ||
        found.place != expected->place)
        return hu_fail(HU_ERR_CORRUPT,
                       "message: found step %llu, bucket %u, place %u, expected step %llu, bucket "
                       "%u, place %u",
                       (unsigned long long)found.step, found.bucket, found.place,
                       (unsigned long long)expected->step, expected->bucket, expected->place);
    if (found.format != expected->format)
        return hu_fail(HU_ERR_CORRUPT,
                       "message: found numbers of another format (%08x), expected "
                       "%08x",
                       found.format, expected->format);
    if (found.checksum != checksum(message, bytes))
        return hu_fail(HU_ERR_CORRUPT,
                       "message: found checksum %016llx of %llu bytes, expected %016llx",
                       (unsigned long long)checksum(message, bytes),
                       (unsigned long long)found.bytes, (unsigned long long)found.checksum);
    return HU_OK;
}

/* ---- load ---- */

/* Finds the transport of this process: modules for the MPIs that the build found. */

enum { VARIABLES = 3 };

/* A module halfulp-<name>.so, and what its launchers put into the environment. */
typedef struct module {
    const char *name;
    const char *variable[VARIABLES], *size[VARIABLES];
} module;

/* PMIx tells no number of processes; SLURM, which may have started it, does. */
static const module modules[] = {
    {"openmpi",
     {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"},
     {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}},
    {"mpich", {"PMI_SIZE", "PMI_RANK"}, {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}}};
enum { MODULES = sizeof modules / sizeof *modules };

/* Processes that the launcher started; 0: it does not tell. */
static int32_t processes_of(const module *m) {
    for (size_t v = 0; v < VARIABLES && m->size[v]; v++) {
        const char *text = getenv(m->size[v]);
        long count = text ? strtol(text, NULL, 10) : 0;
        if (count > 0 && count <= INT32_MAX) return (int32_t)count;
    }
    return 0;
}

const char *hu_transport_of_launcher(int32_t *processes) {
    *processes = 1;
    for (size_t m = 0; m < MODULES; m++)
        for (size_t v = 0; v < VARIABLES && modules[m].variable[v]; v++) {
            if (!getenv(modules[m].variable[v])) continue;
            *processes = processes_of(&modules[m]);
            return modules[m].name;
        }
    return NULL;
}

static hu_status check_name(const char *name) {
    const char *names[MODULES];
    char nearest[128];
    for (size_t m = 0; m < MODULES; m++) {
        names[m] = modules[m].name;
        if (strcmp(name, names[m]) == 0) return HU_OK;
    }
    hu_nearest(name, names, MODULES, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "transport '%.100s': expected one of %s", name, nearest);
}

/* It is never closed: MPI leaves threads and handlers after. */
static hu_status load(const char *name, hu_transport_open_function **open_module) {
    char what[120];
    snprintf(what, sizeof what, "transport %.100s", name);
    return hu_module_load(name, HU_TRANSPORT_OPEN, what,
                          "a build that found the compiler wrapper of that MPI", open_module);
}

hu_status hu_transport_open(const char *name, hu_transport **transport) {
    hu_transport_open_function *open_module;
    char error[HU_TRANSPORT_ERROR] = "";
    *transport = NULL;
    hu_status st = check_name(name);
    if (st == HU_OK) st = load(name, &open_module);
    if (st != HU_OK) return st;
    if (open_module(HU_TRANSPORT_VERSION, transport, error) == 0) return HU_OK;
    return hu_fail(HU_ERR_PEER, "transport %s: %s", name, error);
}
