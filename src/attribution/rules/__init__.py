"""What a rule is: its forms, its loader, its cases and its lint."""
