"""The filesystem catalog: a warehouse directory, and the views and functions beside its tables."""
