"""Expiry: which snapshots may go, which files nobody needs then, and their removal in an order that survives a crash."""
