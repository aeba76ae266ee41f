/*
 * How the simulated libnccl runs a collective: it launches a kernel whose name begins with
 * GV_SIM_COLLECTIVE_KERNEL, with the address of this as its only parameter.
 */
#ifndef GV_TESTS_SIM_COLLECTIVE_H
#define GV_TESTS_SIM_COLLECTIVE_H

#define GV_SIM_COLLECTIVE_KERNEL "ncclDevKernel_"

struct gv_sim_collective {
    /* Called once, on a thread of the simulator, when the stream has reached the kernel. The kernel
     * ends when it returns. */
    void (*meet)(void *data);
    void *data;
};

#endif
