#include "comm/transport.h"

#include "base/error.h"
#include "base/process.h"

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
