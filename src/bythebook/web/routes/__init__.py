"""What can be asked over HTTP. Each module has a `router`; `web.app` includes them all."""
