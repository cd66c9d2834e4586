#include "engine/buffer.h"

static const char *const role_names[] = {
#define HU_BUFFER_NAME(name, text) text,
    HU_BUFFER_ROLES(HU_BUFFER_NAME)
#undef HU_BUFFER_NAME
};

const char *hu_buffer_role_name(hu_buffer_role role) {
    return role_names[role];
}
