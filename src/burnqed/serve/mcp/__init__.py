"""The engine for agents: the tools of a Model Context Protocol server."""
