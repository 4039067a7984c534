"""What a run leaves on disk: its folder, its measurements, the models that runs share."""
