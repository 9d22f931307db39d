"""Rules about tables with a primary key."""
