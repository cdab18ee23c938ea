"""Common parts of the commands: declaration and execution, options and their values, output."""
