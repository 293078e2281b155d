"""The server: OpenAI's interface over HTTP, on top of the engine."""
