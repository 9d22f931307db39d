"""Topics of options: buckets, merge engine, partitions, files, indexes."""
