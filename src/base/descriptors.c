#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void hu_descriptors_fill(void) {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
        if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
        /* The lowest free number is this one. Where even that fails nothing can be done or said. */
        int opened = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened < 0) return;
    }
}
