"""A machine as a document."""
