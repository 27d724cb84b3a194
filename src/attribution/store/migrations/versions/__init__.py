"""One module a revision. A revision that was released is never edited."""
