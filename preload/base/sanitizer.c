/*
 * ThreadSanitizer checks the memory that its wrappers of libc's functions touch. It does not see
 * the atomics by which our threads pass memory on, so it reports races and the program ends
 * with 66. It calls this while it starts, unless the program has such a function itself: it then
 * ignores what these wrappers do for us. Each name must match one library.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:/libgpuverify.so\ncalled_from_lib:/libgpuverify-cupti.so\n"
           "race:/libcupti.so.\n";
}
