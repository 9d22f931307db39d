"""Orders in which the rows of a table can be laid out, so that queries find in few files what they filter for."""
