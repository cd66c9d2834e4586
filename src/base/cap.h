/* base/cap.h - whether what the environment asks of the machine can be had. */
#ifndef HU_BASE_CAP_H
#define HU_BASE_CAP_H
#include <halfulp/status.h>

/* HU_ERR_ARGUMENT if the environment variable HALFULP_MAX_ISA is set, not empty and none of the
 * names of hu_isa_name as they are written there (hu_cpu_isa in base/cpu.h would go on as if it
 * were not set; a name of a set that this machine lacks is fine: it caps nothing), or if
 * OMP_STACKSIZE or GOMP_STACKSIZE asks for stacks on which threads cannot live. */
hu_status hu_cap_check(void);

#endif
