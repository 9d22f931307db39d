"""Tables copied, migrated from plain files, and loaded by COPY INTO."""
