"""Folders of checkpoints: in use, damaged, full or absent."""

import shutil

import numpy as np
import pytest

from manyclass import MulticlassSVC
from manyclass.training import checkpoints as manager
from manyclass.training.checkpoints import found_in
from tests.helpers.checkpointed import X, Y, begun, model, names, objective, undisturbed
from tests.helpers.full_disk import file_size_limit
from tests.helpers.ranks import caught, on_ranks


def test_what_is_there_is_neither_used_nor_overwritten_unasked(folder):
    begun(folder)
    before = names(folder)
    with pytest.raises(ValueError, match="holds a checkpoint of an earlier training"):
        model(folder).fit(X, Y)
    assert names(folder) == before
    (folder / "notes").write_text("of somebody")
    for path in found_in(folder):
        path.unlink()
    begun(folder)
    assert "notes" in names(folder)


def test_folders_that_cannot_be(folder, tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        model(folder / "deep").fit(X, Y)
    assert missing.value.filename == f"cannot write to {folder}/deep"
    with pytest.raises(FileNotFoundError):
        model(folder, resume=True).fit(X, Y)
    assert not folder.exists()
    folder.write_text("a file")
    with pytest.raises(NotADirectoryError):
        model(folder).fit(X, Y)
    with pytest.raises(ValueError, match="holds no checkpoint to resume from"):
        model(tmp_path, resume=True).fit(X, Y)
    with pytest.raises(ValueError, match="resume=True needs a folder"):
        model(resume=True).fit(X, Y)
    with pytest.raises(ValueError, match="'checkpoint' parameter"):
        model(3).fit(X, Y)
    with pytest.raises(ValueError, match="must name a folder"):
        model("").fit(X, Y)


def test_errors_of_rank_0_are_those_of_all(folder):
    begun(folder)

    def fit(rank):
        model(folder, communicator=rank).fit(X, Y)

    first, *others = on_ranks(3, caught(fit))
    assert "holds a checkpoint of an earlier training" in str(first)
    assert all("rank 0 failed" in str(other) for other in others)


def test_two_trainings_do_not_share_a_folder(folder):
    def intrude(progress):
        with pytest.raises(ValueError, match="another training writes its checkpoints there"):
            model(folder, resume=True).fit(X, Y)
        return seen.append(progress)

    seen = []
    write = manager.Checkpoints.epoch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manager.Checkpoints, "epoch", lambda _, progress: intrude(progress))
        begun(folder, 1)
    assert len(seen) == 1
    assert manager.Checkpoints.epoch is write
    model(folder, resume=True).fit(X, Y)


@pytest.mark.parametrize("damage", [lambda c: c[:-9], lambda c: c[:-1] + b"x", lambda c: b""])
def test_a_damaged_newest_one_gives_way_to_the_older(damage, folder):
    begun(folder, 3)
    newest, older = found_in(folder)
    newest.write_bytes(damage(newest.read_bytes()))
    with pytest.warns(
        UserWarning, match=f"{newest}: is damaged.*resuming from an older one, {older}"
    ):
        again = model(folder, resume=True, tol=1e-4, checkpoint_minutes=9).fit(X, Y)
    assert again.n_iter_ > 3
    assert older.name in names(folder)
    assert newest.name not in names(folder)
    assert objective(again) == pytest.approx(undisturbed(tol=1e-4), rel=2e-4)


def test_nothing_whole_is_one_error(folder):
    begun(folder)
    for path in found_in(folder):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"is damaged.*is damaged.*start again"):
        model(folder, resume=True).fit(X, Y)
    assert len(names(folder)) == 2


def test_a_full_disk_is_told_once_and_training_goes_on(folder):
    wide = np.hstack([X.toarray(), np.zeros((80, 1000))])
    first = MulticlassSVC(checkpoint=folder, tol=0.9, random_state=0).fit(wide, Y)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    options = {"tol": 1e-5, "checkpoint_minutes": 0, "resume": True}
    words = (
        f"could not be written: {folder}/checkpoint-000003: file too large.*; training continues$"
    )
    with file_size_limit(500), pytest.warns(UserWarning, match=words) as told:
        again = first.set_params(**options).fit(wide, Y)
    assert len(told) == 1
    assert again.certificate_.relative_gap <= 1e-5
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_that_vanishes_is_told_once(folder, monkeypatch):
    write = manager.Checkpoints.write

    def vanish(self, start):
        if folder.exists():
            shutil.rmtree(folder)
        write(self, start)

    monkeypatch.setattr(manager.Checkpoints, "write", vanish)
    with pytest.warns(UserWarning, match="could not be written.*no such file") as told:
        fitted = model(folder).fit(X, Y)
    assert len(told) == 1
    assert objective(fitted) == undisturbed()


def test_what_a_killed_training_left_unfinished_goes(folder):
    begun(folder)
    (folder / ".manyclass-0123456789abcdef").write_bytes(b"half of it")
    (folder / ".tmpD4e5F6").write_bytes(b"of another program")
    begun(folder, resume=True)
    assert [name for name in names(folder) if name.startswith(".")] == [".tmpD4e5F6"]
