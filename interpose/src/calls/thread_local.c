// The data of a thread in the layer calls/. The dispatcher is compiled with this file too.
#include "calls/fortran.h"
#include "calls/state.h"

MT_OF_THREAD mt_caller mt_calling;
MT_OF_THREAD mt_fortran_call mt_fortran_noted;
