// Hooks let a layer call a higher one. The lower layer declares a hook and calls the
// functions that are registered with it; the higher layer registers a function. The
// linker collects the functions of a hook in a section of its own. So they are there
// before the first MPI call, which may come before any code of this library has run,
// and no thread ever writes to them.
//
// A hook with one function is called by MT_CALL_HOOK; the link fails if no function is
// registered. A hook with several functions is called by MT_EACH_HOOK, in an undefined
// order.
#ifndef MT_HOOK_H
#define MT_HOOK_H

// Declares a hook, in a header of the lower layer, after `typedef void
// mt_hook_NAME(...)`.
#define MT_HOOK(name)                                                                                                  \
    extern mt_hook_##name *const __start_mt_hook_##name[] __attribute__((visibility("hidden")));                       \
    extern mt_hook_##name *const __stop_mt_hook_##name[] __attribute__((visibility("hidden")))

#define MT_CALL_HOOK(name, ...) __start_mt_hook_##name[0](__VA_ARGS__)

#define MT_EACH_HOOK(name, ...)                                                                                        \
    do {                                                                                                               \
        for (mt_hook_##name *const *f = __start_mt_hook_##name; f < __stop_mt_hook_##name; f++)                        \
            (*f)(__VA_ARGS__);                                                                                         \
    } while (0)

// Registers a function with a hook, in a source file of the higher layer.
#define MT_REGISTER(name, function)                                                                                    \
    __attribute__((used, section("mt_hook_" #name))) static mt_hook_##name *const registered_##name = function

#endif
