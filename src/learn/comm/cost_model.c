#include "comm/cost_model.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/process.h"
#include "comm/internal.h"
#include "kernel/block/block.h"

/* ---- The link of a node to its network, as users write it ---- */

static const char prefixes[] = "KMGT";
static const double factors[] = {1e3, 1e6, 1e9, 1e12};

/* A number that is not negative, and what stands after it; false where there is none. */
static bool read_number(const char *text, double *value, const char **unit) {
    char *end;
    *value = strtod(text, &end);
    *unit = end + strspn(end, " ");
    return end != text && isfinite(*value) && *value >= 0.0;
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(word, *words) != 0) words++;
    return *words != NULL;
}

/* Links are sold in bits, files are counted in bytes: a mistake of 8 times is told apart. */
static bool counts_bytes(const char *unit) {
    return *unit == 'B' || strncmp(unit, "byte", strlen("byte")) == 0;
}

static hu_status parse_rate(const char *text, double *rate) {
    static const char *const bits[] = {"", "bit", "bit/s", "bps", NULL};
    const char *unit;
    bool is_number = read_number(text, rate, &unit);
    const char *prefix =
        is_number && *unit ? strchr(prefixes, toupper((unsigned char)*unit)) : NULL;
    if (prefix) {
        *rate *= factors[prefix - prefixes];
        unit++;
    }
    if (is_number && counts_bytes(unit))
        return hu_fail(HU_ERR_PARSE,
                       "link: found '%s', a number of bytes; expected bits a second: 10G, 100M",
                       text);
    if (!is_number || !is_one_of(unit, bits))
        return hu_fail(HU_ERR_PARSE, "link: found '%s', expected bits a second: 10G, 100M", text);
    if (*rate < 1.0 || isinf(*rate))
        return hu_fail(HU_ERR_PARSE, "link: found '%s', expected 1 bit a second or more", text);
    return HU_OK;
}

static hu_status parse_latency(const char *text, double *seconds) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    const char *unit;
    bool is_number = read_number(text, seconds, &unit);
    for (size_t i = 0; is_number && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *seconds *= units[i].seconds;
            return HU_OK;
        }
    return hu_fail(HU_ERR_PARSE, "latency: found '%s', expected seconds: 10us, 1.5ms", text);
}

hu_status hu_comm_link_parse(const char *rate, const char *latency, hu_comm_link *link) {
    *link = (hu_comm_link){0};
    hu_status st = parse_rate(rate, &link->bits_per_second);
    return st == HU_OK ? parse_latency(latency, &link->latency_seconds) : st;
}

void hu_comm_link_print(const hu_comm_link *link, char *text) {
    double rate = link->bits_per_second;
    const char *prefix = " KMGT";
    for (; rate >= 1000.0 && prefix[1]; prefix++) rate /= 1000.0;
    snprintf(text, HU_COMM_LINK_BYTES, "%g %.*sbit/s and %g us a link", rate, *prefix != ' ',
             prefix, link->latency_seconds * 1e6);
}

/* ---- rates ---- */

/* What one processor core takes for numbers that travel, measured here and now. */

enum { NUMBERS = 1 << 20, TURNS = 3 };

/* Arrays of NUMBERS, as floats, as codes and on the wire. */
typedef struct bench {
    const hu_wire *wire;
    float *x;
    uint8_t *codes, *sum, *bits;
} bench;

static void quantise(bench *b) {
    hu_wire_quantise(b->wire, NUMBERS, b->x, 0, b->codes, NULL, 0, NULL);
}

static void decode(bench *b) {
    hu_wire_decode(b->wire, NUMBERS, b->codes, 0, b->x);
}

/* With the checksum of both ends (comm/transport.h). */
static void move(bench *b) {
    size_t bytes = hu_wire_bytes(b->wire, NUMBERS);
    hu_wire_pack_bits(b->wire, NUMBERS, b->codes, b->bits);
    uint64_t sums = XXH3_64bits(b->bits, bytes) + XXH3_64bits(b->bits, bytes);
    hu_wire_unpack_bits(b->wire, NUMBERS, b->bits, b->sum);
    b->x[0] += (float)(sums & 1); /* so that no compiler leaves the checksums out */
}

static void add(bench *b) {
    hu_wire_add(b->wire, NUMBERS, b->codes, b->sum, NULL, 0, NULL);
}

/* The best of some turns: others come from what else the machine does. */
static double seconds_of(bench *b, void (*pass)(bench *b)) {
    double best = INFINITY;
    for (int i = 0; i < TURNS; i++) {
        double begun = hu_seconds_now();
        pass(b);
        best = fmin(best, hu_seconds_now() - begun);
    }
    return best / NUMBERS;
}

hu_status hu_comm_rates_measure(const hu_wire *wire, hu_comm_rates *rates) {
    hu_status st = HU_OK;
    bench b = {.wire = wire};
    *rates = (hu_comm_rates){0};
    HU_TRY(HU_NEW_ARRAY(&b.x, NUMBERS));
    HU_TRY(HU_NEW_ARRAY(&b.codes, NUMBERS * hu_wire_code_bytes(wire)));
    HU_TRY(HU_NEW_ARRAY(&b.sum, NUMBERS * hu_wire_code_bytes(wire)));
    HU_TRY(HU_NEW_ARRAY(&b.bits, hu_wire_bytes(wire, NUMBERS)));
    for (int i = 0; i < NUMBERS; i++) b.x[i] = (float)(i % 1000 - 500) * 1e-3f;
    rates->quantise = seconds_of(&b, quantise);
    rates->move = seconds_of(&b, move);
    rates->add = seconds_of(&b, add);
    rates->decode = seconds_of(&b, decode);
done:
    hu_free(b.x);
    hu_free(b.codes);
    hu_free(b.sum);
    hu_free(b.bits);
    return st;
}

/* ---- What a reduction sends, counted on the lists of its schedule ---- */

/* Bytes of the message of a range of pieces. Most messages of a schedule are of the same few
 * ranges, and a size is a sum over all layers of a bucket: the latest of every first piece is
 * kept. */
typedef struct known_size {
    int32_t count; /* pieces; 0: nothing is known */
    bool is_sum;
    size_t bytes;
} known_size;

typedef struct walk {
    const hu_comm_plan *plan;
    known_size *known; /* [buckets][pieces] */
    size_t *largest;   /* [buckets][steps] */
    int32_t steps;     /* of a bucket */
} walk;

static size_t bytes_of(walk *w, int32_t bucket, const hu_comm_action *action) {
    known_size *known = &w->known[(size_t)bucket * (size_t)w->plan->pieces + (size_t)action->first];
    if (known->count != action->count || known->is_sum != action->is_sum)
        *known = (known_size){action->count, action->is_sum,
                              hu_comm_message_bytes(w->plan, bucket, action)};
    return known->bytes;
}

/* Adds what one worker sends for a bucket. */
static void add_list(walk *w, int32_t bucket, const hu_comm_list *list, uint64_t *bytes) {
    size_t *largest = w->largest + (size_t)bucket * (size_t)w->steps;
    for (int32_t a = 0; a < list->count; a++) {
        const hu_comm_action *action = &list->action[a];
        if (action->act != HU_COMM_SEND) continue;
        size_t sent = bytes_of(w, bucket, action);
        if (sent > largest[action->step]) largest[action->step] = sent;
        *bytes += sent;
    }
}

/* Rank by rank, because the lists of all would be large. */
static hu_status add_worker(walk *w, int32_t rank, hu_comm_traffic *traffic) {
    const hu_comm_plan *plan = w->plan;
    hu_comm_list list;
    uint64_t bytes = (uint64_t)hu_comm_agreement_steps(plan) * (uint64_t)plan->layers *
                     (uint64_t)hu_comm_agreed_bytes(plan);
    hu_status st = hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &list);
    if (st != HU_OK) return st;
    if (!w->largest) {
        w->steps = list.steps;
        st = HU_NEW_ARRAY(&w->largest, (size_t)plan->buckets * (size_t)w->steps);
    }
    for (int32_t b = 0; b < plan->buckets && st == HU_OK; b++) add_list(w, b, &list, &bytes);
    hu_comm_list_free(&list);
    traffic->bytes += bytes;
    if (bytes > traffic->bytes_per_worker) traffic->bytes_per_worker = bytes;
    return st;
}

/* A dissemination: after step s, a worker has heard of 2^(s + 1). */
int64_t hu_comm_agreement_steps(const hu_comm_plan *plan) {
    int64_t steps = 0;
    if (!plan->agrees) return 0;
    for (int64_t reached = 1; reached < plan->options.workers; reached *= 2) steps++;
    return steps;
}

hu_status hu_comm_traffic_of(const hu_comm_plan *plan, hu_comm_traffic *traffic, size_t **largest) {
    walk w = {.plan = plan};
    *traffic = (hu_comm_traffic){.agreement_steps = hu_comm_agreement_steps(plan) * plan->buckets};
    if (largest) *largest = NULL;
    hu_status st = HU_NEW_ARRAY(&w.known, (size_t)plan->buckets * (size_t)plan->pieces);
    for (int32_t rank = 0; rank < plan->options.workers && st == HU_OK; rank++)
        st = add_worker(&w, rank, traffic);
    traffic->steps = (int64_t)w.steps * plan->buckets;
    hu_free(w.known);
    if (!largest || st != HU_OK)
        hu_free(w.largest);
    else
        *largest = w.largest;
    return st;
}

size_t hu_comm_largest_message(const hu_comm_plan *plan, const hu_comm_list *list, bool is_sent) {
    size_t most = 0;
    for (int32_t b = 0; b < plan->buckets; b++)
        for (int32_t a = 0; a < list->count; a++) {
            const hu_comm_action *action = &list->action[a];
            if (action->act == HU_COMM_COMBINE || (action->act == HU_COMM_SEND) != is_sent)
                continue;
            size_t bytes = hu_comm_message_bytes(plan, b, action);
            if (bytes > most) most = bytes;
        }
    return most;
}

/* ---- predict ---- */

/* How long a reduction takes on a network, from the lists of its schedule.
 *
 * The network: every worker has a link of its own to a switch, which sends and receives at once. A
 * message crosses two links. A step of a bucket ends when the slowest of its messages has arrived;
 * schedules are made so that no link carries two messages of a step in one direction. Buckets that
 * are on their way at once (HU_COMM_FLIGHTS) share the links evenly; while one waits for a message
 * to arrive, the other has them alone.
 * Proof: docs/results/workers.md compares it with SimGrid's SMPI, schedule by schedule.
 */

/* Links that a message crosses: to the switch, and from it. */
enum { LINKS_OF_A_MESSAGE = 2 };

/* Time on a link over payload bits by its rate. A full Ethernet frame carries 1,448 bytes of 1,538,
 * and acknowledgements travel against the data of the other direction; SimGrid's TCP model takes
 * 5 % of a link for those of the data that flow against it, and no frames. */
static const double overhead = 1.05;

/* A bucket on its way: its message takes its share of the link, then the way. */
typedef struct exchange {
    int32_t bucket;
    int64_t step;       /* agreements first */
    double bits, delay; /* that are left of the message, and of the seconds after its bits */
} exchange;

/* What is sent between all. */
typedef struct network {
    const hu_comm_plan *plan;
    const hu_comm_link *link;
    const size_t *largest; /* [buckets][steps] */
    int64_t steps, agreement_steps;
    exchange exchange[HU_COMM_FLIGHTS];
} network;

static bool is_over(const network *n, const exchange *f) {
    return f->bucket >= n->plan->buckets;
}

static size_t message_of(const network *n, const exchange *f) {
    if (f->step < n->agreement_steps)
        return (size_t)n->plan->bucket[f->bucket].count * hu_comm_agreed_bytes(n->plan);
    return n->largest[f->bucket * n->steps + f->step - n->agreement_steps];
}

/* The next message of a flight, in this bucket or the next one; steps in which nobody sends take no
 * time. */
static void begin_message(network *n, exchange *f) {
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
        sharing += !is_over(n, &n->exchange[i]) && n->exchange[i].bits > 0.0;
    return n->link->bits_per_second / (sharing > 0 ? sharing : 1);
}

/* Seconds until the first message has left or arrived; 0: all have ended. */
static double next_event(const network *n, double rate) {
    double next = 0.0;
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) {
        const exchange *f = &n->exchange[i];
        if (is_over(n, f)) continue;
        double wait = f->bits > 0.0 ? f->bits / rate : f->delay;
        if (next == 0.0 || wait < next) next = wait;
    }
    return next;
}

/* Lets time pass, up to the next event. What is left after it may be a rounding error of time. */
static void pass(network *n, double seconds, double rate) {
    for (int i = 0; i < HU_COMM_FLIGHTS; i++) {
        exchange *f = &n->exchange[i];
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
        n.exchange[i] = (exchange){.bucket = i, .step = -1};
        if (n.steps == 0) n.exchange[i].bucket = n.plan->buckets; /* one worker sends nothing */
        begin_message(&n, &n.exchange[i]);
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
