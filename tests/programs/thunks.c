/* Tests the thunks of src/thunks.h between a made-up program, Fortran layer
 * and MPI: arguments in registers and on the stack must arrive unchanged,
 * the call's return address must be noted, functions must be looked up once,
 * and PMPI_x must be the wrapper for those callers that need it. */
#include "thunks.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                    \
    do {                                                                      \
        if (!(condition)) {                                                   \
            printf("line %d: not so: %s\n", __LINE__, #condition);            \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define ID 4011     /* more than a byte, and close to the largest immediate operand */
#define INDEX 20011 /* index in mt_thunk_targets of the first of four Fortran names; PMPI_Try and mpi_real_ follow */
#define PMPI_INDEX 20015
#define REAL_INDEX 20016

/* The library's variables that thunks use: see fortran.h and state.h. */
typedef struct note {
    uint64_t site;
    uint32_t call;
} note;
_Thread_local note mt_fortran_noted __attribute__((tls_model("initial-exec")));
typedef struct range {
    uint64_t start, size;
} range;
struct {
    range fortran_layer, fortran_bindings;
} mt_calls;
void *mt_thunk_targets[REAL_INDEX + 1];

static int found, missed;
static uint64_t caller_found;
static uint32_t index_found;

/* Overwrites the registers that a function may overwrite. */
static void scramble(void)
{
#if defined(__x86_64__)
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\nmovaps %%xmm0, %%xmm1\nmovaps %%xmm0, %%xmm2\nmovaps %%xmm0, %%xmm3\n"
                     "movaps %%xmm0, %%xmm4\nmovaps %%xmm0, %%xmm5\nmovaps %%xmm0, %%xmm6\nmovaps %%xmm0, %%xmm7\n" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
    __asm__ volatile("mov $-1, %%rax\nmov %%rax, %%rcx\nmov %%rax, %%rdx\nmov %%rax, %%rsi\nmov %%rax, %%rdi\n"
                     "mov %%rax, %%r8\nmov %%rax, %%r9\nmov %%rax, %%r10\nmov %%rax, %%r11\n" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("movi v0.2d, #0\nmovi v1.2d, #0\nmovi v2.2d, #0\nmovi v3.2d, #0\n"
                     "movi v4.2d, #0\nmovi v5.2d, #0\nmovi v6.2d, #0\nmovi v7.2d, #0\n" ::
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
    __asm__ volatile("mov x0, #-1\nmov x1, x0\nmov x2, x0\nmov x3, x0\nmov x4, x0\nmov x5, x0\nmov x6, x0\n"
                     "mov x7, x0\nmov x8, x0\nmov x9, x0\nmov x10, x0\nmov x11, x0\nmov x12, x0\nmov x13, x0\n"
                     "mov x14, x0\nmov x15, x0\nmov x16, x0\nmov x17, x0\n" ::
                         : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                           "x14", "x15", "x16", "x17", "memory");
#endif
}

static void require_aligned_stack(void)
{
    volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    REQUIRE(frame % 16 == 0);
}

#define ARGUMENTS                                                                                                     \
    int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i, int64_t j,      \
        int64_t k, int64_t l
typedef int64_t function(ARGUMENTS);
function mpi_try_, mpi_try__, mpi_try, MPI_TRY, MPI_Try, PMPI_Try;

/* The function that was reached, its return address, and the sum of its arguments. */
enum { BINDING = 1, WRAPPER, REAL };
static struct {
    int who;
    uint64_t site;
    int64_t sum;
} reached;

static int64_t reach(int who, void *site, ARGUMENTS)
{
    reached.who = who;
    reached.site = (uint64_t)(uintptr_t)site;
    reached.sum = a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h +
                  100000000 * i + 1000000000 * j + 10000000000 * k + 100000000000 * l;
    return 77;
}

#define REACH(who) reach(who, __builtin_return_address(0), a, b, c, d, e, f, g, h, i, j, k, l)
static __attribute__((noinline)) int64_t binding(ARGUMENTS) { return REACH(BINDING); }
static __attribute__((noinline)) int64_t real(ARGUMENTS) { return REACH(REAL); }
/* A function of another library that is unrelated to MPI. */
double mpi_real_(double, int64_t, double, double, double, double, double, double, double);

static __attribute__((noinline)) double reals(double a, int64_t b, double c, double d, double e, double f, double g,
                                              double h, double i)
{
    return a + 10 * (double)b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h +
           100000000 * i;
}

int64_t MPI_Try(ARGUMENTS) { return REACH(WRAPPER); }

void *mt_thunk_find_target(uint32_t index, uint64_t caller)
{
    require_aligned_stack();
    found++;
    index_found = index;
    caller_found = caller;
    void *p = index < PMPI_INDEX ? (void *)binding : index == PMPI_INDEX ? (void *)real : (void *)reals;
    mt_thunk_targets[index] = p;
    scramble();
    return p;
}

void mt_fortran_missed(void)
{
    require_aligned_stack();
    missed++;
    mt_fortran_noted.call = 0;
    scramble();
}

MT_THUNK_CODE;
MT_THUNK_FORTRAN("mpi_try_", 20011, 4011);
MT_THUNK_FORTRAN("mpi_try__", 20012, 4011);
MT_THUNK_FORTRAN("mpi_try", 20013, 4011);
MT_THUNK_FORTRAN("MPI_TRY", 20014, 4011);
MT_THUNK_PMPI(MPI_Try, 20015, 4011);
MT_THUNK_FORTRAN("mpi_real_", 20016, 4012);

/* The callers: a program, and a Fortran layer in a section of its own. The
 * sum has the digits of the twelve arguments in reverse. */
static int64_t arguments_in_order(int64_t returned)
{
    return returned == 77 && reached.sum == 321987654321;
}

static __attribute__((noinline)) int64_t call(function *f)
{
    int64_t returned = f(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3);
    return arguments_in_order(returned);
}

static __attribute__((noinline, section("layer"))) int64_t call_from_layer(function *f)
{
    int64_t returned = f(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3);
    return arguments_in_order(returned);
}

extern char __start_layer[], __stop_layer[];

static int in_call(uint64_t site)
{
    return site > (uint64_t)(uintptr_t)call && site < (uint64_t)(uintptr_t)call + 400;
}

static void check_fortran(function *f, uint32_t index)
{
    found = missed = 0;
    mt_fortran_noted.call = 0;
    REQUIRE(call(f) && reached.who == BINDING);
    REQUIRE(found == 1 && missed == 0);
    REQUIRE(mt_fortran_noted.call == (index << 16 | ID));
    REQUIRE(mt_fortran_noted.site == reached.site && in_call(reached.site));
    REQUIRE(index_found == index && caller_found == reached.site);
    REQUIRE(call(f) && reached.who == BINDING && missed == 1); /* the first note was not taken */
    REQUIRE(mt_fortran_noted.call == (index << 16 | ID) && mt_fortran_noted.site == reached.site);
}

static void *check_thread(void *unused)
{
    (void)unused; /* the main thread's note does not affect this thread */
    REQUIRE(mt_fortran_noted.call == 0);
    REQUIRE(call(PMPI_Try) && reached.who == REAL);
    REQUIRE(call(mpi_try_) && mt_fortran_noted.call);
    return NULL;
}

int main(void)
{
    function *names[] = {mpi_try_, mpi_try__, mpi_try, MPI_TRY};
    for (int i = 0; i < 4; i++)
        check_fortran(names[i], INDEX + (uint32_t)i);

    mt_fortran_noted.call = 0;
    found = 0;
    REQUIRE(call(PMPI_Try) && reached.who == REAL && in_call(reached.site) && found == 1);
    REQUIRE(index_found == PMPI_INDEX && caller_found == reached.site);
    REQUIRE(call_from_layer(PMPI_Try) && reached.who == REAL && found == 1); /* mt_calls.fortran_layer is not set yet */
    mt_calls.fortran_layer.start = (uint64_t)(uintptr_t)__start_layer;
    mt_calls.fortran_layer.size = (uint64_t)(__stop_layer - __start_layer);
    REQUIRE(call_from_layer(PMPI_Try) && reached.who == WRAPPER);
    REQUIRE(reached.site - mt_calls.fortran_layer.start < mt_calls.fortran_layer.size);
    REQUIRE(call(PMPI_Try) && reached.who == REAL);
    mt_fortran_noted.call = (uint32_t)INDEX << 16 | ID;
    REQUIRE(call(PMPI_Try) && reached.who == REAL); /* only a call from a file of bindings may be the noted one */
    mt_calls.fortran_bindings.start = (uint64_t)(uintptr_t)call;
    mt_calls.fortran_bindings.size = 400;
    REQUIRE(call(PMPI_Try) && reached.who == WRAPPER && in_call(reached.site));
    mt_fortran_noted.call = (uint32_t)INDEX << 16 | (ID + 1);
    REQUIRE(call(PMPI_Try) && reached.who == REAL);

    mt_fortran_noted.call = 1; /* the slowest path: a call was missed, and the function has to be looked up */
    REQUIRE(mpi_real_(1, 2, 3, 4, 5, 6, 7, 8, 9) == 987654321);
    mt_fortran_noted.call = 0;

    pthread_t thread;
    uint32_t before = mt_fortran_noted.call;
    REQUIRE(pthread_create(&thread, NULL, check_thread, NULL) == 0);
    pthread_join(thread, NULL);
    REQUIRE(mt_fortran_noted.call == before);
    puts("ok");
    return 0;
}
