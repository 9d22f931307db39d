"""Sessions with Paimon catalogs: their start, their parser, and new sessions derived from them."""
