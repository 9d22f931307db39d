"""The bucket modes, one module each."""
