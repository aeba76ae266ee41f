"""Waits for a data loader whose items take long: with two workers, or with the word `inline` in the same thread. Twin: the
items are quick, and the loop computes.

The loader only has the paths and functions of PyTorch's.
"""
import importlib
import os
import sys
import tempfile

import gpu

FILES = {"torch/__init__.py": "", "torch/utils/__init__.py": "",
         "torch/utils/data/__init__.py": "", "torch/utils/data/_utils/__init__.py": "",
         "torch/utils/data/_utils/fetch.py": '''
class _MapDatasetFetcher:
    def __init__(self, dataset):
        self.dataset = dataset

    def fetch(self, possibly_batched_index):
        return [self.dataset[idx] for idx in possibly_batched_index]
''', "torch/utils/data/_utils/worker.py": '''
from .fetch import _MapDatasetFetcher


def _worker_loop(dataset, index_queue, data_queue):
    fetcher = _MapDatasetFetcher(dataset)
    while True:
        index = index_queue.get()
        if index is None:
            return
        data_queue.put(fetcher.fetch(index))
''', "torch/utils/data/dataloader.py": '''
import multiprocessing

from ._utils.fetch import _MapDatasetFetcher
from ._utils.worker import _worker_loop


class DataLoader:
    def __init__(self, dataset, num_workers):
        self.dataset, self.num_workers = dataset, num_workers

    def __iter__(self):
        return (_MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter)(self)


class _SingleProcessDataLoaderIter:
    def __init__(self, loader):
        self._dataset_fetcher = _MapDatasetFetcher(loader.dataset)

    def _next_data(self):
        return self._dataset_fetcher.fetch([0])

    def __next__(self):
        return self._next_data()


class _MultiProcessingDataLoaderIter:
    def __init__(self, loader):
        context = multiprocessing.get_context("fork")
        self._index_queue, self._data_queue = context.Queue(), context.Queue()
        self._workers = [context.Process(target=_worker_loop, daemon=True, args=(
            loader.dataset, self._index_queue, self._data_queue)) for _ in range(loader.num_workers)]
        for worker in self._workers:
            worker.start()
            self._index_queue.put([0])

    def _try_get_data(self, timeout=5.0):
        return self._data_queue.get(timeout=timeout)

    def _next_data(self):
        data = self._try_get_data()
        self._index_queue.put([0])
        return data

    def __next__(self):
        return self._next_data()

    def close(self):
        for _ in self._workers:
            self._index_queue.put(None)
        for worker in self._workers:
            worker.join()
'''}


class Dataset:
    def __getitem__(self, index):
        if gpu.TWIN:
            return index
        return len([str(i) for i in range(400_000)])  # idle: data


def main():
    inline = "inline" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        for path, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="ascii") as file:
                file.write(text)
        sys.path.insert(0, folder)
        loader = importlib.import_module("torch.utils.data.dataloader").DataLoader(Dataset(), 0 if inline else 2)
        batches = iter(loader)
        for _ in gpu.rounds():
            next(batches)
            if gpu.TWIN:
                len([str(i) for i in range(200_000)])  # twin: python
        if not inline:
            batches.close()


main()
