"""The aggregate functions of merge engines, one kind a module, written over all keys of a window at once."""
