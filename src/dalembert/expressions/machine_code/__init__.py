"""From CasADi functions to machine code: programs, LLVM text, code in this process, object files."""
