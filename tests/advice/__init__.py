"""What messages advise, followed: see `messages.py` for where messages are found, and `test_advice.py`."""
