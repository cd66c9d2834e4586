/* session/net.h - the inside of a public network (halfulp/train.h), for trainings. */
#ifndef HU_SESSION_NET_H
#define HU_SESSION_NET_H
#include <string.h>

#include <halfulp/train.h>

#include "model/model.h"

/* The declared network. Borrowed: valid until the net is freed or changed. HU_ERR_ARGUMENT: it has
 * no head, or a declaration has failed. */
hu_status hu_net_own(const hu_net *net, hu_custom_net *own);

/* The network file in its place, NULL: it was declared. Borrowed: as long as the net. */
const char *hu_net_path(const hu_net *net);

/* What of a result struct the caller's header knows: `size` bytes of it, the first member telling
 * so itself. */
static inline void hu_give_struct(const void *made, size_t bytes, void *caller, size_t size) {
    size_t wanted = size < bytes ? size : bytes;
    memcpy((char *)caller + sizeof size, (const char *)made + sizeof size, wanted - sizeof size);
}

#endif
