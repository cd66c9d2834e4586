#include "comm/process_group.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "comm/cost_model.h"
#include "comm/internal.h"

/* ---- One bucket on its way ---- */

/* One bucket on its way: what a worker does for it, message by message, as
 * far as it can without waiting. Several buckets may be on their way at once; they share nothing
 * but the worker, in which their layers lie apart.
 */

typedef struct bucket_exchange {
    hu_transport *transport; /* Borrowed, as the plan and the worker */
    const hu_comm_plan *plan;
    hu_comm_worker *worker;
    int32_t tag;                   /* of its messages, the same at all workers */
    int32_t bucket;                /* NO_BUCKET: the next one may begin */
    int32_t round, rounds;         /* of the agreement upon exponents */
    int32_t at;                    /* next action */
    const hu_comm_action *reading; /* whose message is received; NULL: none */
    int8_t *exponent, *heard;      /* [layers of a bucket] the largest so far; those of another */
    uint8_t *out, *in;             /* messages: room of the transport */
    int64_t room_bytes;            /* of both */
    hu_transfer sending, receiving;
} bucket_exchange;

enum { HU_FLIGHT_NONE = -1 };

static hu_status make_room(bucket_exchange *exchange) {
    const hu_comm_list *list = hu_comm_worker_list(exchange->worker);
    const hu_transport_kind *kind = exchange->transport->kind;
    size_t layers = 0, out = hu_comm_largest_message(exchange->plan, list, true);
    size_t in = hu_comm_largest_message(exchange->plan, list, false);
    hu_status st = HU_OK;
    for (int32_t b = 0; b < exchange->plan->buckets; b++)
        if ((size_t)exchange->plan->bucket[b].count > layers)
            layers = (size_t)exchange->plan->bucket[b].count;
    size_t agreed =
        hu_comm_agreed_bytes(exchange->plan) > 1 ? hu_comm_agreed_bytes(exchange->plan) : 1;
    HU_TRY(hu_new_array(layers, agreed, &exchange->exponent));
    HU_TRY(hu_new_array(layers, agreed, &exchange->heard));
    exchange->out = kind->room(exchange->transport, out);
    exchange->in = kind->room(exchange->transport, in);
    if (exchange->out && exchange->in)
        exchange->room_bytes = (int64_t)(out + in);
    else
        st = hu_fail(HU_ERR_MEMORY, "found no room for messages of %zu and %zu bytes", out, in);
    hu_memory_count_other(HU_MEMORY_WORKERS, exchange->room_bytes);
done:
    return st;
}

/* Receives that are on their way are given up. NULL is allowed. */
static void exchange_free(bucket_exchange *exchange) {
    if (!exchange) return;
    hu_transfer_cancel(exchange->transport, &exchange->receiving);
    if (exchange->out) exchange->transport->kind->free_room(exchange->transport, exchange->out);
    if (exchange->in) exchange->transport->kind->free_room(exchange->transport, exchange->in);
    hu_memory_count_other(HU_MEMORY_WORKERS, -exchange->room_bytes);
    hu_free(exchange->exponent);
    hu_free(exchange->heard);
    hu_free(exchange);
}

/* HU_ERR_MEMORY. */
static hu_status exchange_create(const hu_comm_plan *plan, hu_comm_worker *worker,
                                 hu_transport *transport, int32_t tag, bucket_exchange **result) {
    hu_status st = HU_OK;
    bucket_exchange *exchange = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&exchange));
    exchange->plan = plan;
    exchange->worker = worker;
    exchange->transport = transport;
    exchange->tag = tag;
    exchange->bucket = HU_FLIGHT_NONE;
    exchange->rounds = (int32_t)hu_comm_agreement_steps(plan);
    HU_TRY(make_room(exchange));
    *result = exchange;
    exchange = NULL;
done:
    exchange_free(exchange);
    return st;
}

/* After round r a worker has heard of 2^(r + 1): the one so far before it tells what it knows. That
 * some are heard of twice changes no maximum. */
static hu_status exchange_exponents(bucket_exchange *exchange) {
    int32_t rank = exchange->transport->rank, workers = exchange->plan->options.workers;
    int32_t far = 1 << exchange->round;
    size_t bytes = (size_t)exchange->plan->bucket[exchange->bucket].count *
                   hu_comm_agreed_bytes(exchange->plan);
    hu_status st = hu_transfer_receive(exchange->transport, (rank - far + workers) % workers,
                                       exchange->tag, exchange->heard, bytes, &exchange->receiving);
    if (st != HU_OK) return st;
    return hu_transfer_send(exchange->transport, (rank + far) % workers, exchange->tag,
                            exchange->exponent, bytes, &exchange->sending);
}

static void merge_exponents(bucket_exchange *exchange) {
    hu_comm_agree(exchange->plan, exchange->plan->bucket[exchange->bucket].count, exchange->heard,
                  exchange->exponent);
    exchange->round++;
}

static hu_status begin_message(bucket_exchange *exchange, const hu_comm_action *action) {
    size_t bytes = hu_comm_message_bytes(exchange->plan, exchange->bucket, action);
    if (action->act != HU_COMM_SEND) {
        exchange->reading = action;
        return hu_transfer_receive(exchange->transport, action->peer, exchange->tag, exchange->in,
                                   bytes, &exchange->receiving);
    }
    hu_comm_worker_write(exchange->worker, exchange->bucket, action, exchange->out);
    return hu_transfer_send(exchange->transport, action->peer, exchange->tag, exchange->out, bytes,
                            &exchange->sending);
}

/* Begins the messages of the next step, after the sums before it; without any the flight ends. */
static hu_status begin_actions(bucket_exchange *exchange) {
    const hu_comm_list *list = hu_comm_worker_list(exchange->worker);
    hu_status st = HU_OK;
    int32_t step = -1;
    for (; exchange->at < list->count && st == HU_OK; exchange->at++) {
        const hu_comm_action *action = &list->action[exchange->at];
        bool is_sum = action->act == HU_COMM_COMBINE;
        if (step >= 0 && (is_sum || action->step != step)) return HU_OK;
        if (is_sum) {
            hu_comm_worker_combine(exchange->worker, exchange->bucket, action);
            continue;
        }
        step = action->step;
        st = begin_message(exchange, action);
    }
    if (st != HU_OK || step >= 0) return st;
    hu_comm_worker_finish(exchange->worker, exchange->bucket);
    exchange->bucket = HU_FLIGHT_NONE;
    return HU_OK;
}

/* From agreed exponents to the first messages. */
static hu_status begin_reduction(bucket_exchange *exchange) {
    hu_comm_worker_round(exchange->worker, exchange->bucket,
                         exchange->plan->agrees ? exchange->exponent : NULL);
    return begin_actions(exchange);
}

static hu_status begin_round(bucket_exchange *exchange) {
    return exchange->round < exchange->rounds ? exchange_exponents(exchange)
                                              : begin_reduction(exchange);
}

/* Begins with a bucket; there is none on its way. Errors as exchange_go_on. */
static hu_status exchange_begin(bucket_exchange *exchange, int32_t bucket) {
    exchange->bucket = bucket;
    exchange->round = exchange->at = 0;
    exchange->reading = NULL;
    hu_comm_worker_exponents(exchange->worker, bucket, exchange->exponent);
    return begin_round(exchange);
}

/* What has come is taken while the own message is still on its way. */
static hu_status read_message(bucket_exchange *exchange) {
    const hu_comm_action *action = exchange->reading;
    if (!action || hu_transfer_is_open(&exchange->receiving)) return HU_OK;
    exchange->reading = NULL;
    return hu_comm_worker_read(exchange->worker, exchange->bucket, action, exchange->in,
                               exchange->receiving.bytes);
}

/* After something of sending or receiving was done: does all that needs no wait. The flight is over
 * when its bucket is HU_FLIGHT_NONE: the gradients of the layers are sums. HU_ERR_PEER,
 * HU_ERR_CORRUPT, HU_ERR_LIMIT. */
static hu_status exchange_go_on(bucket_exchange *exchange) {
    hu_status st = read_message(exchange);
    if (st != HU_OK) return st;
    if (hu_transfer_is_open(&exchange->sending) || hu_transfer_is_open(&exchange->receiving))
        return HU_OK;
    if (exchange->round == exchange->rounds) return begin_actions(exchange);
    merge_exponents(exchange);
    return begin_round(exchange);
}

/* Where it is: "layer conv1.weight, reduction step 3 of 14"; capacity bytes of text. */
static void exchange_where(const bucket_exchange *exchange, char *text, size_t capacity) {
    const hu_comm_list *list = hu_comm_worker_list(exchange->worker);
    const char *layer = exchange->plan->layer[exchange->plan->bucket[exchange->bucket].first].name;
    /* The action before the next one is that which is waited for. */
    if (exchange->round < exchange->rounds)
        snprintf(text, capacity, "layer %s, exponents", layer);
    else
        snprintf(text, capacity, "layer %s, reduction step %d of %d", layer,
                 list->action[exchange->at > 0 ? exchange->at - 1 : 0].step + 1, list->steps);
}

/* ---- The workers of a training as one of its processes sees them ---- */

/* Where this process stands among the others, for a signal handler: what it would
 * say if it was ended now.
 */

enum { PLACE_BYTES = 256 };

/* One is read while the other is written. */
static char places[2][PLACE_BYTES];
static atomic_int present;

/* Whoever notes a place; the handler of a signal only reads, and so waits for nobody. */
static atomic_flag is_written = ATOMIC_FLAG_INIT;

void hu_comm_status_line_set(const char *format, ...) {
    va_list arguments;
    while (atomic_flag_test_and_set(&is_written)) sched_yield();
    int next = 1 - atomic_load(&present);
    va_start(arguments, format);
    vsnprintf(places[next], PLACE_BYTES, format, arguments);
    va_end(arguments);
    atomic_store(&present, next);
    atomic_flag_clear(&is_written);
}

const char *hu_comm_status_line(void) {
    return places[atomic_load(&present)];
}

/* ---- team ---- */

/* The workers of a training as one of its processes sees them: those that it runs
 * itself, and how they meet the others. A kind of group is one record.
 *
 *   emulated   all workers in this process
 *   process    one worker here, the others in processes that a transport reaches
 *
 * The result of a reduction is the same bits for all kinds.
 */

void hu_process_group_free(hu_process_group *team) {
    if (team) team->kind->free(team);
}

hu_status hu_process_group_reduce(hu_process_group *team, uint64_t step) {
    return team->kind->reduce(team, step);
}

hu_status hu_process_group_gather(hu_process_group *team, size_t bytes, void *all) {
    return team->kind->gather(team, bytes, all);
}

hu_status hu_process_group_collect(hu_process_group *team, size_t bytes, const void *own,
                                   void *others) {
    return team->kind->collect ? team->kind->collect(team, bytes, own, others) : HU_OK;
}

void hu_process_group_ready(hu_process_group *team, uint64_t step, int32_t layer) {
    if (team->kind->ready) team->kind->ready(team, step, layer);
}

const hu_comm_counts *hu_process_group_counts(const hu_process_group *team, int32_t worker) {
    return team->kind->counts(team, worker);
}

float *hu_process_group_residual(const hu_process_group *team, int32_t worker, int32_t i) {
    return team->kind->loss(team, worker, i);
}

hu_process_group_seconds hu_process_group_spent(const hu_process_group *team) {
    return team->kind->seconds ? team->kind->seconds(team) : (hu_process_group_seconds){0};
}

/* ---- team process ---- */

/* One worker in this process: its buckets travel, a few at once, while it computes or when it
 * reduces. */

enum { FLIGHTS = HU_COMM_FLIGHTS, TRANSFERS = 2 * FLIGHTS, WHERE_BYTES = 512 };

/* Seconds between looks for buckets that became ready, and where there is nothing to look for. */
static const double short_wait = 100e-6, long_wait = 3600.0;

/* Of a reduction: ENDED until hu_process_group_reduce has asked for its result. */
typedef enum phase { IDLE, RUNNING, ENDED } phase;

/* Fields in the last part are shared with the thread, under the mutex. */
typedef struct process_team {
    hu_process_group team;
    hu_rendezvous *job;
    hu_comm_worker *worker;
    bucket_exchange *exchange[FLIGHTS]; /* bucket b travels in flight b % FLIGHTS */
    int32_t next;                       /* bucket to begin next */
    uint64_t step;                      /* of the reduction that runs or ran last */
    hu_process_group_seconds
        seconds; /* busy: of who runs reductions; exposed: of who asks for them */

    bool has_thread;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t work, done; /* something to do for the thread; the reduction has ended */
    phase phase;
    bool is_over;      /* the team is freed */
    bool *is_ready;    /* [layers] announced in this step */
    int32_t announced; /* buckets in order all of whose layers are */
    hu_status status;  /* of the reduction that ended last */
    char message[HU_TRANSPORT_ERROR + WHERE_BYTES];
} process_team;

static int32_t rank_of(const process_team *team) {
    return team->job->transport->rank;
}

/* ---- a reduction, by whichever thread runs it ---- */

/* Puts where it happened in front of the message of a failure. */
static hu_status at_exchange(const process_team *team, const bucket_exchange *exchange,
                             hu_status status) {
    char where[WHERE_BYTES];
    exchange_where(exchange, where, sizeof where);
    return hu_fail_within(status, "rank %d, training step %llu, %s: ", rank_of(team),
                          (unsigned long long)team->step, where);
}

static bool is_busy(const bucket_exchange *exchange) {
    return exchange->bucket != HU_FLIGHT_NONE;
}

static bool any_is_busy(const process_team *team) {
    for (int32_t f = 0; f < FLIGHTS; f++)
        if (is_busy(team->exchange[f])) return true;
    return false;
}

/* Begins buckets while there are ready ones and free flights. */
static hu_status begin_buckets(process_team *team, int32_t announced) {
    hu_status st = HU_OK;
    while (st == HU_OK && team->next < announced &&
           !is_busy(team->exchange[team->next % FLIGHTS])) {
        bucket_exchange *exchange = team->exchange[team->next % FLIGHTS];
        st = exchange_begin(exchange, team->next++);
        if (st != HU_OK) return at_exchange(team, exchange, st);
    }
    return st;
}

/* For whoever ends this process while it waits. */
static void note_place(const process_team *team, const bucket_exchange *exchange) {
    char where[WHERE_BYTES];
    exchange_where(exchange, where, sizeof where);
    hu_comm_status_line_set("rank %d, training step %llu, %s", rank_of(team),
                            (unsigned long long)team->step, where);
}

/* Waits for a message of any flight, and goes on with that. */
static hu_status go_on(process_team *team, double seconds) {
    hu_transfer *open[TRANSFERS];
    int32_t count = 0, which;
    bucket_exchange *of[TRANSFERS];
    for (int32_t f = 0; f < FLIGHTS; f++) {
        if (!is_busy(team->exchange[f])) continue;
        of[count] = of[count + 1] = team->exchange[f];
        open[count++] = &team->exchange[f]->receiving;
        open[count++] = &team->exchange[f]->sending;
    }
    note_place(team, of[0]);
    hu_status st = hu_failure_detector_wait(team->job->detector, open, count, seconds, &which);
    if (st != HU_OK) return at_exchange(team, of[which < 0 ? 0 : which], st);
    if (which < 0) return HU_OK;
    st = exchange_go_on(of[which]);
    return st == HU_OK ? st : at_exchange(team, of[which], st);
}

/* Buckets that may begin. Where none is on its way, waits for more: -1 if the team is to end. */
static int32_t wait_for_work(process_team *team) {
    bool must_wait = !any_is_busy(team);
    if (!team->has_thread) return team->team.plan->buckets;
    pthread_mutex_lock(&team->mutex);
    while (must_wait && !team->is_over && team->announced <= team->next)
        pthread_cond_wait(&team->work, &team->mutex);
    int32_t announced = team->is_over ? -1 : team->announced;
    pthread_mutex_unlock(&team->mutex);
    return announced;
}

static hu_status run(process_team *team) {
    int32_t buckets = team->team.plan->buckets;
    hu_status st = HU_OK;
    hu_comm_worker_begin(team->worker, team->step);
    team->next = 0;
    while (st == HU_OK && (team->next < buckets || any_is_busy(team))) {
        int32_t announced = wait_for_work(team);
        if (announced < 0) return hu_fail(HU_ERR_INTERRUPTED, "reduction: ended by its caller");
        double begin = hu_seconds_now();
        st = begin_buckets(team, announced);
        if (st == HU_OK && any_is_busy(team))
            st = go_on(team, announced == buckets ? long_wait : short_wait);
        team->seconds.busy += hu_seconds_now() - begin;
    }
    hu_comm_status_line_set("rank %d, behind the reduction of training step %llu, layer %s",
                            rank_of(team), (unsigned long long)team->step,
                            team->team.plan->layer[0].name);
    return st;
}

/* ---- the thread ---- */

static void *serve(void *argument) {
    process_team *team = argument;
    pthread_mutex_lock(&team->mutex);
    for (;;) {
        while (team->phase != RUNNING && !team->is_over)
            pthread_cond_wait(&team->work, &team->mutex);
        if (team->is_over) break;
        pthread_mutex_unlock(&team->mutex);
        hu_status st = run(team);
        pthread_mutex_lock(&team->mutex);
        /* Messages are kept per thread: this one goes to the caller's. */
        if (st != HU_OK) snprintf(team->message, sizeof team->message, "%s", hu_last_error());
        team->status = st;
        team->phase = ENDED;
        pthread_cond_signal(&team->done);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

/* Signals are for the threads of the program. */
static hu_status start_thread(process_team *team) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    team->has_thread = pthread_create(&team->thread, NULL, serve, team) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return team->has_thread ? HU_OK
                            : hu_fail(HU_ERR_MEMORY, "cannot start a thread for communication");
}

static void end_thread(process_team *team) {
    if (!team->has_thread) return;
    pthread_mutex_lock(&team->mutex);
    team->is_over = true;
    pthread_cond_signal(&team->work);
    pthread_mutex_unlock(&team->mutex);
    pthread_join(team->thread, NULL);
}

/* Begins the reduction of a step unless it has begun. Called under the mutex. */
static void begin_step(process_team *team, uint64_t step) {
    if (team->phase != IDLE) return;
    memset(team->is_ready, 0, (size_t)team->team.plan->layers * sizeof *team->is_ready);
    team->announced = 0;
    team->step = step;
    team->phase = RUNNING;
}

/* Counts the buckets from the first on that are ready as a whole. */
static void announce(process_team *team) {
    const hu_comm_plan *plan = team->team.plan;
    for (; team->announced < plan->buckets; team->announced++) {
        const hu_comm_bucket *bucket = &plan->bucket[team->announced];
        for (int32_t l = bucket->first; l < bucket->first + bucket->count; l++)
            if (!team->is_ready[l]) return;
    }
}

/* ---- the team ---- */

static process_team *inside(const hu_process_group *team) {
    return (process_team *)(uintptr_t)team;
}

static void ready(hu_process_group *base, uint64_t step, int32_t layer) {
    process_team *team = inside(base);
    if (!team->has_thread) return;
    pthread_mutex_lock(&team->mutex);
    begin_step(team, step);
    team->is_ready[layer] = true;
    announce(team);
    pthread_cond_signal(&team->work);
    pthread_mutex_unlock(&team->mutex);
}

static hu_status reduce_by_thread(process_team *team, uint64_t step) {
    pthread_mutex_lock(&team->mutex);
    begin_step(team, step);
    team->announced = team->team.plan->buckets;
    pthread_cond_signal(&team->work);
    while (team->phase != ENDED) pthread_cond_wait(&team->done, &team->mutex);
    hu_status st = team->status;
    if (st == HU_OK) team->phase = IDLE; /* a failure stays */
    pthread_mutex_unlock(&team->mutex);
    return st == HU_OK ? st : hu_fail(st, "%s", team->message);
}

static hu_status reduce(hu_process_group *base, uint64_t step) {
    process_team *team = inside(base);
    double begin = hu_seconds_now();
    if (!team->has_thread) team->step = step;
    hu_status st = team->has_thread ? reduce_by_thread(team, step) : run(team);
    team->seconds.exposed += hu_seconds_now() - begin;
    return st;
}

/* The thread rests while its caller asks: the end of a reduction passed a mutex. */
static hu_process_group_seconds seconds(const hu_process_group *team) {
    return inside(team)->seconds;
}

static hu_status gather(hu_process_group *base, size_t bytes, void *all) {
    process_team *team = inside(base);
    hu_status st = hu_rendezvous_gather(team->job, bytes, all);
    return st == HU_OK
               ? st
               : hu_fail_within(st, "rank %d, behind training step %llu, gather: ", rank_of(team),
                                (unsigned long long)team->step);
}

static hu_status collect(hu_process_group *base, size_t bytes, const void *own, void *others) {
    process_team *team = inside(base);
    hu_status st = hu_rendezvous_collect(team->job, bytes, own, others);
    return st == HU_OK
               ? st
               : hu_fail_within(st, "rank %d, behind training step %llu, collect: ", rank_of(team),
                                (unsigned long long)team->step);
}

static const hu_comm_counts *counts(const hu_process_group *team, int32_t worker) {
    (void)worker; /* there is but one here */
    return hu_comm_worker_counts(inside(team)->worker);
}

static float *loss(const hu_process_group *team, int32_t worker, int32_t i) {
    (void)worker;
    return hu_comm_worker_loss(inside(team)->worker, i);
}

static void end(hu_process_group *base) {
    process_team *team = inside(base);
    end_thread(team);
    for (int32_t f = 0; f < FLIGHTS; f++) exchange_free(team->exchange[f]);
    hu_comm_worker_free(team->worker);
    hu_free(team->is_ready);
    pthread_mutex_destroy(&team->mutex);
    pthread_cond_destroy(&team->work);
    pthread_cond_destroy(&team->done);
    hu_free(team);
}

static const hu_process_group_kind kind = {.name = "process",
                                           .free = end,
                                           .reduce = reduce,
                                           .gather = gather,
                                           .collect = collect,
                                           .ready = ready,
                                           .counts = counts,
                                           .loss = loss,
                                           .seconds = seconds};

static hu_status make(process_team *team, bool overlap) {
    const hu_comm_plan *plan = team->team.plan;
    hu_transport *transport = team->job->transport;
    hu_status st = HU_OK;
    HU_TRY(hu_comm_worker_create(plan, transport->rank, team->team.gradient[0], &team->worker));
    HU_TRY(HU_NEW_ARRAY(&team->is_ready, (size_t)plan->layers));
    for (int32_t f = 0; f < FLIGHTS; f++)
        HU_TRY(exchange_create(plan, team->worker, transport, f, &team->exchange[f]));
    if (overlap && transport->any_thread && transport->size > 1) st = start_thread(team);
done:
    return st;
}

hu_status hu_process_group_process(const hu_comm_plan *plan, float *const *gradient,
                                   hu_rendezvous *job, bool overlap, hu_process_group **result) {
    process_team *team;
    *result = NULL;
    if (job->transport->size != plan->options.workers)
        return hu_fail(HU_ERR_ARGUMENT, "found %d workers in %d processes, expected one in each",
                       plan->options.workers, job->transport->size);
    hu_status st = HU_NEW(&team);
    if (st != HU_OK) return st;
    team->team = (hu_process_group){&kind, plan, gradient, job->transport->rank, 1};
    team->job = job;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->work, NULL);
    pthread_cond_init(&team->done, NULL);
    st = make(team, overlap);
    if (st == HU_OK)
        *result = &team->team;
    else
        end(&team->team);
    return st;
}
