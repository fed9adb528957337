"""What the client decides without waiting: documents, names, errors, the mirror and when to list again."""
