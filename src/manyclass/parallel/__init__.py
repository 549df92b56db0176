"""Several processes at one model: who holds what when, and how it travels. Knows no loss."""
