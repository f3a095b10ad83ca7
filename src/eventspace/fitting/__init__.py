"""The descent (Algorithm 1), what may be asked of it, and the compression of an average."""
