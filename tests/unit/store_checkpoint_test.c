#include "store/checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/memory.h"
#include "store_checkpoint_fixture.h"

enum { KILLS = 50 };

static void what_is_saved_is_loaded(void **state) {
    (void)state;
    char directory[256], nested[300], path[400], warning[200] = "x";
    make_directory(directory);
    snprintf(nested, sizeof nested, "%s/a", directory);
    assert_int_equal(save(nested, 12000, 2), HU_OK);
    hu_checkpoint *checkpoint;
    assert_int_equal(hu_checkpoint_open_newest(nested, &checkpoint, warning, sizeof warning),
                     HU_OK);
    assert_string_equal(warning, "");
    path_of(path, nested, 12000);
    assert_string_equal(hu_checkpoint_path(checkpoint), path);
    assert_true(holds_step(checkpoint, 12000));
    assert_int_equal(hu_checkpoint_sections(checkpoint), 3);
    assert_string_equal(hu_checkpoint_section_name(checkpoint, 1), "empty");
    const void *data;
    size_t bytes;
    assert_int_equal(hu_checkpoint_section(checkpoint, "config", &data, &bytes), HU_OK);
    assert_int_equal(bytes, 6);
    assert_memory_equal(data, "lr=0.1", 6);
    assert_int_equal((uintptr_t)data % 64, 0);
    assert_int_equal(hu_checkpoint_section(checkpoint, "empty", &data, &bytes), HU_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(hu_checkpoint_section(checkpoint, "wights", &data, &bytes), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "section 'wights'"));
    assert_null(data);
    hu_checkpoint_free(checkpoint);
    remove_directory(nested);
    remove_directory(directory);
}

/* The file of a section of three rows, in one piece or apart. Owner frees *data. */
static void write_rows(bool apart, uint8_t **data, size_t *bytes) {
    const void *row[] = {"of weights", "and losses", "and scales"};
    char directory[256], path[400];
    hu_checkpoint_writer *writer;
    make_directory(directory);
    assert_int_equal(hu_checkpoint_begin(7, &writer), HU_OK);
    if (apart)
        assert_int_equal(hu_checkpoint_add_rows(writer, "rows", row, 3, 10), HU_OK);
    else
        assert_int_equal(hu_checkpoint_add(writer, "rows", "of weightsand lossesand scales", 30),
                         HU_OK);
    row[1] = NULL; /* the addresses were copied */
    assert_int_equal(hu_checkpoint_add(writer, "after", "x", 1), HU_OK);
    assert_int_equal(hu_checkpoint_finish(writer, directory, 2), HU_OK);
    hu_checkpoint_writer_free(writer);
    path_of(path, directory, 7);
    assert_int_equal(hu_file_read(path, 100000, data, bytes), HU_OK);
    remove_directory(directory);
}

/* Rows that lie apart are the section that they are in one piece, checksum included. */
static void rows_are_one_section(void **state) {
    (void)state;
    uint8_t *whole, *apart;
    size_t whole_bytes, apart_bytes;
    write_rows(false, &whole, &whole_bytes);
    write_rows(true, &apart, &apart_bytes);
    assert_int_equal(apart_bytes, whole_bytes);
    assert_memory_equal(apart, whole, whole_bytes);
    hu_free(whole);
    hu_free(apart);
}

static void sections_that_cannot_be_are_refused_and_nothing_is_written(void **state) {
    (void)state;
    char directory[256], name[80];
    make_directory(directory);
    memset(name, 'n', sizeof name);
    name[64] = '\0';
    const char *const wrong[] = {"", "two words", "caf\xc3\xa9", name, "weights"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hu_checkpoint_writer *writer;
        assert_int_equal(hu_checkpoint_begin(1, &writer), HU_OK);
        assert_int_equal(hu_checkpoint_add(writer, "weights", "w", 1), HU_OK);
        assert_int_equal(hu_checkpoint_add(writer, wrong[i], "w", 1), HU_OK);
        assert_int_equal(hu_checkpoint_finish(writer, directory, 2), HU_ERR_ARGUMENT);
        hu_checkpoint_writer_free(writer);
    }
    hu_checkpoint_writer *writer;
    assert_int_equal(hu_checkpoint_begin(1, &writer), HU_OK);
    assert_int_equal(hu_checkpoint_finish(writer, directory, 2), HU_ERR_ARGUMENT);
    name[63] = '\0';
    assert_int_equal(hu_checkpoint_add(writer, name, "w", 1), HU_OK);
    assert_int_equal(hu_checkpoint_finish(writer, directory, 2), HU_OK);
    hu_checkpoint_writer_free(writer);
    assert_int_equal(save(directory, -1, 2), HU_ERR_ARGUMENT);
    assert_int_equal(count_files(directory), 1);
    remove_directory(directory);
}

static void the_newest_sound_checkpoint_is_found(void **state) {
    (void)state;
    char directory[256], path[400], warning[2000];
    hu_checkpoint *checkpoint;
    make_directory(directory);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                     HU_ERR_MISSING);
    for (int64_t step = 90; step <= 110; step += 10)
        assert_int_equal(save(directory, step, 3), HU_OK);
    path_of(path, directory, 110);
    assert_int_equal(truncate(path, 500), 0);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                     HU_OK);
    assert_true(holds_step(checkpoint, 100));
    assert_memory_equal(warning, path, strlen(path));
    assert_non_null(strstr(warning, "file size: found 500, expected 1384"));
    assert_non_null(strstr(warning, "using the checkpoint of step 100 instead"));
    hu_checkpoint_free(checkpoint);

    char other[400]; /* a file under a false name */
    path_of(path, directory, 100);
    path_of(other, directory, 105);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                     HU_OK);
    assert_true(holds_step(checkpoint, 90));
    assert_non_null(strstr(warning, "step: found 100, expected 105"));
    hu_checkpoint_free(checkpoint);

    path_of(path, directory, 90);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, 40),
                     HU_ERR_CORRUPT);
    assert_null(checkpoint);
    assert_int_equal(strlen(warning), 39);
    assert_non_null(strstr(hu_last_error(), "no older checkpoint of 2 is sound"));
    remove_directory(directory);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                     HU_ERR_MISSING);
}

static bool exists(const char *directory, int64_t step) {
    char path[400];
    path_of(path, directory, step);
    return hu_file_exists(path);
}

static void the_last_ones_are_kept(void **state) {
    (void)state;
    char directory[256];
    make_directory(directory);
    for (int64_t step = 0; step < 6; step++) {
        assert_int_equal(save(directory, step, HU_CHECKPOINT_KEEP), HU_OK);
        assert_int_equal(count_files(directory), step == 0 ? 1 : 2);
    }
    assert_true(exists(directory, 4) && exists(directory, 5));
    for (int64_t step = 6; step < 9; step++) assert_int_equal(save(directory, step, 3), HU_OK);
    assert_int_equal(count_files(directory), 3);
    assert_int_equal(save(directory, 9, 0), HU_OK); /* never fewer than two */
    assert_true(exists(directory, 8) && exists(directory, 9));
    assert_int_equal(save(directory, 3, 2), HU_OK); /* a run that started again from the past */
    assert_true(exists(directory, 3) && exists(directory, 8) && exists(directory, 9));
    assert_int_equal(save(directory, 1000000000000000, 2),
                     HU_OK); /* more digits than the name pads */
    assert_true(exists(directory, 9) && exists(directory, 1000000000000000));
    assert_int_equal(count_files(directory), 2);
    remove_directory(directory);
}

static void touch(const char *directory, const char *name) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    close(file);
}

static void left_overs_of_dead_processes_are_removed_and_nothing_else(void **state) {
    (void)state;
    char directory[256], living[80], warning[100];
    hu_checkpoint *checkpoint;
    make_directory(directory);
    assert_int_equal(save(directory, 1, 2), HU_OK);
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    char name[80];
    snprintf(name, sizeof name, "step-000000000002.hulp.%ld-0.tmp", (long)dead);
    snprintf(living, sizeof living, "step-000000000002.hulp.%ld-0.tmp", (long)getppid());
    touch(directory, name);
    touch(directory, living);
    touch(directory, "notes.tmp");
    touch(directory, "step-000000000002.hulp.mine");
    touch(directory, "step-2.hulp");
    assert_int_equal(count_files(directory), 6);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                     HU_OK);
    assert_true(holds_step(checkpoint, 1));
    hu_checkpoint_free(checkpoint);
    assert_int_equal(count_files(directory), 5);
    snprintf(name, sizeof name, "probe.hulp.%ld-3.tmp", (long)dead);
    touch(directory, name);
    assert_int_equal(hu_checkpoint_probe(directory, 10), HU_OK);
    assert_int_equal(count_files(directory), 5);
    remove_directory(directory);
}

/* No file of this process may grow beyond bytes; 0 lifts the limit. */
static void limit_file_size(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes > 0 ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_disk_that_takes_no_more_leaves_the_old_checkpoint(void **state) {
    (void)state;
    char directory[256], warning[100];
    hu_checkpoint *checkpoint;
    make_directory(directory);
    assert_int_equal(save(directory, 5, 2), HU_OK);
    assert_int_equal(save(directory, 6, 2), HU_OK);
    signal(SIGXFSZ, SIG_IGN);
    const rlim_t limits[] = {1, 300, 304, 320, 384, 1000, 1383};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        limit_file_size(limits[i]);
        hu_status later = save(directory, 7, 2), same = save(directory, 6, 2);
        limit_file_size(0);
        assert_int_equal(later, HU_ERR_IO);
        assert_int_equal(same, HU_ERR_IO);
        assert_int_equal(count_files(directory), 2);
    }
    limit_file_size(1 << 20);
    hu_status small = hu_checkpoint_probe(directory, 1 << 20);
    hu_status large = hu_checkpoint_probe(directory, (1 << 20) + 1);
    limit_file_size(0);
    assert_int_equal(small, HU_OK);
    assert_int_equal(large, HU_ERR_IO);
    assert_non_null(strstr(hu_last_error(), "trial save"));
    assert_int_equal(count_files(directory), 2);
    assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                     HU_OK);
    assert_true(holds_step(checkpoint, 6));
    hu_checkpoint_free(checkpoint);
    remove_directory(directory);
}

static void a_place_that_cannot_be_a_directory_is_reported_by_the_probe(void **state) {
    (void)state;
    char directory[256], path[400], inside[500];
    make_directory(directory);
    assert_int_equal(save(directory, 5, 2), HU_OK);
    path_of(path, directory, 5);
    snprintf(inside, sizeof inside, "%s/checkpoint", path);
    assert_int_equal(hu_checkpoint_probe(inside, 100), HU_ERR_IO);
    assert_int_equal(hu_checkpoint_probe(path, 100), HU_ERR_IO);
    assert_int_equal(hu_checkpoint_probe("/proc/nowhere", 100), HU_ERR_IO);
    assert_int_equal(hu_checkpoint_probe(directory, 0), HU_OK);
    hu_checkpoint *checkpoint;
    assert_int_equal(hu_checkpoint_open(directory, &checkpoint), HU_ERR_IO);
    remove_directory(directory);
}

/* A file of 3 GiB, sparse, is not read to find out that it says another size. */
static void a_size_that_the_header_denies_costs_no_memory(void **state) {
    (void)state;
    char directory[256], path[400];
    make_directory(directory);
    assert_int_equal(save(directory, 5, 2), HU_OK);
    path_of(path, directory, 5);
    assert_int_equal(truncate(path, (off_t)3 << 30), 0);
    uint64_t before = hu_memory_count().peak_bytes;
    hu_checkpoint *checkpoint;
    assert_int_equal(hu_checkpoint_open(path, &checkpoint), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "offset 16: file size: found 3221225472"));
    assert_true(hu_memory_count().peak_bytes < before + (1 << 20));
    remove_directory(directory);
}

static void every_failed_allocation_leaves_the_disk_and_the_heap_as_they_were(void **state) {
    (void)state;
    char directory[256], warning[100];
    make_directory(directory);
    assert_int_equal(save(directory, 1, 2), HU_OK);
    uint64_t live = hu_memory_count().live_blocks;
    hu_status st = HU_ERR_MEMORY;
    for (uint64_t nth = 1; st == HU_ERR_MEMORY; nth++) {
        assert_true(nth < 100);
        hu_memory_fail_at(nth);
        st = save(directory, 2, 2);
        assert_int_equal(hu_memory_count().live_blocks, live);
        assert_int_equal(count_files(directory), exists(directory, 2) ? 2 : 1);
    }
    hu_memory_fail_at(0);
    assert_int_equal(st, HU_OK);
    st = HU_ERR_MEMORY;
    for (uint64_t nth = 1; st == HU_ERR_MEMORY; nth++) {
        hu_checkpoint *checkpoint;
        assert_true(nth < 100);
        hu_memory_fail_at(nth);
        st = hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning);
        assert_int_equal(st == HU_OK, checkpoint != NULL);
        hu_checkpoint_free(checkpoint);
        assert_int_equal(hu_memory_count().live_blocks, live);
    }
    hu_memory_fail_at(0);
    assert_int_equal(st, HU_OK);
    remove_directory(directory);
}

static void save_for_ever(const char *directory, int64_t step) {
    while (save(directory, step, 2) == HU_OK) step++;
    _exit(1);
}

/* Whatever the moment of the kill, the newest checkpoint is sound and no older than before. */
static void no_kill_costs_a_checkpoint(void **state) {
    (void)state;
    char directory[256], warning[300];
    hu_random_key key = {.seed = 3};
    hu_checkpoint *checkpoint;
    int64_t newest = 0;
    int64_t advanced = 0;
    make_directory(directory);
    assert_int_equal(save(directory, 0, 2), HU_OK);
    for (uint64_t kill_number = 0; kill_number < KILLS; kill_number++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) save_for_ever(directory, newest + 1);
        usleep((unsigned)hu_random_below(&key, kill_number, 30000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning),
                         HU_OK);
        assert_string_equal(warning, "");
        int64_t step = hu_checkpoint_step(checkpoint);
        assert_true(step >= newest && holds_step(checkpoint, step));
        hu_checkpoint_free(checkpoint);
        advanced += step > newest;
        newest = step;
        assert_true(count_files(directory) >= 1); /* a kill may come before the removal */
    }
    assert_true(advanced > 0); /* some saves were finished between the kills */
    assert_int_equal(save(directory, newest + 1, 2), HU_OK);
    assert_int_equal(count_files(directory), 2); /* what the kills left is removed now */
    remove_directory(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(rows_are_one_section),
        cmocka_unit_test(sections_that_cannot_be_are_refused_and_nothing_is_written),
        cmocka_unit_test(the_newest_sound_checkpoint_is_found),
        cmocka_unit_test(the_last_ones_are_kept),
        cmocka_unit_test(left_overs_of_dead_processes_are_removed_and_nothing_else),
        cmocka_unit_test(a_disk_that_takes_no_more_leaves_the_old_checkpoint),
        cmocka_unit_test(a_place_that_cannot_be_a_directory_is_reported_by_the_probe),
        cmocka_unit_test(a_size_that_the_header_denies_costs_no_memory),
        cmocka_unit_test(every_failed_allocation_leaves_the_disk_and_the_heap_as_they_were),
        cmocka_unit_test(no_kill_costs_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
