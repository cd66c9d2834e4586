/* comm/transport.h - messages of bytes between the processes of a training, whoever carries them.
 *
 * A kind of transport may be a module that is loaded at run time (comm/transport.h) and sees
 * nothing of the library but this header: it speaks of failures in numbers and a text. Messages
 * between two processes with equal tags arrive in the order in which they were sent.
 */
#ifndef HU_COMM_TRANSPORT_H
#define HU_COMM_TRANSPORT_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Changes with the structures below: a module of another build is refused. */
#define HU_TRANSPORT_VERSION 1u

enum {
    HU_TRANSPORT_ANY = -1,     /* receive: from whoever sends */
    HU_TRANSPORT_PARTS = 64,   /* into which a message may be cut */
    HU_TRANSPORT_WAITS = 32,   /* tickets that one wait may look at */
    HU_TRANSPORT_ERROR = 256,  /* bytes of a text */
    HU_TRANSPORT_TAG_MOST = 63 /* tags: 0 .. */
};

typedef struct hu_transport hu_transport;

/* A message on its way, in the words of the kind. */
typedef uint64_t hu_ticket;

/* What a kind of transport does. Numbers returned: 0, or another one, and transport->error says
 * why. Calls come from one thread at a time; from the one that opened it unless any_thread. */
typedef struct hu_transport_kind {
    const char *name;  /* "openmpi" */
    size_t most_bytes; /* of one message of send and receive */

    int (*send)(hu_transport *transport, int32_t peer, int32_t tag, const void *message,
                size_t bytes, hu_ticket *ticket);
    int (*receive)(hu_transport *transport, int32_t peer, int32_t tag, void *message, size_t bytes,
                   hu_ticket *ticket);

    /* Waits until one of ticket[count] is done, whose number is *which and whose received bytes are
     * *bytes, or until `seconds` have passed: *which is -1. 0 seconds: looks once. */
    int (*wait)(hu_transport *transport, int32_t count, hu_ticket *ticket, double seconds,
                int32_t *which, size_t *bytes);

    /* Gives up a receive that is not done. */
    void (*cancel)(hu_transport *transport, hu_ticket ticket);

    /* Room for messages as the network likes it; NULL: there is none. */
    void *(*room)(hu_transport *transport, size_t bytes);
    void (*free_room)(hu_transport *transport, void *room);

    /* Leaves the other processes in peace; all of them close. */
    void (*close)(hu_transport *transport);

    /* Ends all processes with an exit code. May return. */
    void (*end_job)(hu_transport *transport, int exit_code);
} hu_transport_kind;

struct hu_transport {
    const hu_transport_kind *kind;
    int32_t rank, size; /* of this process among all */
    bool any_thread;    /* any thread may call, one at a time */
    bool is_patient;    /* waits never end early: there is no time that could pass (simulators) */
    char error[HU_TRANSPORT_ERROR]; /* of the latest failure */
};

/* What a module exports under the name HU_TRANSPORT_OPEN: joins the processes, once in the life of
 * this one. Another number than 0: error[HU_TRANSPORT_ERROR] says why. */
typedef int hu_transport_open_function(uint32_t version, hu_transport **transport, char *error);
#define HU_TRANSPORT_OPEN "hu_transport_open_module"

/* A message on its way, in parts where it is longer than the transport's most. */
typedef struct hu_transfer {
    bool is_receive;
    int32_t peer;
    int32_t parts, done; /* parts that are done; all: the message is */
    double since;        /* second in which it was begun */
    size_t bytes, received;
    hu_ticket ticket[HU_TRANSPORT_PARTS];
} hu_transfer;

static inline bool hu_transfer_is_open(const hu_transfer *transfer) {
    return transfer->done < transfer->parts;
}

/* Begins to send or receive message[bytes], which stays where it is until the transfer is done.
 * HU_ERR_LIMIT: too long for all parts; HU_ERR_PEER with the text of the transport. */
hu_status hu_transfer_send(hu_transport *transport, int32_t peer, int32_t tag, const void *message,
                           size_t bytes, hu_transfer *transfer);
hu_status hu_transfer_receive(hu_transport *transport, int32_t peer, int32_t tag, void *message,
                              size_t bytes, hu_transfer *transfer);

/* Waits until some part of open[count] is done, or `seconds` have passed: *which is the number of
 * its transfer, or -1. Transfers that are not open are skipped; at least one is open. HU_ERR_PEER:
 * the transport failed, or a message had other than the expected bytes. */
hu_status hu_transfer_wait(hu_transport *transport, hu_transfer *const *open, int32_t count,
                           double seconds, int32_t *which);

/* Gives up what is still to be received; for transfers of receives only. */
void hu_transfer_cancel(hu_transport *transport, hu_transfer *transfer);

/* ---- message ---- */

/* What goes from one worker to another: a header, and pieces of the layers of a
 * bucket, each from a whole byte on.
 *
 * After the header, layer by layer of the bucket: one signed byte k per piece where pieces have
 * scales of their own (comm/plan.h), then the dense bits of its numbers (kernel/wire). All
 * numbers are little-endian: workers are machines of one kind.
 */

#define HU_COMM_MAGIC 0x50556c68u /* "hlUP" */

typedef struct hu_comm_header {
    uint32_t magic;
    uint32_t format;   /* hash of format and rounding on the wire */
    uint64_t bytes;    /* of what follows */
    uint64_t step;     /* of the training */
    uint32_t bucket;   /* number of the bucket */
    uint32_t place;    /* step of the schedule */
    uint64_t checksum; /* XXH3 of what follows */
} hu_comm_header;
_Static_assert(sizeof(hu_comm_header) == 40, "headers travel as they lie in memory");

/* Fills the header in front of message[bytes]. */
void hu_comm_seal(hu_comm_header header, uint8_t *message, size_t bytes);

/* Whether message[bytes] is what was expected: HU_ERR_CORRUPT says what was found and expected. */
hu_status hu_comm_open(const hu_comm_header *expected, const uint8_t *message, size_t bytes);

/* ---- load ---- */

/* Finds the transport of this process: modules for the MPIs that the build found. */

/* Name of the transport below whose launcher this process runs ("openmpi", "mpich"); NULL: below
 * none. *processes that it started; 0: it does not tell. Borrowed: valid forever. */
const char *hu_transport_of_launcher(int32_t *processes);

/* Loads the module of a transport and joins the other processes, once in the life of this one.
 * HU_ERR_UNKNOWN: there is no transport of that name; HU_ERR_UNSUPPORTED: its module, or the MPI
 * that it needs, is missing: the message says what was looked for; HU_ERR_PEER: MPI failed. */
hu_status hu_transport_open(const char *name, hu_transport **transport);

/* ---- Waiting for other processes ---- */

typedef struct hu_failure_detector hu_failure_detector;

typedef struct hu_failure_detector_options {
    double timeout; /* seconds that a message may take */
    /* NULL, or what becomes other than 0 when the process is asked to end: who waits then waits
     * no longer than a moment. Borrowed: valid as long as the detector */
    const volatile sig_atomic_t *is_ending;
} hu_failure_detector_options;

#endif
