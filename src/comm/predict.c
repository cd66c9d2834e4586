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

/* A bucket on its way. */
typedef struct flight {
    int32_t bucket;
    int64_t step; /* agreements first */
    double ready; /* when the message before has arrived */
} flight;

/* What is sent, and when the links are free again. */
typedef struct network {
    const hu_comm_plan *plan;
    const hu_comm_link *link;
    const size_t *largest; /* [buckets][steps] */
    int64_t steps, agreement_steps;
    double free;
    flight flight[HU_COMM_FLIGHTS];
} network;

static size_t message_of(const network *n, const flight *f) {
    if (f->step < n->agreement_steps) return (size_t)n->plan->bucket[f->bucket].count;
    return n->largest[f->bucket * n->steps + f->step - n->agreement_steps];
}

/* The flight whose message can leave first; NULL at the end. */
static flight *next_flight(network *n) {
    flight *next = NULL;
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) {
        flight *f = &n->flight[i];
        if (f->bucket < n->plan->buckets && (!next || f->ready < next->ready)) next = f;
    }
    return next;
}

/* Sends its message, and goes on to the next step or bucket. Steps in which nobody sends take no
 * time. */
static void send_message(network *n, flight *f) {
    size_t bytes = message_of(n, f);
    if (bytes > 0) {
        double begin = f->ready > n->free ? f->ready : n->free;
        n->free = begin + 8.0 * (double)bytes * overhead / n->link->bits_per_second;
        f->ready = n->free + LINKS_OF_A_MESSAGE * n->link->latency_seconds;
    }
    if (++f->step < n->steps + n->agreement_steps) return;
    f->step = 0;
    f->bucket += HU_COMM_FLIGHTS;
}

static double run(network n, int64_t agreement_steps) {
    double end = 0.0;
    flight *f;
    n.agreement_steps = agreement_steps;
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) n.flight[i] = (flight){.bucket = i};
    /* Of one worker there is nothing to send. */
    if (n.steps == 0) return 0.0;
    while ((f = next_flight(&n))) send_message(&n, f);
    for (int i = 0; i < HU_COMM_FLIGHTS; i++)
        if (n.flight[i].ready > end) end = n.flight[i].ready;
    return end;
}

hu_status hu_comm_predict(const hu_comm_plan *plan, const hu_comm_link *link, hu_comm_time *time) {
    hu_comm_traffic traffic;
    size_t *largest;
    *time = (hu_comm_time){0};
    hu_status st = hu_comm_traffic_of(plan, &traffic, &largest);
    if (st != HU_OK) return st;
    network n = {plan, link, largest, traffic.steps / plan->buckets, 0, 0.0, {{0, 0, 0.0}}};
    time->seconds = run(n, hu_comm_agreement_steps(plan));
    time->agreement_seconds = time->seconds - run(n, 0);
    hu_free(largest);
    return HU_OK;
}

double hu_comm_flush_workers(const hu_comm_options *options) {
    hu_format_limits limits = hu_format_limits_of(&options->format);
    bool leaves_room = options->scaling->exponent != NULL;
    return leaves_room ? 2.0 * ldexp(1.0, limits.emax) / limits.min_subnormal : 0.0;
}
