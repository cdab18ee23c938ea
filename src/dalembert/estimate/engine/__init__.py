"""The engine of filters: native steps, runs over records, results and their consistency."""
