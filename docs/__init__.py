"""The documents, and what keeps them true."""
