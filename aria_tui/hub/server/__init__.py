"""The reference Hub: one ASGI application over one storage interface with two engines (hub-api.md).

Nothing is imported here, so that ``aria hub --help`` costs nothing. ``app.create_app`` gives the application,
``storage.open_storage`` the database.
"""
