#include "comm/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/block/block.h"

/* Links that a message crosses: to the switch, and from it. */
enum { LINKS_OF_A_MESSAGE = 2 };

/* Time on a link over payload bits by its rate. A full Ethernet frame carries 1,448 bytes of 1,538,
 * and acknowledgements travel against the data of the other direction; SimGrid's TCP model takes
 * 5 % of a link for those of the data that flow against it, and no frames. */
static const double overhead = 1.05;

/* A bucket on its way: its message takes its share of the link, then the way. */
typedef struct flight {
    int32_t bucket;
    int64_t step;       /* agreements first */
    double bits, delay; /* that are left of the message, and of the seconds behind its bits */
} flight;

/* What is sent between all. */
typedef struct network {
    const hu_comm_plan *plan;
    const hu_comm_link *link;
    const size_t *largest; /* [buckets][steps] */
    int64_t steps, agreement_steps;
    flight flight[HU_COMM_FLIGHTS];
} network;

static bool is_over(const network *n, const flight *f) {
    return f->bucket >= n->plan->buckets;
}

static size_t message_of(const network *n, const flight *f) {
    if (f->step < n->agreement_steps)
        return (size_t)n->plan->bucket[f->bucket].count * hu_comm_agreed_bytes(n->plan);
    return n->largest[f->bucket * n->steps + f->step - n->agreement_steps];
}

/* The next message of a flight, in this bucket or the next one; steps in which nobody sends take no
 * time. */
static void begin_message(network *n, flight *f) {
    for (size_t bytes = 0; bytes == 0 && !is_over(n, f);) {
        if (++f->step >= n->steps + n->agreement_steps) {
            f->step = 0;
            f->bucket += HU_COMM_FLIGHTS;
            if (is_over(n, f)) return;
        }
        bytes = message_of(n, f);
        f->bits = 8.0 * (double)bytes * overhead;
        f->delay = LINKS_OF_A_MESSAGE * n->link->latency_seconds;
    }
}

/* Bits a second for each message that has bits left: a link is shared evenly. */
static double share_of(const network *n) {
    int sharing = 0;
    for (int i = 0; i < HU_COMM_FLIGHTS; i++)
        sharing += !is_over(n, &n->flight[i]) && n->flight[i].bits > 0.0;
    return n->link->bits_per_second / (sharing > 0 ? sharing : 1);
}

/* Seconds until the first message has left or arrived; 0: all have ended. */
static double next_event(const network *n, double rate) {
    double next = 0.0;
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) {
        const flight *f = &n->flight[i];
        if (is_over(n, f)) continue;
        double wait = f->bits > 0.0 ? f->bits / rate : f->delay;
        if (next == 0.0 || wait < next) next = wait;
    }
    return next;
}

/* Lets time pass, up to the next event. What is left after it may be a rounding error of time. */
static void pass(network *n, double seconds, double rate) {
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) {
        flight *f = &n->flight[i];
        if (is_over(n, f)) continue;
        double least = 1e-9 * seconds;
        if (f->bits > 0.0)
            f->bits = f->bits / rate - seconds > least ? f->bits - seconds * rate : 0.0;
        else
            f->delay = f->delay - seconds > least ? f->delay - seconds : 0.0;
        if (f->bits == 0.0 && f->delay == 0.0) begin_message(n, f);
    }
}

static double run(network n, int64_t agreement_steps) {
    double now = 0.0, next;
    n.agreement_steps = agreement_steps;
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) {
        n.flight[i] = (flight){.bucket = i, .step = -1};
        if (n.steps == 0) n.flight[i].bucket = n.plan->buckets; /* one worker sends nothing */
        begin_message(&n, &n.flight[i]);
    }
    for (;;) {
        double rate = share_of(&n);
        if ((next = next_event(&n, rate)) == 0.0) return now;
        pass(&n, next, rate);
        now += next;
    }
}

hu_status hu_comm_predict(const hu_comm_plan *plan, const hu_comm_link *link, hu_comm_time *time) {
    size_t *largest;
    *time = (hu_comm_time){0};
    hu_status st = hu_comm_traffic_of(plan, &time->traffic, &largest);
    if (st != HU_OK) return st;
    network n = {.plan = plan,
                 .link = link,
                 .largest = largest,
                 .steps = time->traffic.steps / plan->buckets};
    time->seconds = run(n, hu_comm_agreement_steps(plan));
    time->agreement_seconds = time->seconds - run(n, 0);
    hu_free(largest);
    return HU_OK;
}

/* ---- where numbers vanish ---- */

static bool vanishes(const hu_format *format, hu_rounding rounding, uint32_t bits) {
    float x = hu_f32_of_bits(bits);
    /* The random word that rounds up most readily. */
    return hu_format_round(format, rounding, x, 0) == 0.0f &&
           hu_format_round(format, rounding, -x, 0) == 0.0f;
}

/* Smallest magnitude that is not rounded to zero, 0 if there is none: found with a bias that takes
 * it far from the ends of float32's range, where it would not have all its digits. */
static double least_kept(const hu_format *format, hu_rounding rounding) {
    int32_t k = hu_scale_clamp(format, format->bias);
    hu_format centred = hu_format_scaled(format, k);
    uint32_t lost = 0, kept = HU_F32_INFINITY;
    while (kept - lost > 1) {
        uint32_t middle = lost + (kept - lost) / 2;
        if (vanishes(&centred, rounding, middle))
            lost = middle;
        else
            kept = middle;
    }
    return lost ? ldexp((double)hu_f32_of_bits(kept), -k) : 0.0;
}

/* What the largest gradient of a tensor becomes before it is rounded. */
static double scaled(const hu_comm_options *options, int32_t workers, uint32_t top_bits) {
    double top = (double)hu_f32_of_bits(top_bits);
    int32_t exponent = options->scaling->exponent(&options->format, workers, top);
    return ldexp(top, hu_format_limits_of(&options->format).emax - exponent);
}

/* The most that it can become, whatever the gradient. Within a binade it grows with the gradient,
 * but for one place where the exponent does, and it falls. */
static double largest_scaled(const hu_comm_options *options, int32_t workers) {
    const uint32_t first = hu_f32_bits(1.0f), end = hu_f32_bits(2.0f);
    uint32_t before = first, behind = end;
    double least = scaled(options, workers, first);
    while (behind - before > 1) {
        uint32_t middle = before + (behind - before) / 2;
        if (scaled(options, workers, middle) >= least)
            before = middle;
        else
            behind = middle;
    }
    return fmax(scaled(options, workers, before), scaled(options, workers, end - 1));
}

double hu_comm_flush_workers(const hu_comm_options *options) {
    if (!options->scaling->exponent || options->scaling->code) return 0.0;
    double kept = least_kept(&options->format, options->rounding);
    int32_t enough = 0, many = INT32_MAX; /* so many leave numbers; so many do not */
    if (largest_scaled(options, many) >= kept) return 0.0;
    while (many - enough > 1) {
        int32_t middle = enough + (many - enough) / 2;
        if (largest_scaled(options, middle) < kept)
            many = middle;
        else
            enough = middle;
    }
    return (double)many;
}
