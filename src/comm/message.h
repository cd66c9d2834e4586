/* comm/message.h - what goes from one worker to another: a header, and pieces of the layers of a
 * bucket, each from a whole byte on.
 *
 * Behind the header, layer by layer of the bucket: one signed byte k per piece where pieces have
 * scales of their own (comm/scaling.h), then the dense bits of its numbers (kernel/wire). All
 * numbers are little-endian: workers are machines of one kind.
 */
#ifndef HU_COMM_MESSAGE_H
#define HU_COMM_MESSAGE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

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

#endif
