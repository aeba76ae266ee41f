/* A library with a function that happens to have a driver call's name. */
__attribute__((visibility("default"))) int cuMemFree_v2(unsigned long long pointer);

int cuMemFree_v2(unsigned long long pointer)
{
    return 4242 + (int)pointer;
}
