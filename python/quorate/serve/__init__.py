"""A server for clients of campaigns: HTTPS by FastAPI on uvicorn.

It needs `pip install cryptography fastapi uvicorn`, which is the extra `serve`.
"""
