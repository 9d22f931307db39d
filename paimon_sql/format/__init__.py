"""The table format: encoding and decoding of bytes, without I/O."""
