/* A transport between the threads of one process, for tests: letters in a box under one mutex. */
#ifndef HU_TESTS_MAILBOX_H
#define HU_TESTS_MAILBOX_H
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/transport.h"

enum { MAILBOX_MOST = 8, MAILBOX_LETTERS = 65536 };

typedef struct letter {
    int32_t from, to, tag;
    size_t bytes;
    uint8_t *data; /* NULL: taken */
} letter;

/* A receive that was begun. */
typedef struct posted {
    int32_t from, tag;
    uint8_t *to;
    size_t bytes, received;
    bool is_done, is_cancelled;
} posted;

typedef struct mailbox mailbox;

typedef struct mailbox_end {
    hu_transport transport;
    mailbox *box;
    posted *posted; /* [MAILBOX_LETTERS] */
    size_t count, first_open;
} mailbox_end;

struct mailbox {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    letter *letter; /* [MAILBOX_LETTERS] */
    size_t count, first_full;
    mailbox_end end[MAILBOX_MOST];
};

static int mailbox_send(hu_transport *transport, int32_t peer, int32_t tag, const void *message,
                        size_t bytes, hu_ticket *ticket) {
    mailbox *box = ((mailbox_end *)transport)->box;
    uint8_t *data = malloc(bytes + 1);
    memcpy(data, message, bytes);
    pthread_mutex_lock(&box->mutex);
    bool fits = box->count < MAILBOX_LETTERS;
    if (fits) box->letter[box->count++] = (letter){transport->rank, peer, tag, bytes, data};
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->mutex);
    *ticket = 0; /* done already */
    if (fits) return 0;
    free(data);
    snprintf(transport->error, sizeof transport->error, "the box is full");
    return 1;
}

static int mailbox_receive(hu_transport *transport, int32_t peer, int32_t tag, void *message,
                           size_t bytes, hu_ticket *ticket) {
    mailbox_end *end = (mailbox_end *)transport;
    if (end->count == MAILBOX_LETTERS) return 1;
    end->posted[end->count++] = (posted){.from = peer, .tag = tag, .to = message, .bytes = bytes};
    *ticket = end->count;
    return 0;
}

/* The first letter that a receive is for. */
static letter *mailbox_find(const mailbox_end *end, const posted *p) {
    mailbox *box = end->box;
    for (size_t i = box->first_full; i < box->count; i++) {
        letter *l = &box->letter[i];
        if (l->data && l->to == end->transport.rank && l->tag == p->tag &&
            (p->from == HU_TRANSPORT_ANY || l->from == p->from))
            return l;
    }
    return NULL;
}

/* Hands out what has come, receives in the order in which they were begun. */
static int mailbox_deliver(mailbox_end *end) {
    for (size_t i = end->first_open; i < end->count; i++) {
        posted *p = &end->posted[i];
        letter *l = p->is_done || p->is_cancelled ? NULL : mailbox_find(end, p);
        if (!l) continue;
        if (l->bytes > p->bytes) {
            snprintf(end->transport.error, sizeof end->transport.error, "a letter is too long");
            return 1;
        }
        memcpy(p->to, l->data, l->bytes);
        p->received = l->bytes;
        p->is_done = true;
        free(l->data);
        l->data = NULL;
    }
    while (end->first_open < end->count &&
           (end->posted[end->first_open].is_done || end->posted[end->first_open].is_cancelled))
        end->first_open++;
    while (end->box->first_full < end->box->count && !end->box->letter[end->box->first_full].data)
        end->box->first_full++;
    return 0;
}

static int32_t mailbox_done(const mailbox_end *end, int32_t count, const hu_ticket *ticket,
                            size_t *bytes) {
    for (int32_t i = 0; i < count; i++) {
        const posted *p = ticket[i] ? &end->posted[ticket[i] - 1] : NULL;
        if (p && !p->is_done) continue;
        *bytes = p ? p->received : 0;
        return i;
    }
    return -1;
}

static int mailbox_wait(hu_transport *transport, int32_t count, hu_ticket *ticket, double seconds,
                        int32_t *which, size_t *bytes) {
    mailbox_end *end = (mailbox_end *)transport;
    struct timespec until;
    double whole = seconds > 1e6 ? 1e6 : seconds;
    int failed, late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((whole - (double)(time_t)whole) * 1e9);
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&end->box->mutex);
    for (;;) {
        failed = mailbox_deliver(end);
        *which = mailbox_done(end, count, ticket, bytes);
        if (failed || *which >= 0 || late) break;
        late = pthread_cond_timedwait(&end->box->changed, &end->box->mutex, &until) == ETIMEDOUT;
    }
    pthread_mutex_unlock(&end->box->mutex);
    return failed;
}

static void mailbox_cancel(hu_transport *transport, hu_ticket ticket) {
    if (ticket) ((mailbox_end *)transport)->posted[ticket - 1].is_cancelled = true;
}

static void *mailbox_room(hu_transport *transport, size_t bytes) {
    (void)transport;
    return malloc(bytes + 1);
}

static void mailbox_free_room(hu_transport *transport, void *room) {
    (void)transport;
    free(room);
}

/* Parts of few bytes, so that most messages are cut. */
static const hu_transport_kind mailbox_kind = {.name = "mailbox",
                                               .most_bytes = 96,
                                               .send = mailbox_send,
                                               .receive = mailbox_receive,
                                               .wait = mailbox_wait,
                                               .cancel = mailbox_cancel,
                                               .room = mailbox_room,
                                               .free_room = mailbox_free_room};

static mailbox *mailbox_create(int32_t size) {
    mailbox *box = calloc(1, sizeof *box);
    pthread_mutex_init(&box->mutex, NULL);
    pthread_cond_init(&box->changed, NULL);
    box->letter = calloc(MAILBOX_LETTERS, sizeof *box->letter);
    for (int32_t r = 0; r < size; r++) {
        box->end[r].transport =
            (hu_transport){.kind = &mailbox_kind, .rank = r, .size = size, .any_thread = true};
        box->end[r].box = box;
        box->end[r].posted = calloc(MAILBOX_LETTERS, sizeof *box->end[r].posted);
    }
    return box;
}

static void mailbox_destroy(mailbox *box) {
    for (size_t i = 0; i < box->count; i++) free(box->letter[i].data);
    for (int32_t r = 0; r < MAILBOX_MOST; r++) free(box->end[r].posted);
    free(box->letter);
    pthread_mutex_destroy(&box->mutex);
    pthread_cond_destroy(&box->changed);
    free(box);
}

#endif
