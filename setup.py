"""Packaging of tfdistil: the library, the exporter and the benchmarks in one distribution."""

from setuptools import find_packages, setup

RUNTIME = ["numpy>=1.26", "ai-edge-litert>=2.3,<3", "tokenizers>=0.22,<1"]
TRAIN = [
    "tensorflow>=2.21,<2.22",
    "tensorflow-text>=2.21,<2.22",
    "keras>=3.12,<4",
    "tensorflow-model-optimization>=0.8.1,<0.9",
    "transformers>=5.0,<6",
    "huggingface-hub>=1.0",
    "safetensors>=0.5",
    "filelock>=3.16",
    "pydantic>=2.10,<3",
    "ruamel.yaml>=0.18",
    "rich>=13.9",
    "jinja2>=3.1",
    "matplotlib>=3.9",
    "sentencepiece>=0.2",
    "scipy>=1.12",
]
JAX = ["jax[cuda12]>=0.6,<1"]  # Keras on JAX, on NVIDIA's accelerators
ANCHORS = [
    "python-crfsuite>=0.9.11",
    "scikit-learn>=1.5",
    # fastText with NumPy 2; there are wheels for these alone.
    "fasttext-numpy2-wheel>=0.9.2; sys_platform == 'linux' and python_version < '3.13'",
]
DEV = [
    "pytest>=8.3",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "seqeval>=1.2.2",
    "ruff>=0.8",
    "mypy>=1.13",
    "import-linter>=2.1",
    "pre-commit>=4.0",
    "build>=1.2",
    "jax>=0.6,<1",  # on the CPU: what trains on one backend of Keras trains on the other
]

setup(
    packages=[
        *find_packages(include=["tfdistil", "tfdistil.*"]),
        "tfdistil.exporting",
        "tfdistil.benchmarks",
        "tfdistil.benchmarks.devices",
    ],
    package_dir={"tfdistil.exporting": "export", "tfdistil.benchmarks": "benchmarks"},
    package_data={
        "tfdistil": [
            "recipes/*.yaml",
            "variants/*.yaml",
            "report/templates/*",
            "py.typed",
            "data/demo/languages/*.yaml",
        ]
    },
    install_requires=RUNTIME,
    extras_require={
        "train": TRAIN,
        "jax": JAX,
        "anchors": ANCHORS,
        "dev": TRAIN + ANCHORS + DEV,
    },
)
