"""How a table is doing, in pictures: its figures gathered, drawn and put on one page."""
