"""Places outside of tables that their data or options name: which of them are allowed, and how they are asked."""
