#include "report/stall_run.h"

int gv_stall_advise(struct gv_stall_run *run)
{
    (void)run;
    return 0;
}
