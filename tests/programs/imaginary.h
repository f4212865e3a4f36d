/* The variables by which a program controls the tool interface of imaginary.c. */
#ifndef IMAGINARY_H
#define IMAGINARY_H

extern int imaginary_step;   /* from which all values follow */
extern int imaginary_queued; /* number of unexpected messages */
extern int imaginary_sessions, imaginary_handles; /* numbers that are open */
extern int imaginary_misused; /* calls with handles or sessions that are not open */

#endif
