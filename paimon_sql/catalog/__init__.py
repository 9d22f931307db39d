"""Where tables live: catalogs and the names of the things in them."""
