"""A store of parsed rows, so that each file of an archive is parsed once."""
