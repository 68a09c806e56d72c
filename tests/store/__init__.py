"""Tests of the store of parsed rows."""
