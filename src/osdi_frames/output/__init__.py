"""Tables to files: formats, folders that are replaced as a whole, and what an export writes."""
