"""The demo of joins: each flight with the weather at its airport. Run it with `python -m panewise.demo.join`.

Flights and weather are two streams, each in the order in which its rows became known.
"""
