// Package e2e holds the end-to-end tests and nothing else: real programs, from
// tests/programs and examples, under real MPIs, wrapped by the commands as
// a user would. What they must have communicated is worked out beside each
// test, from what the program does and from the definition of what counts.
package e2e
