"""File systems and object stores as programs complain about them."""
