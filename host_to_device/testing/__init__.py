"""The stand-ins for programs and tests of others: a plug-in of pytest, and `host-to-device run`."""
