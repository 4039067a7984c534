"""The command ``tfdistil`` and the pages it prints."""
