// Makes CUDA calls where stacks are hard to unwind, for tests/gpu/chains.py: below callbacks, in
// destructors while an exception passes, in signal handlers, on deep and on large stacks.
#include <cuda.h>

#include "kernels/check.h"

#include <algorithm>
#include <alloca.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static CUcontext context;
static CUdeviceptr memory;

static void call()
{
    CHECK(cuMemsetD8(memory, 1, 4));
}

static bool compare(int a, int b)
{
    if ((a + b) % 8 == 0)
        call();
    return a < b;
}

static int compare_in_c(const void *a, const void *b)
{
    return compare(*static_cast<const int *>(a), *static_cast<const int *>(b)) ? -1 : 1;
}

static void sort()
{
    std::vector<int> numbers(64);

    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = static_cast<int>(i * 37 % numbers.size());
    std::vector<int> again = numbers, stable = numbers;
    std::sort(numbers.begin(), numbers.end(), compare);
    std::stable_sort(stable.begin(), stable.end(), [](int a, int b) { return compare(a, b); });
    qsort(again.data(), again.size(), sizeof again[0], compare_in_c);
}

struct Caller {
    ~Caller()
    {
        call();
    }
};

static void fall(int depth)
{
    Caller caller;

    if (depth == 0)
        throw std::runtime_error("at the bottom");
    fall(depth - 1);
}

static void rethrow(int depth)
{
    try {
        fall(depth);
    } catch (const std::exception &) {
        call();
        throw;
    }
}

static void throws()
{
    for (int depth = 1; depth < 12; depth++) {
        try {
            rethrow(depth);
        } catch (const std::runtime_error &error) {
            Caller caller;
            std::string copy = error.what();
            if (copy.size() > 3)
                call();
        }
    }
}

struct Shape {
    virtual ~Shape() = default;
    virtual void draw(const std::function<void(int)> &how) = 0;
};

struct Square : Shape {
    void draw(const std::function<void(int)> &how) override
    {
        for (int i = 0; i < 4; i++)
            how(i);
    }
};

static void functions()
{
    std::map<int, std::function<void(int)>> table;
    Square square;
    Shape &shape = square;

    table[0] = [](int) { call(); };
    table[1] = [&](int i) { table[0](i); };
    table[2] = std::bind(table[1], std::placeholders::_1);
    for (auto &entry : table)
        shape.draw(entry.second);
}

__attribute__((noinline)) static size_t descend(int depth, size_t bytes)
{
    char *space = static_cast<char *>(alloca(bytes));

    memset(space, depth, bytes);
    if (depth == 0)
        call();
    else
        bytes += descend(depth - 1, bytes);
    return bytes + static_cast<size_t>(space[0]);
}

static void on_signal(int)
{
    call();
}

static void signals()
{
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 8; i++)
        raise(SIGUSR1);
}

static void threads()
{
    std::thread thread([] {
        CHECK(cuCtxSetCurrent(context));
        sort();
        throws();
    });
    auto later = std::async(std::launch::async, [] {
        CHECK(cuCtxSetCurrent(context));
        functions();
    });

    later.get();
    thread.join();
}

int main()
{
    CUdevice device;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&memory, 64));
    sort();
    throws();
    functions();
    signals();
    threads();
    for (int depth : {1, 30, 200, 400})
        descend(depth, 16);
    descend(3, 30000); // more than is copied
    CHECK(cuMemFree(memory));
    return 0;
}
