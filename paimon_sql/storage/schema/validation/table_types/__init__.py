"""Rules about format tables and object tables."""
