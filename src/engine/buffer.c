#include "engine/buffer.h"

static const char *const role_names[] = {
#define HU_BUFFER_NAME(name, text) text,
    HU_BUFFER_ROLES(HU_BUFFER_NAME)
#undef HU_BUFFER_NAME
};

const char *hu_buffer_role_name(hu_buffer_role role) {
    return role_names[role];
}

void hu_buffer_forget(hu_buffer *buffer) {
    for (int c = 0; c < HU_COURSES; c++) buffer->life[c] = (hu_life){INT32_MAX, -1};
}

void hu_buffer_use(hu_buffer *buffer, int course, int32_t time) {
    hu_life *life = &buffer->life[course];
    if (time < life->first) life->first = time;
    if (time > life->last) life->last = time;
}

bool hu_buffer_is_used(const hu_buffer *buffer) {
    return hu_buffer_outlives(buffer, -1);
}

bool hu_buffer_is_alive(const hu_buffer *buffer, int course, int32_t time) {
    return buffer->life[course].first <= time && time <= buffer->life[course].last;
}

bool hu_buffer_outlives(const hu_buffer *buffer, int32_t time) {
    for (int c = 0; c < HU_COURSES; c++)
        if (buffer->life[c].last > time) return true;
    return false;
}

bool hu_buffers_meet(const hu_buffer *a, const hu_buffer *b) {
    for (int c = 0; c < HU_COURSES; c++)
        if (a->life[c].first <= b->life[c].last && b->life[c].first <= a->life[c].last) return true;
    return false;
}
