"""Nothing of an archive is written outside the folder that it is unpacked into."""

from pathlib import Path, PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.sources.package import members_of

parts = st.sampled_from(
    ["pkg", "model", "..", ".", "", "a", "config.json", "w.safetensors", "heads.pt", "x\\..\\y.json"]
)
names = st.lists(st.lists(parts, min_size=1, max_size=6).map("/".join), max_size=20)
FOLDER = PurePosixPath("pkg/model")


@given(names)
def test_every_member_stays_below_the_target(members: list[str]) -> None:
    target = Path("/unpacked/here")
    for relative in members_of(members, FOLDER).values():
        assert target in Path(target, relative).resolve().parents


@given(names)
def test_only_data_files_of_the_folder_are_unpacked(members: list[str]) -> None:
    for name, relative in members_of(members, FOLDER).items():
        assert PurePosixPath(name) == FOLDER / relative
        assert relative.suffix in {".json", ".safetensors", ".txt"}
