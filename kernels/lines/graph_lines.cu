/*
 * A graph in CUDA C++, captured from launches of the runtime at several lines. Prints what each
 * line asked for, as kernels/lines/truth.h says.
 *
 *     graph_lines [LAUNCHES]      default 500
 */
#include <cstdio>
#include <cstdlib>
#include <map>

struct Asked {
    unsigned long long calls, ns;
};
static std::map<int, Asked> asked;

#define CHECK(call)                                                                                \
    if ((call) != cudaSuccess)                                                                     \
    std::exit(1)
/* On one line, at which the call is made. */
#define SPIN(length)                                                                               \
    (asked[__LINE__].calls++, asked[__LINE__].ns += (length), spin<<<1, 32, 0, stream>>>(length))

__global__ void spin(unsigned long long ns)
{
    unsigned long long start, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < ns);
}

int main(int argc, char **argv)
{
    unsigned long long launches = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int layer = 0; layer < 4; layer++) {
        SPIN(50000);
        SPIN(150000);
        auto activate = [&] { SPIN(20000); };
        activate();
    }
    SPIN(300000);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (unsigned long long i = 0; i < launches; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
    for (auto &line : asked)
        std::printf("line graph_lines.cu:%d captured 0 calls %llu ns %llu bytes 0\n", line.first,
                    line.second.calls * launches, line.second.ns * launches);
    return 0;
}
