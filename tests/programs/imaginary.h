/* What the tool interface of imaginary.c does, told by the program. */
#ifndef IMAGINARY_H
#define IMAGINARY_H

extern int imaginary_step;   /* values are made of it */
extern int imaginary_queued; /* messages that wait unexpected */
extern int imaginary_sessions, imaginary_handles; /* that are open */
extern int imaginary_misused; /* calls with handles or sessions that are not */

#endif
