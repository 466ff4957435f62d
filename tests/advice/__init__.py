"""Programs that follow the advice of messages: see `messages.py` for their sources, and `test_advice.py`."""
