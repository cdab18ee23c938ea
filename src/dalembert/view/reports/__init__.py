"""Reports on one page."""
