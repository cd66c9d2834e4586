/* comm/link.h - the link of a node to its network, as users write it. */
#ifndef HU_COMM_LINK_H
#define HU_COMM_LINK_H
#include <halfulp/status.h>

typedef struct hu_comm_link {
    double bits_per_second;
    double latency_seconds; /* of one link */
} hu_comm_link;

/* "10G" (bits a second; K, M, G, T are powers of 1000, small letters too; bit, bit/s, bps may
 * follow) and "10us" (s, ms, us, ns). HU_ERR_PARSE with what was found and expected, for bytes too;
 * a rate is positive, a latency not negative. Proof: tests/unit/comm_link_test.c. */
hu_status hu_comm_link_parse(const char *rate, const char *latency, hu_comm_link *link);

/* "100 Mbit/s and 10 us a link"; room for HU_COMM_LINK_BYTES. */
enum { HU_COMM_LINK_BYTES = 64 };
void hu_comm_link_print(const hu_comm_link *link, char *text);

#endif
