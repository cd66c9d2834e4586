#include "cli/interrupt.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static volatile sig_atomic_t was_interrupted;

static void on_signal(int number) {
    (void)number;
    if (was_interrupted) _exit(130);
    was_interrupted = 1;
    static const char text[] = "\nhalfulp: stopping; once more to stop at once\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
}

hu_status hu_interrupt_install(const volatile sig_atomic_t **flag) {
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    *flag = &was_interrupted;
    if (sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0)
        return HU_OK;
    return hu_fail(HU_ERR_INTERNAL, "cannot catch signals: %s", strerror(errno));
}
