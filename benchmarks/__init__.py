"""How fast, how large: any ``.tflite`` files beside each other in the stock runtime."""
