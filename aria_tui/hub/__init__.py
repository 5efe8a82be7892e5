"""The Hub: the wire's shapes, the client that distrusts it, the reference server."""
