// Hooks: how a layer calls a higher one. The lower layer declares a hook and calls
// what was registered with it; the higher one registers a function. The linker
// collects the functions of a hook in a section of its own, so that they are there
// before the first call of MPI, which may come before any code of ours has run, and
// so that nobody writes to them.
//
// A hook with one function is called by MT_CALL_HOOK, and it is an error of the
// linker if nobody registers with it. One with several is called by MT_EACH_HOOK. In
// which order the functions are called is not defined.
#ifndef MT_HOOK_H
#define MT_HOOK_H

// In a header of the lower layer, after `typedef void mt_hook_NAME(...)`.
#define MT_HOOK(name)                                                                                                  \
    extern mt_hook_##name *const __start_mt_hook_##name[] __attribute__((visibility("hidden")));                       \
    extern mt_hook_##name *const __stop_mt_hook_##name[] __attribute__((visibility("hidden")))

#define MT_CALL_HOOK(name, ...) __start_mt_hook_##name[0](__VA_ARGS__)

#define MT_EACH_HOOK(name, ...)                                                                                        \
    do {                                                                                                               \
        for (mt_hook_##name *const *f = __start_mt_hook_##name; f < __stop_mt_hook_##name; f++)                        \
            (*f)(__VA_ARGS__);                                                                                         \
    } while (0)

// In a source of the higher layer.
#define MT_REGISTER(name, function)                                                                                    \
    __attribute__((used, section("mt_hook_" #name))) static mt_hook_##name *const registered_##name = function

#endif
