/* base/cap.h - whether the cap of the instruction set (base/cpu.h) is one that is known. */
#ifndef HU_BASE_CAP_H
#define HU_BASE_CAP_H
#include <halfulp/status.h>

/* HU_ERR_ARGUMENT if the environment variable HALFULP_MAX_ISA is set, not empty and none of the
 * names of hu_isa_name as they are written there; hu_cpu_isa would go on as if it were not set. A
 * name of a set that this machine lacks is fine: it caps nothing. */
hu_status hu_cap_check(void);

#endif
