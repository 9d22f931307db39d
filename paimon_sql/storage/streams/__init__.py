"""Tables read as streams: what is there first, then what each snapshot changes, split by split."""
