/* How long many trainings will take, and the lines that tell it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "sweep/jobs.h"

enum { JOBS = 4 };

static char folder[] = "/tmp/halfulp-pace-XXXXXX";
static hu_job job[JOBS];

static void write_file(const char *name, const char *text) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A folder of a training that has done a quarter of its steps. */
static int set_up(void **state) {
    (void)state;
    strcpy(folder, "/tmp/halfulp-pace-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    write_file("progress.jsonl", "{\"event\":\"start\",\"step\":0,\"steps\":400}\n");
    write_file("metrics.csv", "step,loss\n0,2.5\n99,2.25\n");
    for (int i = 0; i < JOBS; i++) {
        job[i] = (hu_job){.state = HU_JOB_NEW};
        snprintf(job[i].label, sizeof job[i].label, "row %d", i);
        snprintf(job[i].directory, sizeof job[i].directory, "%s", folder);
    }
    return 0;
}

static int tear_down(void **state) {
    static const char *const names[] = {"progress.jsonl", "metrics.csv", "lines"};
    char path[1100];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static void assert_near(double found, double expected) {
    if (!(fabs(found - expected) < 0.5)) fail_msg("found %g, expected %g", found, expected);
}

static void what_ended_and_what_runs_foretell(void **state) {
    hu_job_progress pace = {.parallel = 1};
    (void)state;
    assert_true(isnan(hu_job_progress_left(&pace, job, JOBS)));
    job[0].state = HU_JOB_RUNNING;
    job[0].started = hu_seconds_now() - 10.0;
    assert_near(hu_job_progress_left(&pace, job, JOBS), 30.0 + 3 * 40.0);
    pace.parallel = 2;
    assert_near(hu_job_progress_left(&pace, job, JOBS), (30.0 + 3 * 40.0) / 2);
    job[0].state = HU_JOB_DONE;
    pace.ended = 1;
    pace.seconds = 50.0;
    assert_near(hu_job_progress_left(&pace, job, JOBS), 3 * 50.0 / 2);
    job[1].state = HU_JOB_RUNNING;
    job[1].seconds = 15.0; /* of a process before */
    job[1].started = hu_seconds_now() - 5.0;
    assert_near(hu_job_progress_left(&pace, job, JOBS), (60.0 + 2 * 50.0) / 2);
    pace.rows = 10;
    pace.first = 2;
    assert_near(hu_job_progress_left(&pace, job, JOBS), (60.0 + 6 * 50.0) / 2);
    for (int i = 0; i < JOBS; i++) job[i].state = HU_JOB_DONE;
    pace.rows = 0;
    assert_near(hu_job_progress_left(&pace, job, JOBS), 0.0);
}

/* What a call writes to stderr, which is a file here. */
static void say(hu_job_progress *pace, char *text, size_t capacity) {
    char path[1100];
    snprintf(path, sizeof path, "%s/lines", folder);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    FILE *file = fopen(path, "w+");
    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    hu_job_progress_step(pace, job, JOBS, 0);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, capacity - 1, file)] = '\0';
    fclose(file);
}

/* No line within the minute, one after it. */
static void a_file_gets_a_line_a_minute(void **state) {
    hu_job_progress pace = {.parallel = 1, .spoke = hu_seconds_now() - 50.0};
    char text[512];
    (void)state;
    job[0].state = HU_JOB_RUNNING;
    job[0].started = hu_seconds_now() - 90.0;
    say(&pace, text, sizeof text);
    assert_string_equal(text, "");
    pace.spoke -= 11.0;
    say(&pace, text, sizeof text);
    assert_string_equal(text, "row 1 of 4: row 0: step 99, 90 s, 22:30 left\n");
    say(&pace, text, sizeof text);
    assert_string_equal(text, "");
    pace.spoke -= 61.0;
    pace.is_quiet = true;
    say(&pace, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_ended_and_what_runs_foretell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_gets_a_line_a_minute, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
