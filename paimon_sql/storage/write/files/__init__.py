"""Writers of data files: rolling, names, blob files, file indexes."""
