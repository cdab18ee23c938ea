"""Borders: what is read from files and written to them."""

from dalembert.files.records.records import read_record, write_record

__all__ = ["read_record", "write_record"]
