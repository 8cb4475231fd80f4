"""The order of a DataLoader of PyTorch is the same for every way to start its workers, with workers that stay and without."""

import itertools
from typing import Any

from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import recordio


def ids(batches: Any) -> list[int]:
    return [i for batch in batches for i in batch["id"].tolist()]


def main() -> None:
    dataset = recordio.Dataset("data")
    dataset[0]  # what it has open is not that of its workers
    records = recordio.stream("data", shuffle="block:4", seed=1, batch_size=50)
    next(iter(records))
    whole = ids(DataLoader(records, batch_size=50))
    for start, persistent in itertools.product(("fork", "spawn", "forkserver"), (False, True)):
        options: dict[str, Any] = {"batch_size": 50, "num_workers": 2, "multiprocessing_context": start, "persistent_workers": persistent}
        shuffled, in_order = DataLoader(dataset, shuffle=True, **options), DataLoader(records, **options)
        for epoch in range(2 if persistent else 1):
            assert sorted(ids(shuffled)) == list(range(1000)), (start, persistent, epoch)
            assert ids(in_order) == whole, (start, persistent, epoch)
        if not persistent:
            continue
        loader = StatefulDataLoader(records, **options)
        batches = iter(loader)
        first = ids(next(batches) for _ in range(7))
        state = loader.state_dict()
        del batches
        again = StatefulDataLoader(recordio.stream("data", shuffle="block:4", seed=1, batch_size=50), **options)
        again.load_state_dict(state)
        assert first + ids(again) == whole, (start, persistent)
    print(1000)


if __name__ == "__main__":
    main()
