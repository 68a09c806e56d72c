"""OSDI event collections and signature webhooks as typed DataFrames, reports and Parquet."""
