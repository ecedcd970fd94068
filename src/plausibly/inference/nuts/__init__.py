"""The No-U-Turn sampler for thousands of independent cases side by side."""
