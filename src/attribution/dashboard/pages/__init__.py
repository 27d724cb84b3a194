"""One module for each page: what it is asked, what it reads from the store, and its HTML and JSON forms."""
