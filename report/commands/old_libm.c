/*
 * The command's logarithms, by the versions that glibc had before 2.29. The linker binds each call
 * of log() to __wrap_log(), also those of the static SQLite. The results are the same.
 */
double __wrap_log(double x);
double __wrap_log2(double x);
double old_log(double x);
double old_log2(double x);

__asm__(".symver old_log, log@" GV_OLD_LIBM);
__asm__(".symver old_log2, log2@" GV_OLD_LIBM);

double __wrap_log(double x)
{
    return old_log(x);
}

double __wrap_log2(double x)
{
    return old_log2(x);
}
