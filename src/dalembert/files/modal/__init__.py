"""Experimental modal data and the geometry of sensors as files."""
