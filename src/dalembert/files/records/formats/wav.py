"""Sound files (WAV) to records: numbers as a share of full scale, -1 to 1."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.tables.bounds import check_size
from dalembert.record import Record


def read(path: Path, how: Reading) -> Record:
    """Channels ``channel1``, ``channel2``, ...; integers are divided by their largest value."""
    from scipy.io import wavfile

    problem = "a WAV file has its sampling rate: dt does not apply."
    FileFormatError.when(how.dt is not None, "conflicting-arguments", problem)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # chunks without sound are not needed
            # mapped, so that sizes are known before memory is taken; 24 bits cannot be mapped
            try:
                rate, raw = wavfile.read(path, mmap=True)
            except ValueError:
                rate, raw = wavfile.read(path)
    except Exception as error:  # struct.error, ValueError, ZeroDivisionError ... of a damaged head
        raise FileFormatError("damaged", f"this is not a WAV file that can be read ({error}).") from error
    sound = raw[:, None] if raw.ndim == 1 else raw
    samples, channels = sound.shape
    check_size(samples, channels, how.max_bytes)
    FileFormatError.when(not samples or rate <= 0, "empty", "the file holds no sound.")
    data = sound.astype(np.float64)
    if sound.dtype.kind == "u":  # 8 bits: 128 is silence
        data -= 128.0
        data /= 128.0
    elif sound.dtype.kind == "i":
        data /= -float(np.iinfo(sound.dtype).min)
    names = [f"channel{k + 1}" for k in range(channels)]
    note = {"units": [f"numbers are shares of full scale; {rate} samples a second"]}
    return Record(np.arange(samples) / rate, data, names, provenance=note)


RECORD_FORMATS.register("wav", RecordFormat((".wav",), read))
