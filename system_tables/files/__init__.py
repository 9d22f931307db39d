"""System tables about files: data files, manifests, indexes, partitions, buckets."""
