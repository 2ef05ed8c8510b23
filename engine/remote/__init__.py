"""Models that a server of one's own runs: vLLM, or anything else that speaks the OpenAI-compatible API."""

SCHEMES = {"vllm": "http", "vllm+https": "https"}


def is_remote(model: str) -> bool:
    """Whether a model's name is the address of a server."""
    return model.partition("://")[0] in SCHEMES and "://" in model
