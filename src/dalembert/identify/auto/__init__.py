"""Automatic identification, with reasons for every decision."""
