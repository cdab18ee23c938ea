"""Reports on identified models and modes, and their workbench."""
