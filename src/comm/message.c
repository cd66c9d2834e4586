#include "comm/message.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"

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
