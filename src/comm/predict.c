#include "comm/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/traffic.h"

/* Links that a message crosses: to the switch, and from it. */
enum { LINKS_OF_A_MESSAGE = 2 };

/* Time on a link over payload bits by its rate. A full Ethernet frame carries 1,448 bytes of 1,538,
 * and acknowledgements travel against the data of the other direction; SimGrid's TCP model takes
 * 5 % of a link for those of the data that flow against it, and no frames. */
static const double overhead = 1.05;

/* One unit behind a number: "10G", "10us". */
typedef struct unit {
    const char *name;
    double factor;
} unit;

/* units: the last has the name NULL. */
static hu_status parse_unit(const char *what, const char *text, const unit *units,
                            const char *expected, double *value) {
    char *end;
    *value = strtod(text, &end);
    for (; units->name && end != text; units++)
        if (strcmp(end, units->name) == 0 && isfinite(*value) && *value >= 0.0) {
            *value *= units->factor;
            return HU_OK;
        }
    return hu_fail(HU_ERR_PARSE, "%s: found '%s', expected %s", what, text, expected);
}

hu_status hu_comm_link_parse(const char *rate, const char *latency, hu_comm_link *link) {
    static const unit rates[] = {{"", 1.0},  {"K", 1e3},  {"M", 1e6},
                                 {"G", 1e9}, {"T", 1e12}, {NULL, 0.0}};
    static const unit times[] = {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0.0}};
    hu_status st = HU_OK;
    *link = (hu_comm_link){0};
    HU_TRY(parse_unit("link", rate, rates, "bits a second: 10G, 100M", &link->bits_per_second));
    HU_TRY(parse_unit("latency", latency, times, "seconds: 10us, 1.5ms", &link->latency_seconds));
    if (link->bits_per_second < 1.0)
        st = hu_fail(HU_ERR_PARSE, "link: found '%s', expected at least 1 bit a second", rate);
done:
    return st;
}

/* From the moment at which a message leaves to that at which its last byte arrives. */
static double message_seconds(const hu_comm_link *link, size_t bytes) {
    double way = LINKS_OF_A_MESSAGE * link->latency_seconds;
    return way + 8.0 * (double)bytes * overhead / link->bits_per_second;
}

static void add_message(const hu_comm_link *link, size_t bytes, hu_comm_time *time) {
    time->seconds += message_seconds(link, bytes);
    time->latency_seconds += message_seconds(link, 0);
}

hu_status hu_comm_predict(const hu_comm_plan *plan, const hu_comm_link *link, hu_comm_time *time) {
    hu_comm_traffic traffic;
    size_t *largest;
    *time = (hu_comm_time){0};
    hu_status st = hu_comm_traffic_of(plan, &traffic, &largest);
    if (st != HU_OK) return st;
    for (int32_t b = 0; b < plan->buckets; b++)
        for (int64_t s = 0; s < hu_comm_agreement_steps(plan); s++)
            add_message(link, (size_t)plan->bucket[b].count, time);
    time->agreement_seconds = time->seconds;
    for (int64_t s = 0; s < traffic.steps; s++)
        if (largest[s] > 0) add_message(link, largest[s], time);
    hu_free(largest);
    return HU_OK;
}

double hu_comm_flush_workers(const hu_comm_options *options) {
    hu_format_limits limits = hu_format_limits_of(&options->format);
    bool leaves_room = options->scaling->exponent != NULL;
    return leaves_room ? 2.0 * ldexp(1.0, limits.emax) / limits.min_subnormal : 0.0;
}
