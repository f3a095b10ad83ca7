"""The table: users, items and the chances that are known, and how to read one."""
