/* A library that is what its name says: gv_here lies in it, and some calls of CUDA's. */
__attribute__((visibility("default"))) void gv_here(void);
__attribute__((visibility("default"))) int cuInit(unsigned flags);
__attribute__((visibility("default"))) int cudaDeviceSynchronize(void);

void gv_here(void)
{
}

int cuInit(unsigned flags)
{
    return (int)flags;
}

int cudaDeviceSynchronize(void)
{
    return 0;
}
