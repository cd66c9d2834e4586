#include <halfulp/api.h>

const char *hu_version(void) {
    return HALFULP_VERSION;
}
