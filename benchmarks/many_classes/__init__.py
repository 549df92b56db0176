"""Training with thousands of classes: seconds, memory, accuracy, growth."""
