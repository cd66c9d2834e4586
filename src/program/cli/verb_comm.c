/* halfulp comm: what one all-reduce in a narrow format does to gradients of many workers. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "bench/gemm.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "render/table.h"
#include "report/reductions.h"
#include "session/comm_study.h"

/* Every process has the result; that of worker 0 tells it. */
static hu_status tell(const hu_config *config, const hu_gradient_study *study) {
    hu_status st = HU_OK;
    const char *path;
    hu_comm_study_tell_skipped(study, &hu_progress_messages);
    HU_TRY(hu_config_text(config, "out.file", &path));
    if (strcmp(path, "auto") != 0) HU_TRY(hu_reductions_page(study, path));
    st = hu_config_flag(config, "json", NULL) ? hu_json_print(hu_reductions_json(study))
                                              : hu_reductions_print(study);
done:
    return st;
}

/* Before anything is measured. */
static hu_status check_ending(const hu_config *config) {
    static const char *const endings[] = {"html", "htm", NULL};
    const char *path;
    int which;
    hu_status st = hu_config_text(config, "out.file", &path);
    return st == HU_OK ? hu_ending_find(path, endings, &which) : st;
}

static hu_status run_comm(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    hu_comm_study opened = {0};
    hu_gradient_study *study = &opened.study;
    hu_processes processes = {0};
    const volatile sig_atomic_t *flag;
    (void)exit_code;
    HU_TRY(check_ending(config));
    HU_TRY(hu_interrupt_install(&flag));
    HU_TRY(hu_join_peers(config, flag, &processes));
    st = hu_comm_study_open(config, hu_processes_lead(&processes) ? &hu_progress_messages : NULL,
                            flag, &opened);
    if (st == HU_OK) st = hu_threads_read(config, &study->threads);
    HU_TRY(hu_processes_agree(&processes, st));
    HU_TRY(hu_processes_compare(&processes, config, NULL, NULL));
    if (processes.transport) {
        study->join = hu_processes_team;
        study->context = &processes;
        study->first = processes.transport->rank;
    }
    HU_TRY(hu_gradient_study_run(study));
    if (hu_processes_lead(&processes)) HU_TRY(tell(config, study));
done:
    hu_leave_peers(&processes, st);
    hu_comm_study_close(&opened);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const comm_keys[] = {
    "comm.*",     "cluster.link", "cluster.latency", "bench.format", "bench.elements", "run.seed",
    "run.repeat", "run.steps",    "run.threads",     "data.name",    "out.file",       NULL};

const hu_verb hu_verb_comm = {
    .name = "comm",
    .group = HU_VERBS_FORMATS,
    .help = "what an all-reduce in a narrow format does to gradients of many workers",
    .usage = "[workers=N] [schedule=S,...] [format=F,...] [scaling=C,...] [key=value ...] [--json]",
    .details =
        "All workers run in this process, and every message is made as a network would carry\n"
        "it; `mpirun -np N halfulp comm ...` runs one in each process, to the same bits.\n"
        "Lists are tried each with each; a schedule and a scaling that do not fit are skipped.\n"
        "schedule: seq ring hier:K hier2d:K halving pairwise;\n"
        "scaling: none constant:K aps aps-tight aps-wide aps2, and codes in place of a format,\n"
        "terngrad[:C] qsgd[:B[/D]] flex16+5. rounding=sr, kahan=on,\n"
        "error_feedback=on with steps=N; repeat=N seeds give medians. Gradients are drawn:\n"
        "elements=, rho= (what a worker's gradient tells of the mean), sigma= (spread of sizes),\n"
        "magnitude=2^-14 (as small as real ones: what scaling is for; 1 fits most formats as it "
        "is).\n"
        "run=RUN takes the gradients of a training instead, those of the step behind its newest\n"
        "checkpoint or of step=K, and tells which layer suffers most; its batch is shared out\n"
        "among workers=N.\n"
        "out=FILE.html draws errors against the group size and times against the number of\n"
        "workers, for link=10G and latency=10us. config=recipes/aps-table9.yaml is a table of\n"
        "the APS paper.\n",
    .flags = flags,
    .joins_others = true,
    .keys = comm_keys,
    .refuses_others = true,
    .examples = {{"comm workers=4 schedule=ring format=e5m2 scaling=aps elements=512",
                  "what reduction in 8 bits loses"},
                 {"comm scaling=aps,terngrad,qsgd,flex16+5 format=e5m2",
                  "APS beside its rivals: errors and bytes"},
                 {"comm run=RUN workers=2 format=e5m2", "the same of the gradients of a training"}},
    .run = run_comm,
};
