/* A library whose name says what it is: it has gv_here and some CUDA calls. */
__attribute__((visibility("default"))) void gv_here(void);
__attribute__((visibility("default"))) int cuInit(unsigned flags);
__attribute__((visibility("default"))) int cudaDeviceSynchronize(void);

void gv_here(void)
{
}

#ifndef GV_CUDART
int cuInit(unsigned flags)
{
    return (int)flags;
}
#endif

#ifndef GV_CUDA
int cudaDeviceSynchronize(void)
{
    return 0;
}
#endif

#ifdef GV_NCCL
__attribute__((visibility("default"))) int ncclAllReduce(void);
int ncclAllReduce(void)
{
    return 0;
}
#endif
