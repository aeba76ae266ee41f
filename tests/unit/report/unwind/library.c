/* A library whose function calls one of the test's. Two of them differ in the size of its frame. */
#ifndef FRAME_BYTES
#define FRAME_BYTES 32
#endif

__attribute__((visibility("default"))) int library_call(int (*callback)(void *), void *context);

int library_call(int (*callback)(void *), void *context)
{
    volatile char frame[FRAME_BYTES];

    frame[0] = (char)callback(context);
    return frame[0];
}
