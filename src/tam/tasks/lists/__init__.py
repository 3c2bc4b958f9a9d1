"""Random programs on lists of integers: a typed grammar, inputs for a program, and tasks from both."""
