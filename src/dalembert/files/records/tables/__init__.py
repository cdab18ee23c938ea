"""Tables of named columns, in text or in a worksheet: where the header is, which column is time, the numbers."""
