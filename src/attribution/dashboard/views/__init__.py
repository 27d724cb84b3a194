"""Pure functions from what the store holds to what a page shows. They know no request, no template and no database."""
