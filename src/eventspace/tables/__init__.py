"""From what the caller holds to columns: DataFrames, files, arrays, sparse matrices, triples."""
