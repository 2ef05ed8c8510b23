"""What the server answers, one file a feature. Each has `register(server)`."""
