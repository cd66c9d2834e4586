/* comm/mpi.c - processes of MPI: a module of its own, built once for each MPI that is present,
 * which sees nothing of the library but its header. Messages go from point to point alone: sums and
 * their order are the library's (comm/plan.h), so that they cannot depend on an MPI's choice.
 *
 * Built with HALFULP_SMPI it is linked into a program that SimGrid simulates.
 */
#include <mpi.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/transport.h"

/* Counts of MPI are int. */
enum { MOST_BYTES = 1 << 30 };
_Static_assert(sizeof(MPI_Request) <= sizeof(hu_ticket), "a request is its own ticket");

#if defined(HALFULP_SMPI)
#define NAME "smpi"
#elif defined(OMPI_MAJOR_VERSION)
#define NAME "openmpi"
#else
#define NAME "mpich"
#endif

static hu_ticket ticket_of(MPI_Request request) {
    hu_ticket ticket = 0;
    memcpy(&ticket, &request, sizeof request);
    return ticket;
}

static MPI_Request request_of(hu_ticket ticket) {
    MPI_Request request;
    memcpy(&request, &ticket, sizeof request);
    return request;
}

/* Keeps what MPI says of a failure. */
static int checked(hu_transport *transport, const char *call, int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (code == MPI_SUCCESS) return 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    snprintf(transport->error, sizeof transport->error, "%s: %.*s", call, length, text);
    return code;
}

static int begin_send(hu_transport *transport, int32_t peer, int32_t tag, const void *message,
                      size_t bytes, hu_ticket *ticket) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isend(message, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
    *ticket = ticket_of(request);
    return checked(transport, "MPI_Isend", code);
}

static int begin_receive(hu_transport *transport, int32_t peer, int32_t tag, void *message,
                         size_t bytes, hu_ticket *ticket) {
    MPI_Request request = MPI_REQUEST_NULL;
    int source = peer == HU_TRANSPORT_ANY ? MPI_ANY_SOURCE : peer;
    int code = MPI_Irecv(message, (int)bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &request);
    *ticket = ticket_of(request);
    return checked(transport, "MPI_Irecv", code);
}

#ifdef HALFULP_SMPI
/* Looking again and again would cost simulated time; nobody is late in a simulation. */
static int look(int count, MPI_Request *request, double seconds, int *index, MPI_Status *status) {
    (void)seconds;
    return MPI_Waitany(count, request, index, status);
}
#else
/* Others may need the processor more: at first it is offered to them, then left to them. */
static void relax(double waited) {
    const double short_wait = 100e-6;
    const struct timespec nap = {.tv_nsec = 20000};
    if (waited < short_wait)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* *index is MPI_UNDEFINED if nothing was done in time. */
static int look(int count, MPI_Request *request, double seconds, int *index, MPI_Status *status) {
    double begun = MPI_Wtime(), waited = 0.0;
    int is_done = 0, code = MPI_SUCCESS;
    for (;;) {
        code = MPI_Testany(count, request, index, &is_done, status);
        if (is_done || code != MPI_SUCCESS || waited >= seconds) break;
        relax(waited);
        waited = MPI_Wtime() - begun;
    }
    if (!is_done) *index = MPI_UNDEFINED;
    return code;
}
#endif

static int wait_any(hu_transport *transport, int32_t count, hu_ticket *ticket, double seconds,
                    int32_t *which, size_t *bytes) {
    MPI_Request request[HU_TRANSPORT_WAITS];
    MPI_Status status;
    int index = MPI_UNDEFINED, received = 0;
    *which = -1;
    *bytes = 0;
    for (int32_t i = 0; i < count; i++) request[i] = request_of(ticket[i]);
    int code = look(count, request, seconds, &index, &status);
    if (code == MPI_SUCCESS && index == MPI_UNDEFINED) return 0;
    if (code == MPI_SUCCESS) code = MPI_Get_count(&status, MPI_BYTE, &received);
    *which = index == MPI_UNDEFINED ? -1 : index;
    *bytes = received == MPI_UNDEFINED ? 0 : (size_t)received;
    return checked(transport, "MPI_Testany", code);
}

static void cancel(hu_transport *transport, hu_ticket ticket) {
    MPI_Request request = request_of(ticket);
    (void)transport;
    /* A receive that was given up ends at once, without a message or with one: until then MPI may
     * write to where it goes. */
    if (MPI_Cancel(&request) == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A simulation of times alone may have the rooms of all processes lie in one place: it looks at no
 * contents. */
static void *room(hu_transport *transport, size_t bytes) {
    (void)transport;
#if defined(HALFULP_SMPI) && defined(HALFULP_HOLLOW)
    return SMPI_SHARED_MALLOC(bytes + 1);
#else
    void *block = NULL;
    return MPI_Alloc_mem((MPI_Aint)bytes + 1, MPI_INFO_NULL, &block) == MPI_SUCCESS ? block : NULL;
#endif
}

static void free_room(hu_transport *transport, void *block) {
    (void)transport;
#if defined(HALFULP_SMPI) && defined(HALFULP_HOLLOW)
    SMPI_SHARED_FREE(block);
#else
    MPI_Free_mem(block);
#endif
}

static int was_initialised; /* by somebody else, who will finalise it */

static void leave(hu_transport *transport) {
    (void)transport;
    if (!was_initialised) MPI_Finalize();
}

static void end_job(hu_transport *transport, int exit_code) {
    (void)transport;
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

static const hu_transport_kind kind = {.name = NAME,
                                       .most_bytes = MOST_BYTES,
                                       .send = begin_send,
                                       .receive = begin_receive,
                                       .wait = wait_any,
                                       .cancel = cancel,
                                       .room = room,
                                       .free_room = free_room,
                                       .close = leave,
                                       .end_job = end_job};
static hu_transport world = {.kind = &kind};

/* A second thread is asked for: it talks while the first one computes. */
static int join(int *threads) {
    int code = MPI_Initialized(&was_initialised);
    if (code == MPI_SUCCESS)
        code = was_initialised ? MPI_Query_thread(threads)
                               : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, threads);
    /* Failures are told, not fatal: the library ends what it began. */
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    return code == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, &world.size) : code;
}

__attribute__((visibility("default"))) hu_transport_open_function hu_transport_open_module;

int hu_transport_open_module(uint32_t version, hu_transport **transport, char *error) {
    int threads = MPI_THREAD_SINGLE;
    *transport = NULL;
    if (version != HU_TRANSPORT_VERSION) {
        snprintf(error, HU_TRANSPORT_ERROR, "found a module of version %u, expected %u",
                 HU_TRANSPORT_VERSION, version);
        return 1;
    }
    int code = checked(&world, "MPI_Init_thread", join(&threads));
    memcpy(error, world.error, HU_TRANSPORT_ERROR);
#ifdef HALFULP_SMPI
    world.is_patient = true;
#else
    world.any_thread = threads >= MPI_THREAD_SERIALIZED;
#endif
    if (code == 0) *transport = &world;
    return code;
}
