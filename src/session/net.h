/* session/net.h - the inside of a public network (halfulp/train.h). */
#ifndef HU_SESSION_NET_H
#define HU_SESSION_NET_H
#include <halfulp/train.h>

#include "model/custom.h"

/* The declared network. Borrowed: valid until the net is freed or changed. HU_ERR_ARGUMENT: it has
 * no head, or a declaration has failed. */
hu_status hu_net_own(const hu_net *net, hu_own_net *own);

#endif
