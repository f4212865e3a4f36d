// The thread-local data of the layer calls/. The dispatcher is compiled with this file too.
#include "calls/fortran.h"
#include "calls/state.h"

MT_THREAD_LOCAL mt_caller mt_calling;
MT_THREAD_LOCAL mt_fortran_call mt_fortran_noted;
