"""Turn opaque numbers and words of kernel and library messages into facts. Pure: text and tables in, facts out."""
