"""What leaves the machine without naming anybody: pseudonyms, and texts without e-mail addresses and numbers."""
