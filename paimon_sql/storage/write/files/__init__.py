"""Data files as they are written: rolling, names, blobs, file indexes."""
