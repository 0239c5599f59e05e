"""What a method declares once, and how it is rendered wherever it is shown."""
