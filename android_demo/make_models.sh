#!/usr/bin/env bash
# Trains the two models in the app, as models.yaml says, unless they are there: models/*.tflite.
set -euo pipefail
cd "$(dirname "$0")"
[[ -f models/bilstm.tflite && -f models/pqrnn.tflite ]] && exit
make --no-print-directory -C .. .venv/.ready
../.venv/bin/tfdistil run models.yaml --out ../runs/android
mkdir -p models
cp ../runs/android/bilstm.tflite ../runs/android/pqrnn.tflite models/
