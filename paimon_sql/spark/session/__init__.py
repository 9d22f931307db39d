"""Sessions with Paimon catalogs: how they start, their parser, and the sessions made from them."""
