"""Named references to snapshots: tags, branches, consumers."""
