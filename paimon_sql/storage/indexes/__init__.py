"""Building and dropping of file indexes and global indexes."""
