"""Options of what a table is: buckets, merge engine, partitions, files, indexes."""
