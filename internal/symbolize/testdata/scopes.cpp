// Calls in a method, a template and a namespace.
#include "mark.h"

namespace grid {

struct Halo {
    __attribute__((noinline)) void exchange(int n);
};

void Halo::exchange(int)
{
    mark("grid::Halo::exchange", __LINE__);
    __asm__ volatile("");
}

template <typename T> __attribute__((noinline)) void reduce(T)
{
    mark("grid::reduce", __LINE__);
    __asm__ volatile("");
}

} // namespace grid

int main()
{
    grid::Halo().exchange(1);
    grid::reduce(2.0);
    grid::reduce(3);
}
