//! Looks at texts: does the answer stand where it must not, does a call reach where it must not, does a text speak to the grader?
