"""The files of a bundle, in the forms that collectors and programs really leave behind."""
