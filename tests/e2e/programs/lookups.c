/*
 * lookups NAMES HOW: looks up every name in the file NAMES in one way, and prints the result, the
 * status, and the library and offset of the address.
 *
 *    dlsym, dlvsym, default (RTLD_DEFAULT)  one answer for each name
 *    v1, v2                                  cuGetProcAddress and _v2, for every version and flag
 *    v1-by-v1, v2-by-v1, v2-by-v2            the same through the pointer that asking for
 *                                            "cuGetProcAddress" itself gave
 */
#include "e2e.h"

#include <dlfcn.h>
#include <string.h>

typedef CUresult v1_lookup(const char *, void **, int, cuuint64_t);
typedef CUresult v2_lookup(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *);

static char untouched[1];
static v1_lookup *v1;
static v2_lookup *v2;

static const int versions[] = {0,     2000,  3020,  4000,  5050,  6050,  7000,  8000,  9000, 10000,
                               11000, 11010, 11030, 11040, 12000, 12010, 12080, 13000, 99000};

static void print_address(const char *label, void *address)
{
    Dl_info info;
    const char *file;

    if (!address) {
        printf("%s NULL -\n", label);
        return;
    }
    if (address == untouched) {
        printf("%s untouched -\n", label);
        return;
    }
    if (!dladdr(address, &info)) {
        printf("%s unknown -\n", label);
        return;
    }
    file = strrchr(info.dli_fname, '/');
    printf("%s %zx %s\n", label, (size_t)((char *)address - (char *)info.dli_fbase),
           file ? file + 1 : info.dli_fname);
}

static void ask_driver(const char *name)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        for (unsigned flags = 0; flags < 3; flags++) {
            CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
            void *address = untouched;
            char label[400];
            int result = v1 ? (int)v1(name, &address, versions[i], flags)
                            : (int)v2(name, &address, versions[i], flags, &status);

            snprintf(label, sizeof(label), "%s %d %u: %d %d", name, versions[i], flags, result,
                     (int)status);
            print_address(label, address);
        }
    }
}

static void choose(void *driver, const char *how)
{
    void *first =
        dlsym(driver, strncmp(how + 2, "-by-v1", 6) ? "cuGetProcAddress_v2" : "cuGetProcAddress");
    void *found = NULL;

    REQUIRE(first);
    if (!strcmp(how, "v1")) {
        v1 = (v1_lookup *)dlsym(driver, "cuGetProcAddress");
    } else if (!strcmp(how, "v2")) {
        v2 = (v2_lookup *)first;
    } else if (!strcmp(how, "v1-by-v1")) {
        OK(((v1_lookup *)first)("cuGetProcAddress", &found, 11030, 0));
        v1 = (v1_lookup *)found;
    } else if (!strcmp(how, "v2-by-v1")) {
        OK(((v1_lookup *)first)("cuGetProcAddress", &found, 12000, 0));
        v2 = (v2_lookup *)found;
    } else if (!strcmp(how, "v2-by-v2")) {
        OK(((v2_lookup *)first)("cuGetProcAddress", &found, 12000, 0, NULL));
        v2 = (v2_lookup *)found;
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    void *driver;
    char name[256];
    FILE *names;

    REQUIRE(argc == 3);
    names = fopen(argv[1], "r");
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(names && driver);
    choose(driver, how);
    while (fgets(name, sizeof(name), names)) {
        name[strcspn(name, "\n")] = 0;
        if (v1 || v2)
            ask_driver(name);
        else if (!strcmp(how, "dlsym"))
            print_address(name, dlsym(driver, name));
        else if (!strcmp(how, "dlvsym"))
            print_address(name, dlvsym(driver, name, "libcuda.so.1"));
        else if (!strcmp(how, "default"))
            print_address(name, dlsym(RTLD_DEFAULT, name));
        else
            return fprintf(stderr, "lookups: how is %s?\n", how), 2;
    }
    fclose(names);
    return 0;
}
