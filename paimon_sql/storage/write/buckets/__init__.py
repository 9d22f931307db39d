"""Bucket modes: how rows find their buckets (Paimon: `BucketMode`)."""
