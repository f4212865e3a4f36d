#include "names.h"

#include <stdint.h>
#include <string.h>

// Names that some versions of an MPI lack.
#ifndef NEWER_BINDINGS
#define NEWER_BINDINGS
#define NEWER_REASONS
#endif

struct name {
    int value;
    const char *text;
};

static const struct name verbosities[] = {
    {MPI_T_VERBOSITY_USER_BASIC, "user-basic"},     {MPI_T_VERBOSITY_USER_DETAIL, "user-detail"},
    {MPI_T_VERBOSITY_USER_ALL, "user-all"},         {MPI_T_VERBOSITY_TUNER_BASIC, "tuner-basic"},
    {MPI_T_VERBOSITY_TUNER_DETAIL, "tuner-detail"}, {MPI_T_VERBOSITY_TUNER_ALL, "tuner-all"},
    {MPI_T_VERBOSITY_MPIDEV_BASIC, "mpidev-basic"}, {MPI_T_VERBOSITY_MPIDEV_DETAIL, "mpidev-detail"},
    {MPI_T_VERBOSITY_MPIDEV_ALL, "mpidev-all"},     {UNSET, NULL},
};

static const struct name bindings[] = {
    {MPI_T_BIND_NO_OBJECT, "none"},
    {MPI_T_BIND_MPI_COMM, "comm"},
    {MPI_T_BIND_MPI_DATATYPE, "datatype"},
    {MPI_T_BIND_MPI_ERRHANDLER, "errhandler"},
    {MPI_T_BIND_MPI_FILE, "file"},
    {MPI_T_BIND_MPI_GROUP, "group"},
    {MPI_T_BIND_MPI_OP, "op"},
    {MPI_T_BIND_MPI_REQUEST, "request"},
    {MPI_T_BIND_MPI_WIN, "win"},
    {MPI_T_BIND_MPI_MESSAGE, "message"},
    {MPI_T_BIND_MPI_INFO, "info"},
    NEWER_BINDINGS
    {UNSET, NULL},
};

static const struct name scopes[] = {
    {MPI_T_SCOPE_CONSTANT, "constant"},
    {MPI_T_SCOPE_READONLY, "readonly"},
    {MPI_T_SCOPE_LOCAL, "local"},
    {MPI_T_SCOPE_GROUP, "group"},
    {MPI_T_SCOPE_GROUP_EQ, "group-eq"},
    {MPI_T_SCOPE_ALL, "all"},
    {MPI_T_SCOPE_ALL_EQ, "all-eq"},
    {UNSET, NULL},
};

static const struct name classes[] = {
    {MPI_T_PVAR_CLASS_STATE, "state"},
    {MPI_T_PVAR_CLASS_LEVEL, "level"},
    {MPI_T_PVAR_CLASS_SIZE, "size"},
    {MPI_T_PVAR_CLASS_PERCENTAGE, "percentage"},
    {MPI_T_PVAR_CLASS_HIGHWATERMARK, "highwatermark"},
    {MPI_T_PVAR_CLASS_LOWWATERMARK, "lowwatermark"},
    {MPI_T_PVAR_CLASS_COUNTER, "counter"},
    {MPI_T_PVAR_CLASS_AGGREGATE, "aggregate"},
    {MPI_T_PVAR_CLASS_TIMER, "timer"},
    {MPI_T_PVAR_CLASS_GENERIC, "generic"},
    {UNSET, NULL},
};

// Names of error codes, because MPI 3 does not allow MPI_Error_string before MPI_Init.
#define CODE(code) {code, #code}
static const struct name reasons[] = {
    CODE(MPI_T_ERR_MEMORY),
    CODE(MPI_T_ERR_NOT_INITIALIZED),
    CODE(MPI_T_ERR_CANNOT_INIT),
    CODE(MPI_T_ERR_INVALID_INDEX),
    CODE(MPI_T_ERR_INVALID_HANDLE),
    CODE(MPI_T_ERR_OUT_OF_HANDLES),
    CODE(MPI_T_ERR_OUT_OF_SESSIONS),
    CODE(MPI_T_ERR_INVALID_SESSION),
    CODE(MPI_T_ERR_CVAR_SET_NOT_NOW),
    CODE(MPI_T_ERR_CVAR_SET_NEVER),
    CODE(MPI_T_ERR_PVAR_NO_STARTSTOP),
    CODE(MPI_T_ERR_PVAR_NO_WRITE),
    CODE(MPI_T_ERR_PVAR_NO_ATOMIC),
#ifdef MPI_T_ERR_INVALID_ITEM
    CODE(MPI_T_ERR_INVALID_ITEM),
#endif
#ifdef MPI_T_ERR_INVALID
    CODE(MPI_T_ERR_INVALID),
#endif
#ifdef MPI_T_ERR_INVALID_NAME
    CODE(MPI_T_ERR_INVALID_NAME),
#endif
#ifdef MPI_T_ERR_NOT_SUPPORTED
    CODE(MPI_T_ERR_NOT_SUPPORTED),
#endif
    NEWER_REASONS
    CODE(MPI_ERR_ARG),
    CODE(MPI_ERR_INTERN),
    CODE(MPI_ERR_OTHER),
    CODE(MPI_ERR_UNKNOWN),
    {UNSET, NULL},
};

static void line_name(struct line *l, const char *key, const struct name *names, int value)
{
    for (; names->text; names++)
        if (names->value == value) {
            line_text(l, key, names->text);
            return;
        }
    line_number_if_set(l, key, value);
}

void line_verbosity(struct line *l, int value) { line_name(l, "verbosity", verbosities, value); }
void line_bind(struct line *l, int value) { line_name(l, "bind", bindings, value); }
void line_scope(struct line *l, int value) { line_name(l, "scope", scopes, value); }
void line_class(struct line *l, int value) { line_name(l, "class", classes, value); }
void line_reason(struct line *l, int code)
{
    line_number(l, "code", code);
    line_name(l, "reason", reasons, code);
}

// Fills the table of the datatypes that MPI 4.1 allows, and others that libraries use. Their
// handles may be addresses in the library.
static struct type types[23];
static void fill_types(void)
{
    const struct type all[] = {
        {MPI_INT, "int", FORM_SIGNED, sizeof(int)},
        {MPI_UNSIGNED, "unsigned", FORM_UNSIGNED, sizeof(unsigned)},
        {MPI_UNSIGNED_LONG, "unsigned long", FORM_UNSIGNED, sizeof(unsigned long)},
        {MPI_UNSIGNED_LONG_LONG, "unsigned long long", FORM_UNSIGNED, sizeof(unsigned long long)},
        {MPI_COUNT, "count", FORM_SIGNED, sizeof(MPI_Count)},
        {MPI_CHAR, "char", FORM_TEXT, 1},
        {MPI_DOUBLE, "double", FORM_FLOATING, sizeof(double)},
        {MPI_INT8_T, "int8", FORM_SIGNED, 1},
        {MPI_INT16_T, "int16", FORM_SIGNED, 2},
        {MPI_INT32_T, "int32", FORM_SIGNED, 4},
        {MPI_INT64_T, "int64", FORM_SIGNED, 8},
        {MPI_UINT8_T, "uint8", FORM_UNSIGNED, 1},
        {MPI_UINT16_T, "uint16", FORM_UNSIGNED, 2},
        {MPI_UINT32_T, "uint32", FORM_UNSIGNED, 4},
        {MPI_UINT64_T, "uint64", FORM_UNSIGNED, 8},
        {MPI_LONG, "long", FORM_SIGNED, sizeof(long)},
        {MPI_LONG_LONG, "long long", FORM_SIGNED, sizeof(long long)},
        {MPI_SHORT, "short", FORM_SIGNED, sizeof(short)},
        {MPI_UNSIGNED_SHORT, "unsigned short", FORM_UNSIGNED, sizeof(unsigned short)},
        {MPI_BYTE, "byte", FORM_UNSIGNED, 1},
        {MPI_C_BOOL, "bool", FORM_UNSIGNED, sizeof(_Bool)},
        {MPI_FLOAT, "float", FORM_FLOATING, sizeof(float)},
        {MPI_AINT, "aint", FORM_SIGNED, sizeof(MPI_Aint)},
    };
    _Static_assert(sizeof all == sizeof types, "the table has room for exactly these types");
    memcpy(types, all, sizeof types);
}

const struct type *type_of(MPI_Datatype handle)
{
    static const struct type unknown = {.name = "unknown"};
    if (!types[0].name)
        fill_types();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].handle == handle)
            return &types[i];
    return &unknown;
}

void line_type(struct line *l, const char *key, MPI_Datatype handle)
{
    if (handle != MPI_DATATYPE_NULL)
        line_text(l, key, type_of(handle)->name);
}
