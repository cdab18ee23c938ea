"""What records and measured modes have in common: tables in text or worksheets, sets of universal files, bounds."""
