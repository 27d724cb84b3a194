"""A Diagnosis in the forms that people read: text for a terminal, Markdown for tickets and chat."""
